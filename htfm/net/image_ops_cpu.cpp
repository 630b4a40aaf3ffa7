// The operations in float32 on the CPU, written for clarity: what the faster ones are compared with.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <cmath>

#include "htfm/base/parallel.h"
#include "htfm/net/image_ops.h"

namespace htfm {

namespace {

// A float image whose pixels may be apart further than their channels.
struct View {
  explicit View(const at::Tensor& t)
      : data(t.defined() ? static_cast<float*>(const_cast<void*>(t.const_data_ptr())) : nullptr),
        pixels(t.defined() ? t.size(1) * t.size(2) : 0),
        channels(t.defined() ? t.size(3) : 0),
        stride(t.defined() ? t.stride(2) : 0),
        sample(t.defined() ? t.stride(0) : 0) {}
  float* at(int64_t n, int64_t p) const { return data + n * sample + p * stride; }
  explicit operator bool() const { return data != nullptr; }
  float* data;
  int64_t pixels, channels, stride, sample;
};

double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

// Writes one sample of a sum.
void add_sample(const PendingSum& sum, int64_t n, float* out, int64_t stride) {
  const View y(sum.y), residual(sum.residual);
  std::vector<const float*> bias;
  for (const at::Tensor& b : sum.bias) bias.push_back(b.const_data_ptr<float>());
  for (int64_t p = 0; p < y.pixels; ++p)
    for (int64_t c = 0; c < y.channels; ++c) {
      float v = y.at(n, p)[c];
      for (const float* b : bias) v += b[c];
      if (residual) v += residual.at(n, p)[c];
      out[p * stride + c] = v * sum.scale;
    }
}

class CpuImageOps final : public ImageOps {
 public:
  at::Device device() const override { return at::kCPU; }
  at::ScalarType type() const override { return at::kFloat; }
  int64_t channel_multiple() const override { return 1; }

  at::Tensor norm(const PendingSum& sum, const at::Tensor& x, const NormLayer& layer, NormStatistics* statistics) const override {
    const at::Tensor& shape = x.defined() ? x : sum.y;
    const int64_t samples = shape.size(0), channels = shape.size(3), pixels = shape.size(1) * shape.size(2), size = channels / layer.groups;
    at::Tensor out = empty(shape.sizes()), mean = at::empty({samples, layer.groups}, at::kFloat), inverse = at::empty_like(mean);
    parallel_for(samples, [&](int64_t n) {
      std::vector<float> own(static_cast<size_t>(pixels * channels));
      const View in(x), y(out);
      if (in)
        for (int64_t p = 0; p < pixels; ++p) std::copy_n(in.at(n, p), channels, own.data() + p * channels);
      if (sum.y.defined()) add_sample(sum, n, own.data(), channels);
      if (in && sum.y.defined())
        for (int64_t p = 0; p < pixels; ++p) std::copy_n(own.data() + p * channels, sum.y.size(3), in.at(n, p));
      for (int64_t g = 0; g < layer.groups; ++g) {
        double total = 0, square = 0;
        for (int64_t p = 0; p < pixels; ++p)
          for (int64_t c = g * size; c < (g + 1) * size; ++c) total += own[p * channels + c];
        const double m = total / static_cast<double>(pixels * size);
        for (int64_t p = 0; p < pixels; ++p)
          for (int64_t c = g * size; c < (g + 1) * size; ++c) square += (own[p * channels + c] - m) * (own[p * channels + c] - m);
        const double r = 1 / std::sqrt(square / static_cast<double>(pixels * size) + 1e-5);
        mean.mutable_data_ptr<float>()[n * layer.groups + g] = static_cast<float>(m);
        inverse.mutable_data_ptr<float>()[n * layer.groups + g] = static_cast<float>(r);
        for (int64_t c = g * size; c < (g + 1) * size; ++c) {
          const Affine a(layer, n, c, channels);
          for (int64_t p = 0; p < pixels; ++p) {
            const double z = a((own[p * channels + c] - m) * r);
            y.at(n, p)[c] = static_cast<float>(layer.silu ? z * sigmoid(z) : z);
          }
        }
      }
    });
    if (statistics) *statistics = {mean, inverse};
    return out;
  }

  InputGradients norm_backward(const NormBackward& in, const NormLayer& layer, const at::Tensor& sums) const override {
    const int64_t samples = in.x.size(0), channels = in.x.size(3), pixels = in.x.size(1) * in.x.size(2), size = channels / layer.groups,
                  split = in.split > 0 ? in.split : channels;
    InputGradients out;
    out.first = empty({samples, in.x.size(1), in.x.size(2), split});
    if (split < channels) out.second = empty({samples, in.x.size(1), in.x.size(2), channels - split});
    parallel_for(samples, [&](int64_t n) {
      const View dy(in.gradient), x(in.x), first(out.first), second(out.second);
      std::vector<View> more;
      for (const at::Tensor& t : in.add) more.emplace_back(t);
      float* row = sums.mutable_data_ptr<float>() + n * sums.size(1);
      std::vector<double> dz(static_cast<size_t>(pixels * size)), normed(dz);
      for (int64_t g = 0; g < layer.groups; ++g) {
        const float m = in.statistics.mean.const_data_ptr<float>()[n * layer.groups + g];
        const float r = in.statistics.inverse_deviation.const_data_ptr<float>()[n * layer.groups + g];
        double mean1 = 0, mean2 = 0;
        for (int64_t k = 0; k < size; ++k) {
          const int64_t c = g * size + k;
          const Affine a(layer, n, c, channels);
          const float b = in.bias.defined() ? in.bias.const_data_ptr<float>()[c] : 0.0f;
          double plain = 0, weighted = 0;
          for (int64_t p = 0; p < pixels; ++p) {
            const double v = (static_cast<double>(x.at(n, p)[c]) + b - m) * r, z = a(v), s = sigmoid(z);
            const double d = dy.at(n, p)[c] * (layer.silu ? s * (1 + z * (1 - s)) : 1.0);
            dz[p * size + k] = d, normed[p * size + k] = v;
            plain += d, weighted += d * v;
          }
          mean1 += plain * a.slope(), mean2 += weighted * a.slope();
          if (in.columns.gamma >= 0) row[in.columns.gamma + c] = static_cast<float>(weighted * a.scale);
          if (in.columns.beta >= 0) row[in.columns.beta + c] = static_cast<float>(plain * a.scale);
          if (in.modulation_gradient.defined()) {
            float* d = in.modulation_gradient.mutable_data_ptr<float>() + n * in.modulation_gradient.stride(0);
            d[c] = static_cast<float>(weighted * a.gamma + plain * a.beta);
            d[channels + c] = static_cast<float>(plain);
          }
        }
        mean1 /= static_cast<double>(pixels * size), mean2 /= static_cast<double>(pixels * size);
        for (int64_t k = 0; k < size; ++k) {
          const int64_t c = g * size + k;
          const Affine a(layer, n, c, channels);
          double total = 0;
          for (int64_t p = 0; p < pixels; ++p) {
            double d = r * (dz[p * size + k] * a.slope() - mean1 - normed[p * size + k] * mean2);
            for (const View& v : more) d += v.at(n, p)[c];
            if (c < split) d *= in.scale;
            total += d;
            (c < split ? first.at(n, p)[c] : second.at(n, p)[c - split]) = static_cast<float>(d);
          }
          if (in.columns.input >= 0 && c < split) row[in.columns.input + c] = static_cast<float>(total);
        }
      }
    });
    return out;
  }

  at::Tensor add_up(const PendingSum& sum, const at::Tensor& copy) const override {
    at::Tensor out = empty(sum.y.sizes());
    parallel_for(out.size(0), [&](int64_t n) {
      const View dense(out), slot(copy);
      add_sample(sum, n, dense.at(n, 0), dense.stride);
      if (slot)
        for (int64_t p = 0; p < dense.pixels; ++p) std::copy_n(dense.at(n, p), dense.channels, slot.at(n, p));
    });
    return out;
  }

  at::Tensor add_backward(const at::Tensor& a, const at::Tensor& b, const at::Tensor& sums, int64_t column, float scale) const override {
    at::Tensor out = b.defined() ? a + b : a;
    if (scale != 1) out = out * scale;
    sums.narrow(1, column, a.size(3)).copy_(out.sum({1, 2}));
    return out;
  }

  at::Tensor fir_down(const at::Tensor& x, float gain) const override {
    const int64_t height = x.size(1), width = x.size(2), channels = x.size(3);
    at::Tensor out = empty({x.size(0), height / 2, width / 2, channels});
    constexpr float tap[4] = {0.125f, 0.375f, 0.375f, 0.125f};
    parallel_for(x.size(0), [&](int64_t n) {
      const View from(x), to(out);
      for (int64_t i = 0; i < height / 2; ++i)
        for (int64_t j = 0; j < width / 2; ++j) {
          float* y = to.at(n, i * (width / 2) + j);
          std::fill_n(y, channels, 0.0f);
          for (int64_t a = 0; a < 4; ++a)
            for (int64_t b = 0; b < 4; ++b) {
              const int64_t row = 2 * i + a - 1, column = 2 * j + b - 1;
              if (row < 0 || row >= height || column < 0 || column >= width) continue;
              const float* v = from.at(n, row * width + column);
              for (int64_t c = 0; c < channels; ++c) y[c] += gain * tap[a] * tap[b] * v[c];
            }
        }
    });
    return out;
  }

  at::Tensor fir_up(const at::Tensor& x, float gain) const override {
    const int64_t height = x.size(1), width = x.size(2), channels = x.size(3);
    at::Tensor out = empty({x.size(0), 2 * height, 2 * width, channels});
    parallel_for(x.size(0), [&](int64_t n) {
      const View from(x), to(out);
      for (int64_t i = 0; i < 2 * height; ++i)
        for (int64_t j = 0; j < 2 * width; ++j) {
          float* y = to.at(n, i * 2 * width + j);
          std::fill_n(y, channels, 0.0f);
          // Pixel i lies over i/2, and a quarter of it over the neighbour on its side.
          for (int64_t a = 0; a < 2; ++a)
            for (int64_t b = 0; b < 2; ++b) {
              const int64_t row = i / 2 + a * (i % 2 == 0 ? -1 : 1), column = j / 2 + b * (j % 2 == 0 ? -1 : 1);
              if (row < 0 || row >= height || column < 0 || column >= width) continue;
              const float weight = gain * (a == 0 ? 0.75f : 0.25f) * (b == 0 ? 0.75f : 0.25f);
              const float* v = from.at(n, row * width + column);
              for (int64_t c = 0; c < channels; ++c) y[c] += weight * v[c];
            }
        }
    });
    return out;
  }

  at::Tensor attention(const at::Tensor& qkv, int64_t heads, std::vector<at::Tensor>* saved) const override {
    return plain_attention(qkv, heads, saved);
  }
  at::Tensor attention_backward(const at::Tensor& dy, const at::Tensor& qkv, int64_t heads, const std::vector<at::Tensor>& saved,
                                const at::Tensor& sums, int64_t column) const override {
    return plain_attention_backward(dy, qkv, heads, saved, sums, column);
  }

 private:
  // z = scale (gamma v + beta) + shift of one channel of one sample.
  struct Affine {
    Affine(const NormLayer& layer, int64_t n, int64_t c, int64_t channels)
        : gamma(layer.gamma.const_data_ptr<float>()[c]), beta(layer.beta.const_data_ptr<float>()[c]) {
      if (!layer.modulation.defined()) return;
      const float* m = layer.modulation.const_data_ptr<float>() + n * layer.modulation.stride(0);
      scale = 1 + m[c], shift = m[channels + c];
    }
    double operator()(double v) const { return (gamma * v + beta) * scale + shift; }
    double slope() const { return static_cast<double>(gamma) * scale; }
    float gamma, beta, scale = 1, shift = 0;
  };
};

}  // namespace

std::unique_ptr<ImageOps> make_cpu_image_ops() { return std::make_unique<CpuImageOps>(); }

}  // namespace htfm
