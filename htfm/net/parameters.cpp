#include "htfm/net/parameters.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace htfm {

int64_t ParameterLayout::add(std::string name, std::vector<int64_t> shape, bool decay, double bound, double centre) {
  const int64_t size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  const int64_t offset = size_;
  list_.push_back({std::move(name), std::move(shape), offset, size, decay, bound, centre});
  size_ += (size + 15) / 16 * 16;
  return offset;
}

void ParameterLayout::stack(int64_t offset) {
  const auto p = std::ranges::find(list_, offset, &ParameterInfo::offset);
  if (p != list_.end()) p->stacked = true;
}

int64_t ParameterLayout::count() const {
  int64_t n = 0;
  for (const auto& p : list_) n += p.size;
  return n;
}

void ParameterLayout::initialise(Key key, float* buffer) const {
  std::fill(buffer, buffer + size_, 0.0f);
  for (const auto& p : list_) {
    const Key own = key.child(p.name);
    for (int64_t i = 0; i < p.size; ++i)
      buffer[p.offset + i] = static_cast<float>(
          p.centre + (p.bound > 0 ? p.bound * (2 * own.uniform(static_cast<uint64_t>(i)) - 1) : 0.0));
  }
}

Linear Linear::add(ParameterLayout& layout, const std::string& name, int64_t in, int64_t out, bool decay, bool zero) {
  const double bound = zero ? 0 : 1 / std::sqrt(static_cast<double>(in));
  Linear layer;
  layer.in = in, layer.out = out;
  layer.weight = layout.add(name + ".weight", {out, in}, decay, bound);
  layer.bias = layout.add(name + ".bias", {out}, false, bound);
  return layer;
}

at::Tensor ParameterLayout::initial(Key key) const {
  at::Tensor parameters = at::zeros({size_}, at::kFloat);
  initialise(key, parameters.mutable_data_ptr<float>());
  return parameters;
}

}  // namespace htfm
