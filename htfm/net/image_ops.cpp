#include "htfm/net/image_ops.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <cmath>

namespace htfm {

namespace {

at::Tensor rows(const at::Tensor& x) { return x.dim() == 2 ? x : x.view({-1, x.size(-1)}); }

at::Tensor like_image(const at::Tensor& product, const at::Tensor& x) {
  return x.dim() == 2 ? product : product.view({x.size(0), x.size(1), x.size(2), product.size(1)});
}

at::Tensor planes(const at::Tensor& x) { return x.permute({0, 3, 1, 2}); }
constexpr double kLargestEightBit = 448;
at::Tensor to_eight_bits(const at::Tensor& x) {
  return x.clamp(-kLargestEightBit, kLargestEightBit).to(at::kFloat8_e4m3fn);
}

at::Tensor pixels_last(const at::Tensor& x) { return x.permute({0, 2, 3, 1}).contiguous(); }

int64_t padding(const at::Tensor& weight) { return (weight.size(1) - 1) / 2; }

ConvGradients gradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight, int64_t stride,
                        bool transposed, bool need_x) {
  const int64_t border = transposed ? 1 : padding(weight);
  const auto [dx, dw, db] =
      at::convolution_backward(planes(dy), planes(x), planes(weight), c10::nullopt, {stride, stride}, {border, border},
                               {1, 1}, transposed, {0, 0}, 1, {need_x, true, false});
  return {need_x ? pixels_last(dx) : at::Tensor(), pixels_last(dw)};
}

// Pixel o of the doubled image's convolution sees pixel i of the image through tap a = o + 1 - 2 i of the wide kernel,
// which stands for taps 2 - a and 3 - a of the narrow one. Here for both directions: 4 x 4 rows, 3 x 3 columns.
at::Tensor tap_matrix() {
  at::Tensor m = at::zeros({16, 9}, at::kFloat);
  float* p = m.mutable_data_ptr<float>();
  const auto stands_for = [](int a, int k) { return k == 2 - a || k == 3 - a; };
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 9; ++column)
      p[row * 9 + column] = stands_for(row / 4, column / 3) && stands_for(row % 4, column % 3) ? 1.0f : 0.0f;
  return m;
}

// Pixel o of the convolution sees pixel 2 o + a + p - 2 of the image through tap a of the kernel and tap p of the
// filter. Here for both directions: 6 x 6 rows, 3 x 3 columns.
at::Tensor filter_tap_matrix() {
  constexpr std::array<float, 4> kFilter{0.125f, 0.375f, 0.375f, 0.125f};
  at::Tensor m = at::zeros({36, 9}, at::kFloat);
  float* p = m.mutable_data_ptr<float>();
  const auto weight = [&](int wide, int tap) {
    const int k = wide - tap;
    return k >= 0 && k < 4 ? kFilter[static_cast<size_t>(k)] : 0.0f;
  };
  for (int row = 0; row < 36; ++row)
    for (int column = 0; column < 9; ++column)
      p[row * 9 + column] = weight(row / 6, column / 3) * weight(row % 6, column % 3);
  return m;
}

// w: a x taps x taps x b, with other taps: a x more x more x b.
at::Tensor with_taps(const at::Tensor& matrix, const at::Tensor& w, int64_t more) {
  return at::matmul(matrix, w.view({w.size(0), -1, w.size(3)})).view({w.size(0), more, more, w.size(3)});
}

// w: a x taps x taps x b. The matrix times the taps, and the two kinds of channels exchanged: b x more x more x a.
at::Tensor change_taps(const at::Tensor& matrix, const at::Tensor& w, int64_t more) {
  const int64_t a = w.size(0), b = w.size(3);
  return at::matmul(matrix, w.view({a, -1, b})).permute({2, 1, 0}).contiguous().view({b, more, more, a});
}

double softmax_scale(const at::Tensor& q) { return 1 / std::sqrt(static_cast<double>(q.size(2))); }

// n x heads x tokens x size as (n heads) x tokens x size.
at::Tensor flat_heads(const at::Tensor& x) { return x.reshape({-1, x.size(2), x.size(3)}); }

at::Tensor join_heads(const at::Tensor& x, const at::Tensor& qkv, int64_t heads) {
  return x.view({qkv.size(0), heads, x.size(1), x.size(2)})
      .transpose(1, 2)
      .reshape({qkv.size(0), qkv.size(1), qkv.size(2), heads * x.size(2)});
}

}  // namespace

at::Tensor ImageOps::norm_conv(const PendingSum& sum, const at::Tensor& x, const NormLayer& layer,
                               const at::Tensor& weight, NormStatistics* statistics, at::Tensor* kept) const {
  const at::Tensor a = norm(sum, x, layer, statistics);
  if (kept) *kept = a;
  return conv(a, weight, 1);
}

EightBitWeight in_eight_bits(const at::Tensor& weight) {
  const at::Tensor w = weight.to(at::kFloat), largest = w.abs().amax({1, 2, 3}, true);
  const at::Tensor scale = at::where(largest > 0, largest / kLargestEightBit, at::ones_like(largest));
  return {to_eight_bits(w / scale), (scale / kEightBitScale).view({-1})};
}

at::Tensor ImageOps::eight_bit_norm_conv(const PendingSum& sum, const at::Tensor& x, const NormLayer& layer,
                                         const EightBitWeight& weight) const {
  const at::Tensor a = to_eight_bits(norm(sum, x, layer, nullptr).to(at::kFloat) * kEightBitScale);
  const at::Tensor y = conv(a.to(type()), weight.values.to(type()), 1);
  return (y.to(at::kFloat) * weight.factor).to(type());
}

std::array<at::Tensor, 3> ImageOps::split_heads(const at::Tensor& qkv, int64_t heads) {
  const int64_t n = qkv.size(0), tokens = qkv.size(1) * qkv.size(2), channels = qkv.size(3) / 3;
  const at::Tensor parts = qkv.view({n, tokens, 3, heads, channels / heads});
  const auto part = [&](int64_t k) { return parts.select(2, k).transpose(1, 2); };
  return {part(0), part(1), part(2)};
}

at::Tensor ImageOps::plain_attention(const at::Tensor& qkv, int64_t heads, std::vector<at::Tensor>* saved) const {
  const auto views = split_heads(qkv, heads);
  const at::Tensor q = flat_heads(views[0]), k = flat_heads(views[1]), v = flat_heads(views[2]);
  const at::Tensor p = at::softmax(at::bmm(q, k.transpose(1, 2)) * softmax_scale(q), -1);
  if (saved) *saved = {p};
  return join_heads(at::bmm(p, v), qkv, heads);
}

at::Tensor ImageOps::plain_attention_backward(const at::Tensor& dy, const at::Tensor& qkv, int64_t heads,
                                              const std::vector<at::Tensor>& saved, const at::Tensor& sums,
                                              int64_t column) const {
  const auto views = split_heads(qkv, heads);
  const at::Tensor q = flat_heads(views[0]), k = flat_heads(views[1]), v = flat_heads(views[2]);
  const at::Tensor& p = saved[0];
  const int64_t n = qkv.size(0), tokens = qkv.size(1) * qkv.size(2), size = q.size(2);
  const at::Tensor d = dy.view({n, tokens, heads, size}).transpose(1, 2).reshape({n * heads, tokens, size});
  const at::Tensor dp = at::bmm(d, v.transpose(1, 2)), ds = p * (dp - (dp * p).sum(-1, true)) * softmax_scale(q);
  at::Tensor out = at::empty_like(qkv);
  const auto put = [&](int64_t part, const at::Tensor& g) {
    out.narrow(3, part * heads * size, heads * size).copy_(join_heads(g, qkv, heads));
  };
  put(0, at::bmm(ds, k));
  put(1, at::bmm(ds.transpose(1, 2), q));
  put(2, at::bmm(p.transpose(1, 2), d));
  sums.narrow(1, column, out.size(3)).copy_(out.to(at::kFloat).sum({1, 2}));
  return out;
}

at::Tensor ImageOps::conv(const at::Tensor& x, const at::Tensor& weight, int64_t stride) const {
  const int64_t border = padding(weight);
  return pixels_last(
      at::convolution(planes(x), planes(weight), {}, {stride, stride}, {border, border}, {1, 1}, false, {0, 0}, 1));
}

ConvGradients ImageOps::conv_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                                      int64_t stride, bool need_x) const {
  return gradients(dy, x, weight, stride, false, need_x);
}

at::Tensor ImageOps::conv_up(const at::Tensor& x, const at::Tensor& spread_weight) const {
  return pixels_last(at::convolution(planes(x), planes(spread_weight), {}, {2, 2}, {1, 1}, {1, 1}, true, {0, 0}, 1));
}

ConvGradients ImageOps::conv_up_backward(const at::Tensor& dy, const at::Tensor& x,
                                         const at::Tensor& spread_weight) const {
  return gradients(dy, x, spread_weight, 2, true, true);
}

const at::Tensor& ImageOps::taps() const {
  std::call_once(taps_made_, [&] { taps_ = tap_matrix().to(at::TensorOptions().dtype(type()).device(device())); });
  return taps_;
}

const at::Tensor& ImageOps::filter_taps() const {
  std::call_once(filter_taps_made_,
                 [&] { filter_taps_ = filter_tap_matrix().to(at::TensorOptions().dtype(type()).device(device())); });
  return filter_taps_;
}

at::Tensor ImageOps::spread_filter(const at::Tensor& weight) const { return with_taps(filter_taps(), weight, 6); }
at::Tensor ImageOps::gather_filter(const at::Tensor& spread_gradient) const {
  return with_taps(filter_taps().t(), spread_gradient, 3);
}

at::Tensor ImageOps::spread(const at::Tensor& weight) const { return change_taps(taps(), weight, 4); }
at::Tensor ImageOps::gather(const at::Tensor& spread_gradient) const {
  return change_taps(taps().t(), spread_gradient, 3);
}

at::Tensor ImageOps::empty(at::IntArrayRef shape) const {
  return at::empty(shape, at::TensorOptions().dtype(type()).device(device()));
}

at::Tensor ImageOps::zeros_float(at::IntArrayRef shape) const {
  return at::zeros(shape, at::TensorOptions().dtype(at::kFloat).device(device()));
}

at::Tensor ImageOps::product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) const {
  return like_image(bias.defined() ? at::addmm(bias, rows(x), weight.t()) : at::mm(rows(x), weight.t()), x);
}

at::Tensor ImageOps::product_backward_input(const at::Tensor& dy, const at::Tensor& weight) const {
  return like_image(at::mm(rows(dy), weight), dy);
}

at::Tensor ImageOps::product_backward_weight(const at::Tensor& dy, const at::Tensor& x) const {
  return at::mm(rows(dy).t(), rows(x));
}

}  // namespace htfm
