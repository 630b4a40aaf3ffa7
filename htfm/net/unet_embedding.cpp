// What time and path say to the blocks of a pass: embeddings, and from them every block's scale and shift.
#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/net/unet_pass.h"

namespace htfm {

namespace {

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::addmm(bias, x, weight.t());
}

}  // namespace

at::Tensor UNetPass::embed_path(const at::Tensor& feature) {
  const UNetOptions& o = layers_.options;
  EmbeddingTape& e = embedding_;
  e.feature = feature.narrow(1, 0, o.path_feature());
  const at::Tensor first = linear(e.feature, parameter(layers_.path1.weight, {o.path_embedding, o.path_feature()}),
                                  parameter(layers_.path1.bias, {o.path_embedding}));
  if (o.linear_path) return first;
  e.path_pre = first;
  e.path_hidden = at::silu(e.path_pre);
  return linear(e.path_hidden, parameter(layers_.path2.weight, {o.path_embedding, o.path_embedding}),
                parameter(layers_.path2.bias, {o.path_embedding}));
}

void UNetPass::embed(const at::Tensor& t, const at::Tensor& feature) {
  const UNetOptions& o = layers_.options;
  const int64_t half = o.base / 2, wide = 4 * o.base;
  EmbeddingTape& e = embedding_;
  const at::Tensor frequency =
      at::arange(half, t.options()).mul_(-std::log(10000.0) / static_cast<double>(half)).exp_().mul_(1000);
  const at::Tensor angle = t.view({-1, 1}) * frequency.view({1, half});
  e.waves = at::cat({angle.sin(), angle.cos()}, 1);
  e.time_pre = linear(e.waves, parameter(layers_.time1.weight, {wide, o.base}), parameter(layers_.time1.bias, {wide}));
  e.time_hidden = at::silu(e.time_pre);
  at::Tensor time =
      linear(e.time_hidden, parameter(layers_.time2.weight, {wide, wide}), parameter(layers_.time2.bias, {wide}));
  if (o.path_feature() > 0) {
    e.path = feature.defined() ? embed_path(feature) : path_;
    if (!e.path.defined()) throw InputError("[unet] expected features of size n x {}, got none", o.feature);
    e.joined = at::cat({time, e.path}, 1);
  } else {
    e.joined = time;
  }
  e.active = at::silu(e.joined);
  const int64_t rows = layers_.modulation_rows(), embedding = layers_.embedding();
  modulation_ = linear(e.active, parameter(layers_.modulation_weight, {rows, embedding}),
                       parameter(layers_.modulation_bias, {rows}));
  if (o.shift_only) modulation_ = with_zero_scales(modulation_);
  if (o.film) {
    const Linear& f = layers_.film;
    modulation_.narrow(1, layers_.middle1.modulation, f.out)
        .add_(linear(e.active.narrow(1, wide, o.path_embedding), parameter(f.weight, {f.out, f.in}),
                     parameter(f.bias, {f.out})));
  }
}

void UNetPass::for_each_block(const std::function<void(const ResidualLayer&)>& visit) const {
  const auto of_stages = [&](const std::vector<UNetStage>& stages) {
    for (const UNetStage& s : stages)
      if (s.kind == UNetStage::Kind::block) visit(s.block);
  };
  of_stages(layers_.down);
  visit(layers_.middle1);
  visit(layers_.middle2);
  of_stages(layers_.up);
}

at::Tensor UNetPass::with_zero_scales(const at::Tensor& shifts) const {
  const at::Tensor out = ops_.zeros_float({shifts.size(0), layers_.modulation_size});
  for_each_block([&](const ResidualLayer& b) {
    const int64_t channels = b.channels();
    out.narrow(1, b.modulation + channels, channels).copy_(shifts.narrow(1, b.modulation / 2, channels));
  });
  return out;
}

at::Tensor UNetPass::shifts_of(const at::Tensor& modulation) const {
  const at::Tensor out = ops_.zeros_float({modulation.size(0), layers_.modulation_rows()});
  for_each_block([&](const ResidualLayer& b) {
    const int64_t channels = b.channels();
    out.narrow(1, b.modulation / 2, channels).copy_(modulation.narrow(1, b.modulation + channels, channels));
  });
  return out;
}

void UNetPass::embed_backward() {
  const UNetOptions& o = layers_.options;
  const EmbeddingTape& e = embedding_;
  const int64_t wide = 4 * o.base, rows = layers_.modulation_rows();
  const auto backward = [&](int64_t weight_at, int64_t bias_at, const at::Tensor& g, const at::Tensor& x) {
    put(weight_at, at::mm(g.t(), x));
    put(bias_at, g.sum(0));
  };
  const at::Tensor g = o.shift_only ? shifts_of(modulation_gradient_) : modulation_gradient_;
  backward(layers_.modulation_weight, layers_.modulation_bias, g, e.active);
  at::Tensor active = at::mm(g, parameter(layers_.modulation_weight, {rows, layers_.embedding()}));
  if (o.film) {
    const Linear& f = layers_.film;
    const at::Tensor own = modulation_gradient_.narrow(1, layers_.middle1.modulation, f.out);
    backward(f.weight, f.bias, own, e.active.narrow(1, wide, o.path_embedding));
    active.narrow(1, wide, o.path_embedding).add_(at::mm(own, parameter(f.weight, {f.out, f.in})));
  }
  const at::Tensor joined = at::silu_backward(active, e.joined), time = joined.narrow(1, 0, wide);
  backward(layers_.time2.weight, layers_.time2.bias, time, e.time_hidden);
  const at::Tensor hidden = at::silu_backward(at::mm(time, parameter(layers_.time2.weight, {wide, wide})), e.time_pre);
  backward(layers_.time1.weight, layers_.time1.bias, hidden, e.waves);
  if (o.path_feature() == 0) return;
  const at::Tensor path = joined.narrow(1, wide, o.path_embedding);
  if (o.linear_path) {
    backward(layers_.path1.weight, layers_.path1.bias, path, e.feature);
    return;
  }
  backward(layers_.path2.weight, layers_.path2.bias, path, e.path_hidden);
  const at::Tensor pre = at::silu_backward(
      at::mm(path, parameter(layers_.path2.weight, {o.path_embedding, o.path_embedding})), e.path_pre);
  backward(layers_.path1.weight, layers_.path1.bias, pre, e.feature);
}

}  // namespace htfm
