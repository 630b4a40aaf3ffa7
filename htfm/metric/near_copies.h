// Do samples copy rows that a model was trained on: distances to the closest training row, of samples and of rows that
// the model has never seen.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

struct NearCopies {
  static constexpr int64_t kFewest = 40;  ///< held-out rows that it takes
  double samples = 0, held_out = 0;  ///< shares that are closer to a training row than the 5 % quantile of the held-out
  double exact_samples = 0, exact_held_out = 0;    ///< shares that equal a training row in every column
  double median_samples = 0, median_held_out = 0;  ///< of the distances
  int64_t samples_seen = 0, held_out_seen = 0;     ///< rows that were looked at: the first ones

  /// The standard error of the difference between both shares of near copies.
  double standard_error() const;
  /// Whether samples are nearer to the training rows than chance has it, in words.
  std::string sentence() const;
};

/// Compares rows n x d (float64, NaN where a value is missing). The distance of two rows is the mean over the columns
/// of the difference in the ranks of the training rows, or 0 and 1 where `unordered` says that a column holds codes
/// (empty: none does); a value that is missing is 1 from one that is not.
NearCopies find_near_copies(const at::Tensor& train, const at::Tensor& held_out, const at::Tensor& samples,
                            const std::vector<bool>& unordered = {});

}  // namespace htfm
