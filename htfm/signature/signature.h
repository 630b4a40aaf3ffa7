// Signatures and logsignatures of batches of paths (the paper's appendix on the log-signature).
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

#include "htfm/base/api.h"
#include "htfm/signature/conventions.h"
#include "htfm/signature/lyndon.h"

namespace htfm HTFM_PUBLIC {

/// Coordinates of a logsignature: coefficients of the Lyndon words in the tensor logarithm, or coordinates in the basis
/// of Lyndon brackets.
enum class LogBasis { words, brackets };
/// "words" or "brackets".
LogBasis log_basis_by_name(std::string_view name);

/// What the path is, given its samples. With `augment_time` a time channel is put in front (`times`, or uniform on [0,
/// 1]). Jump and constant take channel 0 as time; leadlag doubles every channel but a time channel.
struct PathOptions {
  Convention convention = Convention::linear;
  bool augment_time = false;
  at::Tensor times;
  bool time_first = false;  // channel 0 of the samples is time already

  /// The moves for samples of that many channels, time not yet put in front.
  Moves moves(int channels) const;
};

/// Levels 1..depth of the signatures, n x signature_size: each level in the alphabetical order of its words, the
/// leading 1 left out. Paths are n x points x channels (n x points too, with augment_time), float32 or float64 on the
/// CPU, and so is the result.
at::Tensor signature(const at::Tensor& paths, int depth, const PathOptions& options = {});

/// The logsignatures, n x logsignature_size, in the order of LyndonBasis.
at::Tensor logsignature(const at::Tensor& paths, int depth, LogBasis basis, const PathOptions& options = {});

/// Chen's identity: the signatures of the concatenated paths, from those of the first and of the second ones.
at::Tensor chen(const at::Tensor& first, const at::Tensor& second, int channels, int depth);

}  // namespace htfm
