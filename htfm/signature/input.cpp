#include "htfm/signature/input.h"

#include <c10/core/ScalarType.h>

#include "htfm/base/error.h"
#include "htfm/signature/limits.h"

namespace htfm {

std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) return "nothing";
  std::string text = tensor.scalar_type() == at::kFloat    ? "float32"
                     : tensor.scalar_type() == at::kDouble ? "float64"
                                                           : toString(tensor.scalar_type());
  for (int64_t i = 0; i < tensor.dim(); ++i) text += fmt::format("{}{}", i == 0 ? " " : " x ", tensor.size(i));
  return text + " on " + tensor.device().str();
}

at::Tensor checked_paths(const char* where, const at::Tensor& paths, bool flat) {
  const bool right = paths.defined() && paths.device().is_cpu() &&
                     (paths.scalar_type() == at::kFloat || paths.scalar_type() == at::kDouble) &&
                     (paths.dim() == 3 || (flat && paths.dim() == 2));
  if (!right) {
    throw InputError("[{}] expected float32 or float64 paths n x points{} on the CPU, got {}", where,
                     flat ? " (x channels)" : " x channels", describe(paths));
  }
  const at::Tensor cube = paths.dim() == 2 ? paths.unsqueeze(2) : paths;
  if (cube.size(1) < 1 || cube.size(2) < 1 || cube.size(2) > kMaxChannels) {
    throw InputError("[{}] expected at least 1 point and 1 to {} channels, got {}", where, kMaxChannels,
                     describe(paths));
  }
  return cube.contiguous();
}

}  // namespace htfm
