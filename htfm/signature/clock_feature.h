// The feature of a random clock: signatures of the time-augmented clock (s, T_s), s in [0, 1].
#pragma once

#include <ATen/core/Tensor.h>

#include "htfm/signature/signature.h"

namespace htfm {

/// Logsignatures of the clocks T sampled on the uniform grid, n x (N+1); time is channel 0. The same numbers as
/// logsignature(augment_time(T)), but the augmented paths are never stored.
at::Tensor clock_logsignature(const at::Tensor& clock_paths, int depth, LogBasis basis = LogBasis::brackets,
                              Convention convention = Convention::linear);
/// The raw signatures, phi_m(T) without its leading 1.
at::Tensor clock_signature(const at::Tensor& clock_paths, int depth, Convention convention = Convention::linear);

/// The Lyndon words of the clock's logsignature: letters time, clock (and the lagged clock under leadlag).
const LyndonBasis& clock_basis(int depth, Convention convention = Convention::linear);
/// Coordinates of the logsignature in which the clock appears, thus all but the increment of time.
std::vector<int64_t> clock_coordinates(int depth, Convention convention = Convention::linear);

}  // namespace htfm
