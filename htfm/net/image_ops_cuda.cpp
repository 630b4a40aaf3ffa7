// The image operations on a CUDA device: convolutions by cuDNN in channels-last order, products by cuBLAS, flash
// attention, and the fused kernels of this folder for everything that would be a pass over memory of its own.
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_backward.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAFunctions.h>

#include "htfm/net/dropout.h"
#include "htfm/net/eight_bit_conv_cuda.h"
#include "htfm/net/image_kernels_cuda.h"
#include "htfm/net/image_ops.h"
#include "htfm/net/norm_stream_cuda.h"

namespace htfm {

namespace {

using cuda::Strided;

Strided strided(const at::Tensor& x) {
  if (!x.defined()) return {};
  return {const_cast<void*>(x.const_data_ptr()), x.stride(2), x.stride(0)};
}
const float* floats(const at::Tensor& x) { return x.defined() ? x.const_data_ptr<float>() : nullptr; }
const void* values(const at::Tensor& x) { return x.defined() ? x.const_data_ptr() : nullptr; }

class CudaImageOps final : public ImageOps {
 public:
  CudaImageOps(at::ScalarType type, bool eight_bit)
      : type_(type), eight_bit_(eight_bit ? std::make_unique<EightBitConvs>() : nullptr) {}
  at::Device device() const override { return at::Device(at::kCUDA, c10::cuda::current_device()); }
  at::ScalarType type() const override { return type_; }
  int64_t channel_multiple() const override { return 8; }

  at::Tensor norm(const PendingSum& sum, const at::Tensor& x, const NormLayer& layer,
                  NormStatistics* statistics) const override {
    const at::Tensor out = empty((x.defined() ? x : sum.y).sizes());
    at::Tensor partial;
    cuda::NormForwardArgs a = norm_arguments(sum, x, layer, statistics, partial);
    a.out = out.mutable_data_ptr();
    cuda::norm_forward(a, stream());
    return out;
  }

  at::Tensor norm_conv(const PendingSum& sum, const at::Tensor& x, const NormLayer& layer, const at::Tensor& weight,
                       NormStatistics* statistics, at::Tensor* kept) const override {
    const at::Tensor& shape = x.defined() ? x : sum.y;
    const bool readable = x.defined() || !sum.residual.defined();
    if (!readable || !is_narrow(shape, weight.size(0), weight))
      return ImageOps::norm_conv(sum, x, layer, weight, statistics, kept);
    at::Tensor partial;
    const cuda::NormForwardArgs norm = norm_arguments(sum, x, layer, statistics, partial);
    at::Tensor out = empty({shape.size(0), shape.size(1), shape.size(2), weight.size(0)});
    cuda::NarrowConvArgs c = conv_arguments(shape, weight, out);
    if (kept) *kept = empty(shape.sizes()), c.kept = kept->mutable_data_ptr();
    cuda::narrow_norm_conv(norm, c, stream());
    return out;
  }

  // cuDNN takes 16 channels at a time; between few channels a convolution waits for memory, and ours reads less.
  bool in_eight_bits(int64_t height, int64_t width, int64_t in, int64_t out) const override {
    return eight_bit_ && in % 16 == 0 && out % 16 == 0 && !is_narrow(height, width, in, out);
  }
  at::Tensor eight_bit_norm_conv(const PendingSum& sum, const at::Tensor& x, const NormLayer& layer,
                                 const EightBitWeight& weight) const override {
    const at::Tensor& shape = x.defined() ? x : sum.y;
    const at::Tensor a = at::empty(shape.sizes(), at::TensorOptions().dtype(at::kFloat8_e4m3fn).device(device()));
    at::Tensor partial;
    cuda::NormForwardArgs norm = norm_arguments(sum, x, layer, nullptr, partial);
    norm.out = a.mutable_data_ptr(), norm.eight_bit = kEightBitScale;
    cuda::norm_forward(norm, stream());
    const at::Tensor out = empty({shape.size(0), shape.size(1), shape.size(2), weight.values.size(0)});
    (*eight_bit_)(a, weight.values, weight.factor, out);
    return out;
  }

  at::Tensor conv(const at::Tensor& x, const at::Tensor& weight, int64_t stride) const override {
    if (stride != 1 || !is_narrow(x, weight.size(0), weight)) return ImageOps::conv(x, weight, stride);
    at::Tensor out = empty({x.size(0), x.size(1), x.size(2), weight.size(0)});
    cuda::NarrowConvArgs c = conv_arguments(x, weight, out);
    c.x = strided(x);
    cuda::narrow_conv(c, stream());
    return out;
  }

  ConvGradients conv_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight, int64_t stride,
                              bool need_x) const override {
    if (stride != 1 || !is_narrow(dy, x.size(3), weight)) return ImageOps::conv_backward(dy, x, weight, stride, need_x);
    ConvGradients out;
    // The input's gradient is a convolution, too: taps the other way round, channels exchanged.
    if (need_x) out.input = conv(dy, weight.flip({1, 2}).permute({3, 1, 2, 0}).contiguous(), 1);
    const auto options = at::TensorOptions().dtype(at::kFloat).device(device());
    out.weight = at::empty(weight.sizes(), options);
    cuda::NarrowConvGradientArgs c;
    c.samples = size(x, 0), c.height = size(x, 1), c.width = size(x, 2), c.in = size(x, 3), c.out = size(dy, 3);
    c.x = strided(x), c.dy = values(dy), c.weight_gradient = out.weight.mutable_data_ptr<float>();
    const at::Tensor partial = at::empty({cuda::narrow_gradient_workspace(c)}, options);
    c.workspace = partial.mutable_data_ptr<float>();
    cuda::narrow_conv_gradient(c, stream());
    return out;
  }

  InputGradients norm_backward(const NormBackward& in, const NormLayer& layer, const at::Tensor& sums) const override {
    const int64_t n = in.x.size(0), channels = in.x.size(3), split = in.split > 0 ? in.split : channels;
    InputGradients out;
    out.first = empty({n, in.x.size(1), in.x.size(2), split});
    if (split < channels) out.second = empty({n, in.x.size(1), in.x.size(2), channels - split});
    cuda::NormBackwardArgs a;
    a.type = kernel_type(), a.samples = size(in.x, 0), a.pixels = size(in.x, 1) * size(in.x, 2),
    a.channels = size(in.x, 3);
    a.groups = static_cast<int>(layer.groups);
    a.gradient = values(in.gradient), a.x = strided(in.x), a.bias = floats(in.bias);
    a.mean = floats(in.statistics.mean), a.inverse = floats(in.statistics.inverse_deviation);
    a.gamma = floats(layer.gamma), a.beta = floats(layer.beta), a.silu = layer.silu;
    if (layer.modulation.defined())
      a.modulation = floats(layer.modulation), a.modulation_row = layer.modulation.stride(0);
    for (size_t k = 0; k < in.add.size(); ++k) a.add[k] = strided(in.add[k]);
    a.split = static_cast<int>(split), a.scale = in.scale;
    a.first = out.first.mutable_data_ptr();
    if (out.second.defined()) a.second = out.second.mutable_data_ptr();
    a.sums = sums.mutable_data_ptr<float>(), a.width = sums.size(1);
    a.column_gamma = in.columns.gamma, a.column_beta = in.columns.beta, a.column_input = in.columns.input;
    if (in.modulation_gradient.defined()) {
      a.modulation_gradient = in.modulation_gradient.mutable_data_ptr<float>();
      a.modulation_gradient_row = in.modulation_gradient.stride(0);
    }
    const at::Tensor partial = workspace(a.samples, a.pixels, a.channels);
    if (partial.defined()) a.workspace = partial.mutable_data_ptr<float>();
    cuda::norm_backward(a, stream());
    return out;
  }

  at::Tensor add_up(const PendingSum& sum, const at::Tensor& copy) const override {
    const at::Tensor& y = sum.y;
    at::Tensor out = empty(y.sizes());
    cuda::AddArgs a;
    a.type = kernel_type(), a.samples = size(y, 0), a.pixels = size(y, 1) * size(y, 2), a.channels = size(y, 3);
    a.y = values(y), a.residual = strided(sum.residual), a.copy = strided(copy), a.scale = sum.scale,
    a.out = out.mutable_data_ptr();
    for (size_t k = 0; k < sum.bias.size(); ++k) a.bias[k] = floats(sum.bias[k]);
    cuda::add_up(a, stream());
    return out;
  }

  at::Tensor add_backward(const at::Tensor& a, const at::Tensor& b, const at::Tensor& sums, int64_t column,
                          float scale) const override {
    const at::Tensor out = b.defined() || scale != 1 ? empty(a.sizes()) : at::Tensor();
    gradient_sums({a}, b, out, a.sizes(), sums, column, scale);
    return out.defined() ? out : a;
  }

  void dropout(at::Tensor& x, const at::Tensor& keys, int64_t place, double rate) const override {
    cuda::DropoutArgs a;
    a.type = kernel_type(), a.samples = x.size(0), a.values = x.numel() / x.size(0);
    a.keys = keys.const_data_ptr<int64_t>(), a.place = place;
    a.threshold = dropout_threshold(rate), a.scale = dropout_scale(a.threshold), a.x = x.mutable_data_ptr();
    cuda::dropout(a, stream());
  }

  at::Tensor fir_down(const at::Tensor& x, float gain) const override { return fir(x, gain, false); }
  at::Tensor fir_up(const at::Tensor& x, float gain) const override { return fir(x, gain, true); }

  at::Tensor attention(const at::Tensor& qkv, int64_t heads, std::vector<at::Tensor>* saved) const override {
    if (!flash(qkv, heads)) return plain_attention(qkv, heads, saved);
    const auto [q, k, v] = split_heads(qkv, heads);
    if (use_cudnn()) {
      auto [out, logsumexp, cum_q, cum_k, max_q, max_k, seed, offset, mask] =
          at::_scaled_dot_product_cudnn_attention(q, k, v, {}, saved != nullptr, 0.0, false, false);
      if (saved) *saved = {out, logsumexp, seed, offset};
      return out.transpose(1, 2).reshape({qkv.size(0), qkv.size(1), qkv.size(2), qkv.size(3) / 3});
    }
    auto [out, logsumexp, cum_q, cum_k, max_q, max_k, rng, unused, mask] =
        at::_scaled_dot_product_flash_attention(q, k, v, 0.0, false, false);
    if (saved) *saved = {out, logsumexp, rng, unused};
    return out.transpose(1, 2).reshape({qkv.size(0), qkv.size(1), qkv.size(2), qkv.size(3) / 3});
  }

  at::Tensor attention_backward(const at::Tensor& dy, const at::Tensor& qkv, int64_t heads,
                                const std::vector<at::Tensor>& saved, const at::Tensor& sums,
                                int64_t column) const override {
    if (!flash(qkv, heads)) return plain_attention_backward(dy, qkv, heads, saved, sums, column);
    const auto [q, k, v] = split_heads(qkv, heads);
    const int64_t n = qkv.size(0), tokens = qkv.size(1) * qkv.size(2), channels = qkv.size(3) / 3;
    const at::Tensor d = dy.view({n, tokens, heads, channels / heads}).transpose(1, 2);
    const auto [dq, dk, dv] =
        use_cudnn() ? at::_scaled_dot_product_cudnn_attention_backward(d, q, k, v, saved[0], saved[1], saved[2],
                                                                       saved[3], {}, {}, {}, tokens, tokens, 0.0, false)
                    : at::_scaled_dot_product_flash_attention_backward(d, q, k, v, saved[0], saved[1], {}, {}, tokens,
                                                                       tokens, 0.0, false, saved[2], saved[3]);
    const auto dense = [](const at::Tensor& g) { return g.transpose(1, 2).contiguous(); };
    at::Tensor out = empty(qkv.sizes());
    gradient_sums({dense(dq), dense(dk), dense(dv)}, {}, out, out.sizes(), sums, column);
    return out;
  }

 private:
  // cuDNN's attention is faster; the other one has a backward pass with a fixed order of additions.
  static bool use_cudnn() { return !at::globalContext().deterministicAlgorithms(); }
  static int size(const at::Tensor& x, int64_t k) { return static_cast<int>(x.size(k)); }
  static cudaStream_t stream() { return at::cuda::getCurrentCUDAStream(); }
  cuda::Type kernel_type() const { return type_ == at::kFloat ? cuda::Type::float32 : cuda::Type::bfloat16; }
  bool flash(const at::Tensor& qkv, int64_t heads) const {
    return type_ == at::kBFloat16 && (qkv.size(3) / 3 / heads) % 8 == 0;
  }

  bool is_narrow(const at::Tensor& x, int64_t out, const at::Tensor& weight) const {
    return weight.size(1) == 3 && is_narrow(x.size(1), x.size(2), x.size(3), out);
  }
  bool is_narrow(int64_t height, int64_t width, int64_t in, int64_t out) const {
    const int h = static_cast<int>(height), w = static_cast<int>(width), channels = static_cast<int>(in);
    return cuda::streams(kernel_type(), h * w, channels) &&
           cuda::is_narrow_conv(kernel_type(), h, w, channels, static_cast<int>(out));
  }

  static cuda::NarrowConvArgs conv_arguments(const at::Tensor& shape, const at::Tensor& weight, at::Tensor& out) {
    cuda::NarrowConvArgs c;
    c.samples = size(shape, 0), c.height = size(shape, 1), c.width = size(shape, 2);
    c.in = size(shape, 3), c.out = size(out, 3);
    c.weight = values(weight), c.y = out.mutable_data_ptr();
    return c;
  }

  // All but where the output goes. `partial` must outlive the launch.
  cuda::NormForwardArgs norm_arguments(const PendingSum& sum, const at::Tensor& x, const NormLayer& layer,
                                       NormStatistics* statistics, at::Tensor& partial) const {
    const at::Tensor& shape = x.defined() ? x : sum.y;
    cuda::NormForwardArgs a;
    a.type = kernel_type(), a.samples = size(shape, 0), a.pixels = size(shape, 1) * size(shape, 2),
    a.channels = size(shape, 3);
    a.groups = static_cast<int>(layer.groups);
    if (sum.y.defined()) {
      a.y = values(sum.y), a.fresh = size(sum.y, 3), a.residual = strided(sum.residual), a.scale = sum.scale;
      for (size_t k = 0; k < sum.bias.size(); ++k) a.bias[k] = floats(sum.bias[k]);
    }
    a.x = strided(x);
    a.gamma = floats(layer.gamma), a.beta = floats(layer.beta), a.silu = layer.silu;
    if (layer.modulation.defined())
      a.modulation = floats(layer.modulation), a.modulation_row = layer.modulation.stride(0);
    if (statistics) {
      const auto options = at::TensorOptions().dtype(at::kFloat).device(device());
      *statistics = {at::empty({shape.size(0), layer.groups}, options),
                     at::empty({shape.size(0), layer.groups}, options)};
      a.mean = statistics->mean.mutable_data_ptr<float>(),
      a.inverse = statistics->inverse_deviation.mutable_data_ptr<float>();
    }
    partial = workspace(a.samples, a.pixels, a.channels);
    if (partial.defined()) a.workspace = partial.mutable_data_ptr<float>();
    return a;
  }

  at::Tensor workspace(int samples, int pixels, int channels) const {
    const int64_t floats = cuda::norm_workspace(kernel_type(), samples, pixels, channels);
    return floats > 0 ? at::empty({floats}, at::TensorOptions().dtype(at::kFloat).device(device())) : at::Tensor();
  }

  at::Tensor fir(const at::Tensor& x, float gain, bool up) const {
    const auto resized = [&](int64_t k) { return up ? 2 * x.size(k) : x.size(k) / 2; };
    at::Tensor out = empty({x.size(0), resized(1), resized(2), x.size(3)});
    cuda::FirArgs a;
    a.type = kernel_type(), a.up = up, a.gain = gain, a.x = strided(x), a.out = out.mutable_data_ptr();
    a.samples = size(x, 0), a.height = size(x, 1), a.width = size(x, 2), a.channels = size(x, 3);
    cuda::fir(a, stream());
    return out;
  }

  void gradient_sums(const std::vector<at::Tensor>& parts, const at::Tensor& b, const at::Tensor& out,
                     at::IntArrayRef shape, const at::Tensor& sums, int64_t column, float scale = 1) const {
    cuda::GradientSumArgs a;
    a.scale = scale;
    a.type = kernel_type(), a.samples = static_cast<int>(shape[0]), a.pixels = static_cast<int>(shape[1] * shape[2]);
    a.channels = static_cast<int>(shape[3]), a.b = values(b);
    for (size_t k = 0; k < parts.size(); ++k) a.parts[k] = values(parts[k]);
    if (out.defined()) a.out = out.mutable_data_ptr();
    a.sums = sums.mutable_data_ptr<float>(), a.row = sums.size(1), a.column = column;
    cuda::gradient_sums(a, stream());
  }

  at::ScalarType type_;
  std::unique_ptr<EightBitConvs> eight_bit_;  // where convolutions have eight bits
};

}  // namespace

std::unique_ptr<ImageOps> make_cuda_image_ops(at::ScalarType type, bool eight_bit) {
  return std::make_unique<CudaImageOps>(type, eight_bit);
}

}  // namespace htfm
