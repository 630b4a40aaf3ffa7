// The size of a data point: the statistic that a coupling ranks and a tail model extends. Which one is extreme is the
// user's choice.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

struct SizeSpec {
  std::string kind = "radius";  ///< radius | mahalanobis | maximum | column | file
  std::string column;           ///< column: its name, or its number from 1
  std::string path;             ///< file: one number for each row of the data set (.npy or .csv)
};

/// A statistic of one row: all but `file` grow in proportion with the distance from the centre.
class SizeStatistic {
 public:
  virtual ~SizeStatistic() = default;
  /// `row`: dim numbers; `index`: the row's place in the data set that the statistic was made for.
  virtual double operator()(const float* row, int64_t index) const = 0;
  /// Whether size(c + k (x - c)) = k size(x): a tail of sizes can then be extended by stretching points.
  virtual bool homogeneous() const { return true; }
  /// Whether it is the distance from the centre.
  virtual bool is_distance() const { return false; }
};

struct SizeInfo {
  std::string name, summary;
  std::function<std::unique_ptr<SizeStatistic>(const SizeSpec& spec, const at::Tensor& rows,
                                               const std::vector<std::string>& names)>
      make;
};
std::span<const SizeInfo> size_statistics();

/// The statistic of a specification for a data set (n x dim float32) with these column names, which may be empty.
std::unique_ptr<SizeStatistic> make_size(const SizeSpec& spec, const at::Tensor& rows,
                                         const std::vector<std::string>& names);
/// A user's own statistic.
std::unique_ptr<SizeStatistic> make_size(std::function<double(std::span<const float> row)> statistic, int64_t dim);

}  // namespace htfm
