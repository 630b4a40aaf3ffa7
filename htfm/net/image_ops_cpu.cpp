// The operations in float32 on the CPU: convolutions and products by LibTorch, the rest by the kernels of one sample
// (pixel_kernels.h).
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <array>
#include <cmath>

#include "htfm/base/random.h"
#include "htfm/net/dropout.h"
#include "htfm/net/image_ops.h"
#include "htfm/net/pixel_kernels.h"

namespace htfm {

namespace {

// A float image whose pixels may be apart further than their channels.
struct View {
  explicit View(const at::Tensor& t)
      : data(t.defined() ? static_cast<float*>(const_cast<void*>(t.const_data_ptr())) : nullptr),
        stride(t.defined() ? t.stride(2) : 0),
        sample(t.defined() ? t.stride(0) : 0) {}
  float* at(int64_t n, int64_t p) const { return data + n * sample + p * stride; }
  /// The pixels of a sample from a channel on.
  PixelRows rows(int64_t n, int64_t channel = 0) const { return {data ? at(n, 0) + channel : nullptr, stride}; }
  explicit operator bool() const { return data != nullptr; }
  float* data;
  int64_t stride, sample;
};

const PixelKernels& kernels_of_pixels() { return kernels<PixelKernels>(); }

// By the threads of LibTorch's own loops: two pools would stand in each other's way.
template <class Body>
void each_sample(int64_t samples, const Body& body) {
  at::parallel_for(0, samples, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) body(n);
  });
}

std::vector<float> added_up(const std::vector<at::Tensor>& bias, int64_t channels) {
  std::vector<float> out(static_cast<size_t>(channels), 0.0f);
  for (const at::Tensor& b : bias)
    for (int64_t c = 0; c < channels; ++c) out[c] += b.const_data_ptr<float>()[c];
  return out;
}

// Writes one sample of a sum.
void add_sample(const PendingSum& sum, const std::vector<float>& bias, int64_t n, float* out, int64_t stride) {
  kernels_of_pixels().add(sum.y.size(1) * sum.y.size(2), sum.y.size(3), View(sum.y).rows(n), bias.data(),
                          View(sum.residual).rows(n), sum.scale, out, stride);
}

// A norm of one sample as act(slope (x - centre) + offset), channel by channel.
struct NormSample {
  NormSample(const NormLayer& layer, int64_t n, int64_t channels)
      : size(channels / layer.groups), slope(static_cast<size_t>(channels)), offset(slope), centre(slope) {
    gamma = layer.gamma.const_data_ptr<float>(), beta = layer.beta.const_data_ptr<float>();
    if (layer.modulation.defined())
      modulation = layer.modulation.const_data_ptr<float>() + n * layer.modulation.stride(0);
  }
  double scale(int64_t c) const { return modulation ? 1.0 + modulation[c] : 1.0; }
  double gain(int64_t c) const { return gamma[c] * scale(c); }  // of the normed value
  /// With the statistics of a group; `bias` is still to be added to the values.
  void set(int64_t g, double mean, double inverse, const float* bias) {
    const auto channels = static_cast<int64_t>(slope.size());
    for (int64_t c = g * size; c < (g + 1) * size; ++c) {
      centre[c] = static_cast<float>(mean - (bias ? bias[c] : 0.0f));
      slope[c] = static_cast<float>(gain(c) * inverse);
      offset[c] = static_cast<float>(beta[c] * scale(c) + (modulation ? modulation[channels + c] : 0.0f));
    }
  }
  ChannelNorm from(int64_t c) const { return {centre.data() + c, slope.data() + c, offset.data() + c}; }
  int64_t size;  // channels of a group
  const float *gamma, *beta, *modulation = nullptr;
  std::vector<float> slope, offset, centre;
};

class CpuImageOps final : public ImageOps {
 public:
  explicit CpuImageOps(bool eight_bit) : eight_bit_(eight_bit) {}
  at::Device device() const override { return at::kCPU; }
  at::ScalarType type() const override { return at::kFloat; }
  int64_t channel_multiple() const override { return 1; }
  bool in_eight_bits(int64_t, int64_t, int64_t, int64_t) const override { return eight_bit_; }

  at::Tensor norm(const PendingSum& sum, const at::Tensor& x, const NormLayer& layer,
                  NormStatistics* statistics) const override {
    const at::Tensor& shape = x.defined() ? x : sum.y;
    const int64_t samples = shape.size(0), channels = shape.size(3), pixels = shape.size(1) * shape.size(2),
                  size = channels / layer.groups;
    at::Tensor out = empty(shape.sizes()), mean = at::empty({samples, layer.groups}, at::kFloat),
               inverse = at::empty_like(mean);
    const std::vector<float> bias = sum.y.defined() ? added_up(sum.bias, sum.y.size(3)) : std::vector<float>();
    const bool late = !x.defined() && !sum.residual.defined() && sum.scale == 1;  // the bias is part of the offset
    const PixelKernels& k = kernels_of_pixels();
    each_sample(samples, [&](int64_t n) {
      std::vector<float> own;
      PixelRows in = View(late ? sum.y : x).rows(n);
      if (!late && sum.y.defined()) {
        if (!x.defined()) own.resize(static_cast<size_t>(pixels * channels)), in = {own.data(), channels};
        add_sample(sum, bias, n, const_cast<float*>(in.data), in.stride);
      }
      NormSample norm(layer, n, channels);
      std::vector<double> total(static_cast<size_t>(channels)), square(total);
      float* means = mean.mutable_data_ptr<float>() + n * layer.groups;
      k.sums(pixels, channels, in, nullptr, false, total.data());
      for (int64_t g = 0; g < layer.groups; ++g) {
        double m = 0;
        for (int64_t c = g * size; c < (g + 1) * size; ++c)
          m += total[c] + (late ? static_cast<double>(pixels) * bias[c] : 0.0);
        means[g] = static_cast<float>(m / static_cast<double>(pixels * size));
        for (int64_t c = g * size; c < (g + 1) * size; ++c) norm.centre[c] = means[g] - (late ? bias[c] : 0.0f);
      }
      k.sums(pixels, channels, in, norm.centre.data(), true, square.data());
      for (int64_t g = 0; g < layer.groups; ++g) {
        double v = 0;
        for (int64_t c = g * size; c < (g + 1) * size; ++c) v += square[c];
        const double r = 1 / std::sqrt(v / static_cast<double>(pixels * size) + 1e-5);
        inverse.mutable_data_ptr<float>()[n * layer.groups + g] = static_cast<float>(r);
        norm.set(g, means[g], r, late ? bias.data() : nullptr);
      }
      k.activate(pixels, channels, in, norm.from(0), layer.silu, View(out).at(n, 0));
    });
    if (statistics) *statistics = {mean, inverse};
    return out;
  }

  InputGradients norm_backward(const NormBackward& in, const NormLayer& layer, const at::Tensor& sums) const override {
    const int64_t samples = in.x.size(0), channels = in.x.size(3), pixels = in.x.size(1) * in.x.size(2),
                  size = channels / layer.groups, split = in.split > 0 ? in.split : channels;
    InputGradients out;
    out.first = empty({samples, in.x.size(1), in.x.size(2), split});
    if (split < channels) out.second = empty({samples, in.x.size(1), in.x.size(2), channels - split});
    const PixelKernels& k = kernels_of_pixels();
    each_sample(samples, [&](int64_t n) {
      const PixelRows x = View(in.x).rows(n);
      const float* bias = in.bias.defined() ? in.bias.const_data_ptr<float>() : nullptr;
      const auto statistic = [&](const at::Tensor& t, int64_t g) {
        return t.const_data_ptr<float>()[n * layer.groups + g];
      };
      NormSample norm(layer, n, channels);
      for (int64_t g = 0; g < layer.groups; ++g)
        norm.set(g, statistic(in.statistics.mean, g), statistic(in.statistics.inverse_deviation, g), bias);
      std::vector<float> dz(static_cast<size_t>(pixels * channels)), bend(static_cast<size_t>(channels)),
          constant(bend);
      std::vector<double> plain(static_cast<size_t>(channels)), weighted(plain), total(plain);
      k.activate_backward(pixels, channels, x, norm.from(0), layer.silu, View(in.gradient).at(n, 0), dz.data(),
                          plain.data(), weighted.data());
      float* row = sums.mutable_data_ptr<float>() + n * sums.size(1);
      for (int64_t g = 0; g < layer.groups; ++g) {
        const double r = statistic(in.statistics.inverse_deviation, g), count = static_cast<double>(pixels * size);
        double mean1 = 0, mean2 = 0;
        for (int64_t c = g * size; c < (g + 1) * size; ++c) {
          weighted[c] *= r;
          mean1 += plain[c] * norm.gain(c) / count, mean2 += weighted[c] * norm.gain(c) / count;
          if (in.columns.gamma >= 0) row[in.columns.gamma + c] = static_cast<float>(weighted[c] * norm.scale(c));
          if (in.columns.beta >= 0) row[in.columns.beta + c] = static_cast<float>(plain[c] * norm.scale(c));
          if (in.modulation_gradient.defined()) {
            float* d = in.modulation_gradient.mutable_data_ptr<float>() + n * in.modulation_gradient.stride(0);
            d[c] = static_cast<float>(weighted[c] * norm.gamma[c] + plain[c] * norm.beta[c]);
            d[channels + c] = static_cast<float>(plain[c]);
          }
        }
        for (int64_t c = g * size; c < (g + 1) * size; ++c) {
          bend[c] = static_cast<float>(-r * r * mean2);
          constant[c] = static_cast<float>(-r * mean1);
        }
      }
      const auto part = [&](const at::Tensor& to, int64_t from, int64_t count, float scale) {
        const auto rows = [&](size_t which) {
          return which < in.add.size() ? View(in.add[which]).rows(n, from) : PixelRows{};
        };
        k.combine(pixels, count, {dz.data() + from, channels}, {x.data + from, x.stride}, norm.from(from),
                  bend.data() + from, constant.data() + from, rows(0), rows(1), scale, View(to).at(n, 0), count,
                  total.data() + from);
      };
      part(out.first, 0, split, in.scale);
      if (split < channels) part(out.second, split, channels - split, 1);
      for (int64_t c = 0; in.columns.input >= 0 && c < split; ++c)
        row[in.columns.input + c] = static_cast<float>(total[c]);
    });
    return out;
  }

  at::Tensor add_up(const PendingSum& sum, const at::Tensor& copy) const override {
    at::Tensor out = empty(sum.y.sizes());
    const std::vector<float> bias = added_up(sum.bias, sum.y.size(3));
    each_sample(out.size(0), [&](int64_t n) {
      const View dense(out), slot(copy);
      add_sample(sum, bias, n, dense.at(n, 0), dense.stride);
      if (slot)
        kernels_of_pixels().add(out.size(1) * out.size(2), out.size(3), dense.rows(n), nullptr, {}, 1, slot.at(n, 0),
                                slot.stride);
    });
    return out;
  }

  at::Tensor add_backward(const at::Tensor& a, const at::Tensor& b, const at::Tensor& sums, int64_t column,
                          float scale) const override {
    at::Tensor out = b.defined() ? a + b : a;
    if (scale != 1) out = out * scale;
    sums.narrow(1, column, a.size(3)).copy_(out.sum({1, 2}));
    return out;
  }

  void dropout(at::Tensor& x, const at::Tensor& keys, int64_t place, double rate) const override {
    const int64_t values = x.numel() / x.size(0);
    const uint32_t threshold = dropout_threshold(rate);
    const float scale = dropout_scale(threshold);
    each_sample(x.size(0), [&](int64_t n) {
      const auto key = static_cast<uint64_t>(keys.const_data_ptr<int64_t>()[n]);
      float* value = x.mutable_data_ptr<float>() + n * values;
      std::array<uint32_t, 4> random{};
      for (int64_t i = 0; i < values; ++i) {
        if (i % 8 == 0) random = philox(key, static_cast<uint64_t>(i / 8), static_cast<uint64_t>(place));
        const uint32_t bits = random[static_cast<size_t>(i % 8 / 2)] >> (i % 2 * 16) & 0xffffu;
        value[i] = bits < threshold ? 0.0f : value[i] * scale;
      }
    });
  }

  at::Tensor fir_down(const at::Tensor& x, float gain) const override {
    constexpr float tap[4] = {0.125f, 0.375f, 0.375f, 0.125f};
    return filtered(
        x, x.size(1) / 2, x.size(2) / 2, 4,
        [&](int64_t i, int64_t a) {
          return Tap{2 * i + a - 1, tap[a]};
        },
        gain);
  }
  at::Tensor fir_up(const at::Tensor& x, float gain) const override {
    // Pixel i lies over i/2, and a quarter of it over the neighbour on its side.
    return filtered(
        x, 2 * x.size(1), 2 * x.size(2), 2,
        [](int64_t i, int64_t a) {
          return a == 0 ? Tap{i / 2, 0.75f} : Tap{i / 2 + (i % 2 == 0 ? -1 : 1), 0.25f};
        },
        gain);
  }

  at::Tensor attention(const at::Tensor& qkv, int64_t heads, std::vector<at::Tensor>* saved) const override {
    const auto [q, k, v] = split_heads(qkv, heads);
    const auto [out, logsumexp] = at::_scaled_dot_product_flash_attention_for_cpu(q, k, v);
    if (saved) *saved = {out, logsumexp};
    return out.transpose(1, 2).reshape({qkv.size(0), qkv.size(1), qkv.size(2), qkv.size(3) / 3});
  }
  at::Tensor attention_backward(const at::Tensor& dy, const at::Tensor& qkv, int64_t heads,
                                const std::vector<at::Tensor>& saved, const at::Tensor& sums,
                                int64_t column) const override {
    const auto [q, k, v] = split_heads(qkv, heads);
    const int64_t n = qkv.size(0), tokens = qkv.size(1) * qkv.size(2), size = qkv.size(3) / 3 / heads;
    const auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        dy.view({n, tokens, heads, size}).transpose(1, 2), q, k, v, saved[0], saved[1], 0, false);
    at::Tensor out = at::cat({dq.transpose(1, 2), dk.transpose(1, 2), dv.transpose(1, 2)}, 2).view(qkv.sizes());
    sums.narrow(1, column, out.size(3)).copy_(out.sum({1, 2}));
    return out;
  }

 private:
  struct Tap {
    int64_t place;
    float weight;
  };
  // Pixel (i, j) of the result is the sum over `taps` x `taps` pixels of x, those inside the image.
  template <class At>
  at::Tensor filtered(const at::Tensor& x, int64_t height, int64_t width, int64_t taps, const At& at,
                      float gain) const {
    const int64_t channels = x.size(3);
    at::Tensor out = empty({x.size(0), height, width, channels});
    each_sample(x.size(0), [&](int64_t n) {
      const View from(x), to(out);
      const float* row[16];
      float weight[16];
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j) {
          int64_t count = 0;
          for (int64_t a = 0; a < taps; ++a)
            for (int64_t b = 0; b < taps; ++b) {
              const Tap down = at(i, a), right = at(j, b);
              if (down.place < 0 || down.place >= x.size(1) || right.place < 0 || right.place >= x.size(2)) continue;
              row[count] = from.at(n, down.place * x.size(2) + right.place);
              weight[count++] = gain * down.weight * right.weight;
            }
          kernels_of_pixels().mix(channels, count, row, weight, to.at(n, i * width + j));
        }
    });
    return out;
  }

  bool eight_bit_;
};

}  // namespace

std::unique_ptr<ImageOps> make_cpu_image_ops(bool eight_bit) { return std::make_unique<CpuImageOps>(eight_bit); }

}  // namespace htfm
