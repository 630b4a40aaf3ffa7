// The training set of a run: rows in memory, from a synthetic law or a file, and their normalisation.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "htfm/data/synthetic.h"

namespace htfm {

/// x' = (x - centre) / scale, column by column.
struct Normaliser {
  std::vector<double> centre, scale;  ///< empty: the identity

  /// none, zscore (mean and deviation) or robust (median and interquartile range over that of a normal law).
  static Normaliser fit(const std::string& kind, const at::Tensor& rows);
  at::Tensor apply(const at::Tensor& rows) const;   ///< float32 out
  at::Tensor invert(const at::Tensor& rows) const;  ///< float64 out
};

struct Dataset {
  at::Tensor rows;                 ///< n x dim, float64, as given
  std::vector<std::string> names;  ///< of the columns; may be empty
  std::string hash;                ///< XXH64 of the rows' bytes
  std::string origin;              ///< what it is, for reports
};

Dataset synthetic_dataset(Key key, const SyntheticSpec& spec, int64_t n);
/// An .npy or .csv file; `columns`: names or numbers, comma-separated, all when empty.
Dataset file_dataset(const std::string& path, const std::string& columns);

}  // namespace htfm
