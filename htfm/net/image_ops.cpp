#include "htfm/net/image_ops.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

namespace htfm {

namespace {

at::Tensor rows(const at::Tensor& x) { return x.dim() == 2 ? x : x.view({-1, x.size(-1)}); }

at::Tensor like_image(const at::Tensor& product, const at::Tensor& x) {
  return x.dim() == 2 ? product : product.view({x.size(0), x.size(1), x.size(2), product.size(1)});
}

}  // namespace

at::Tensor ImageOps::empty(at::IntArrayRef shape) const { return at::empty(shape, at::TensorOptions().dtype(type()).device(device())); }

at::Tensor ImageOps::zeros_float(at::IntArrayRef shape) const {
  return at::zeros(shape, at::TensorOptions().dtype(at::kFloat).device(device()));
}

at::Tensor ImageOps::product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) const {
  return like_image(bias.defined() ? at::addmm(bias, rows(x), weight.t()) : at::mm(rows(x), weight.t()), x);
}

at::Tensor ImageOps::product_backward_input(const at::Tensor& dy, const at::Tensor& weight) const {
  return like_image(at::mm(rows(dy), weight), dy);
}

at::Tensor ImageOps::product_backward_weight(const at::Tensor& dy, const at::Tensor& x) const { return at::mm(rows(dy).t(), rows(x)); }

}  // namespace htfm
