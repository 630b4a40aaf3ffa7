#include "htfm/net/mlp_torch.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/silu.h>

#include "htfm/net/tile_kernels.h"

namespace htfm {

namespace {

at::Tensor linear(const at::Tensor& p, const Linear& layer, const at::Tensor& x) {
  return at::linear(x, p.narrow(0, layer.weight, layer.out * layer.in).view({layer.out, layer.in}),
                    p.narrow(0, layer.bias, layer.out));
}

at::Tensor norm(const at::Tensor& p, const MlpLayers::Norm& own, const MlpOptions& o, const at::Tensor& x) {
  return at::group_norm(x, o.groups, p.narrow(0, own.gamma, o.width), p.narrow(0, own.beta, o.width), kNormEpsilon);
}

// x (1 + scale) + shift, both in one row of twice the width; x + shift where the row has no more than that.
at::Tensor modulated(const at::Tensor& x, const at::Tensor& modulation, int64_t width) {
  if (modulation.size(1) == width) return x + modulation;
  return x * (modulation.narrow(1, 0, width) + 1) + modulation.narrow(1, width, width);
}

}  // namespace

at::Tensor mlp_by_torch(const MlpLayers& layers, const at::Tensor& p, const NetworkInput& in) {
  const MlpOptions& o = layers.options;
  at::Tensor embedding = linear(p, layers.time2, at::silu(linear(p, layers.time1, in.t.reshape({-1, 1}))));
  at::Tensor path;
  if (o.feature > 0) {
    path = linear(p, layers.path1, in.feature);
    if (!o.linear_path) path = linear(p, layers.path2, at::silu(path));
    embedding = at::cat({embedding, path}, 1);
  }
  embedding = at::silu(embedding);
  at::Tensor x = linear(p, layers.input, in.x);
  for (size_t b = 0; b < layers.blocks.size(); ++b) {
    const MlpLayers::Block& block = layers.blocks[b];
    const at::Tensor h = linear(p, block.linear1, at::silu(norm(p, block.norm1, o, x))),
                     modulation = linear(p, block.modulation, embedding);
    x = x + linear(p, block.linear2, at::silu(modulated(norm(p, block.norm2, o, h), modulation, o.width)));
    if (layers.film_after(static_cast<int64_t>(b))) x = modulated(x, linear(p, layers.film, path), o.width);
  }
  return linear(p, layers.output, x);
}

}  // namespace htfm
