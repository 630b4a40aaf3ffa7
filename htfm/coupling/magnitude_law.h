// The law of the size of the data: ranks in the whole data set, and beyond a threshold a Pareto tail.
#pragma once

#include <memory>

#include "htfm/base/api.h"
#include "htfm/base/random.h"
#include "htfm/coupling/size.h"
#include "htfm/stat/estimators.h"

namespace htfm HTFM_PUBLIC {

/// Rows of a data set as one training step takes them.
struct DataBatch {
  at::Tensor rows;                 ///< n x dim, float32
  std::span<const int64_t> index;  ///< their places in the data set
  int64_t position = 0;            ///< rows that earlier steps took
};

/// The upper tail of the sizes as a generalised Pareto law, joined to the ranks below it.
struct SizeTail {
  double from = 1;  ///< level above which the law holds; 1: nowhere
  GpdFit fit;
  std::string explanation;
};

/// The sizes of all rows of a data set, ordered.
class MagnitudeLaw {
 public:
  MagnitudeLaw(std::shared_ptr<const SizeStatistic> size, const at::Tensor& rows);
  const SizeStatistic& size() const { return *size_; }
  std::span<const double> sorted() const { return sorted_; }
  const at::Tensor& centre() const { return centre_; }  ///< the coordinate-wise median
  /// For each row a level u in (0,1), uniform over the share of the data that its rank stands for: over all rows u is
  /// uniform, and the size is its u-quantile. Ties share their ranks.
  std::vector<double> levels(Key key, const DataBatch& batch) const;

  /// The size at level u: between ranks linear, in a fitted tail by its law.
  double quantile(double u) const;

  /// The size that a share p of the data exceeds.
  double upper_quantile(double p) const { return p < 1 - tail_.from ? tail_.fit.quantile(p) : quantile(1 - p); }

  /// Fits the tail where a threshold is found: with the index `expected` (that of the source) unless the data reject
  /// it, or with their own.
  void fit_tail(double expected);
  const SizeTail& tail() const { return tail_; }
  /// Rows in the tail stretched from the centre to the size that the tail law has at their level: the tail is smooth,
  /// and goes on beyond the largest row.
  at::Tensor stretch(const DataBatch& batch, const std::vector<double>& level) const;

 private:
  std::shared_ptr<const SizeStatistic> size_;
  std::vector<double> sorted_;
  at::Tensor centre_;
  SizeTail tail_;
};

}  // namespace htfm
