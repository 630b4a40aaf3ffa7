#include "htfm/net/dropout.h"

#include <ATen/ops/arange.h>

#include <algorithm>

namespace htfm {

at::Tensor dropout_keys(const at::Tensor& x, const at::Tensor& t) {
  constexpr int64_t kPixels = 64, kOdd = static_cast<int64_t>(0x9E3779B97F4A7C15u);
  const at::Tensor channel = x.select(3, 0).reshape({x.size(0), -1});
  const int64_t pixels = std::min(kPixels, channel.size(1));
  // In bf16 whatever the type of x, so that all devices and types leave out the same.
  const at::Tensor bits = channel.narrow(1, 0, pixels).to(at::kBFloat16).view(at::kShort).to(at::kLong);
  const at::Tensor factor = at::arange(1, 2 * pixels, 2, bits.options()).mul_(kOdd);
  const at::Tensor time = t.contiguous().view(at::kInt).to(at::kLong);
  return bits.mul(factor).sum(1).add_(time, kOdd ^ 0x5DEECE66D).contiguous();
}

}  // namespace htfm
