// The golden U-Nets of make_unet.py: sizes, inputs and parameters; and the loss they are trained on.
#pragma once

#include <cmath>

#include "htfm/net/unet.h"
#include "test/golden_file.h"

namespace htfm {

class UNetGolden : public GoldenFile {
 public:
  explicit UNetGolden(const std::string& name) : GoldenFile("unet_" + name) {}
  UNetOptions options() const {
    UNetOptions o;
    o.channels = size("channels"), o.height = size("height"), o.width = size("width"), o.feature = size("feature");
    o.base = size("base"), o.blocks = size("blocks"), o.heads = size("heads"), o.groups = size("groups");
    o.attention = {size("attention")}, o.path_embedding = size("path_embedding"), o.film = size("film") != 0;
    if (has("filtered"))
      o.group_channels = size("group_channels"), o.filtered = size("filtered") != 0, o.rescale = size("rescale") != 0,
      o.progressive = size("progressive") != 0;
    if (has("linear_path"))
      o.linear_path = size("linear_path") != 0, o.shift_only = size("shift_only") != 0,
      o.attend_once_up = size("attend_once_up") != 0, o.strided_pyramid = size("strided_pyramid") != 0;
    o.multipliers.clear();
    for (int64_t k = 0; k < size("levels"); ++k) o.multipliers.push_back(size("mult" + std::to_string(k)));
    return o;
  }
  NetworkInput input() const {
    const int64_t n = size("batch");
    NetworkInput in{tensor("x", {n, size("channels") * size("height") * size("width")}), tensor("t", {n}), {}};
    if (size("feature") > 0) in.feature = tensor("feature", {n, size("feature")});
    return in;
  }
  static std::vector<float> parameters(const ParameterLayout& layout) {
    std::vector<const ParameterInfo*> order;
    for (const ParameterInfo& p : layout.list()) order.push_back(&p);
    std::ranges::sort(order, {}, &ParameterInfo::name);
    std::vector<float> buffer(static_cast<size_t>(layout.size()), 0.0f);
    for (size_t k = 0; k < order.size(); ++k) {
      const ParameterInfo& p = *order[k];
      const double size =
          p.shape.size() > 1 ? std::sqrt(3.0 * static_cast<double>(p.shape[0]) / static_cast<double>(p.size)) : 0.2;
      const bool norm = p.name.find("norm") != std::string::npos && p.name.ends_with("weight");
      for (int64_t i = 0; i < p.size; ++i)
        buffer[p.offset + i] =
            static_cast<float>(size * scatter(static_cast<uint32_t>(i), static_cast<uint32_t>(k)) + (norm ? 1 : 0));
    }
    return buffer;
  }

 private:
  /// A number of [-1, 1) for the place i of parameter k, a hash of both.
  static double scatter(uint32_t i, uint32_t k) {
    uint32_t h = i * 0x9E3779B1u + k * 0x85EBCA77u;
    h = (h ^ h >> 16) * 0x7FEB352Du, h = (h ^ h >> 15) * 0x846CA68Bu, h ^= h >> 16;
    return h / 0x1p31 - 1;
  }
};

/// Mean squared error over all elements of a batch that comes as one part.
class MeanSquare final : public SampleLoss {
 public:
  explicit MeanSquare(const std::vector<float>& target) : target_(target) {}
  double operator()(int64_t, int64_t, const float* output, float* gradient) const override {
    double sum = 0;
    const auto n = static_cast<double>(target_.size());
    for (size_t i = 0; i < target_.size(); ++i) {
      const double d = static_cast<double>(output[i]) - target_[i];
      sum += d * d / n;
      gradient[i] = static_cast<float>(2 * d / n);
    }
    return sum;
  }

 private:
  const std::vector<float>& target_;
};

/// |a - b| / |a|.
inline double relative_error(const std::vector<float>& a, const float* b) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) difference += std::pow(a[i] - b[i], 2), size += std::pow(a[i], 2);
  return std::sqrt(difference / std::max(size, 1e-30));
}

}  // namespace htfm
