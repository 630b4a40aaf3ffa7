// 3x3 convolutions of float8 images by cuDNN, which LibTorch's own convolutions do not offer.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <map>
#include <memory>

namespace htfm {

/// A convolution of images of one size: cuDNN's fastest way to do it, found on first use.
class EightBitConv;

/// All sizes that a network has.
class EightBitConvs {
 public:
  EightBitConvs();
  ~EightBitConvs();
  /// y (n x h x w x out, bfloat16) of x (n x h x w x in) and weights (out x 3 x 3 x in), both float8 (e4m3), and a
  /// factor of each output channel (float32); padded by a pixel. Not while work is recorded on the first call of a
  /// size.
  void operator()(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& factor, const at::Tensor& y);

 private:
  std::map<std::array<int64_t, 5>, std::unique_ptr<EightBitConv>> sizes_;
};

}  // namespace htfm
