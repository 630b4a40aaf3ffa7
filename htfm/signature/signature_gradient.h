// Gradients of functions of signatures and logsignatures with respect to the paths.
#pragma once

#include <ATen/core/Tensor.h>

#include "htfm/base/api.h"
#include "htfm/signature/signature.h"

namespace htfm HTFM_PUBLIC {

/// The gradient in the paths, of their shape and type, where `gradient` (n x signature_size) is that in
/// signature(paths, depth, options). Computed in double.
at::Tensor signature_gradient(const at::Tensor& paths, int depth, const at::Tensor& gradient,
                              const PathOptions& options = {});

/// The same for logsignature(paths, depth, basis, options).
at::Tensor logsignature_gradient(const at::Tensor& paths, int depth, LogBasis basis, const at::Tensor& gradient,
                                 const PathOptions& options = {});

}  // namespace htfm
