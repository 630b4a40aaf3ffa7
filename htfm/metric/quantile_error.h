// How far the quantiles of models lie from those of held-out rows: of each column's distance from its median, and of
// the radius.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/base/random.h"

namespace htfm HTFM_PUBLIC {

/// Held-out rows as a yardstick. A view is one number of a row: |x - median| of a column that varies, or, last, the
/// radius of all columns in units of their quantile ranges.
class QuantileYardstick {
 public:
  static constexpr int64_t kRounds = 400;  ///< of a bootstrap
  /// `real`: n x d float64, finite, at least two rows.
  QuantileYardstick(const at::Tensor& real, std::vector<double> levels);

  int64_t views() const { return static_cast<int64_t>(columns_.size()) + 1; }
  const std::vector<double>& levels() const { return levels_; }
  /// The column of a view, from 0; -1 for the radius.
  int64_t column(int64_t view) const { return view + 1 < views() ? columns_[view] : -1; }
  /// Ascending values of a view of other rows (or of the held-out ones); rows that are not finite are left out.
  std::vector<double> values(const at::Tensor& rows, int64_t view) const;

  /// Quantiles of rows, views x levels.
  std::vector<double> quantiles(const at::Tensor& rows) const;
  /// Those of the held-out rows.
  const std::vector<double>& real() const { return real_; }

  /// |log(model / real)| where both are positive, NaN where one is not: views x levels.
  std::vector<double> errors(const std::vector<double>& model) const { return errors(model, real_); }

  struct Score {
    double error = 0, standard_error = 0;  ///< mean over views and levels, and its bootstrap deviation
    double lower = 0, upper = 0;           ///< 95 % interval of the error of the first model minus this one's
    double difference = 0;                 ///< its value
    bool differs() const { return lower > 0 || upper < 0; }
  };
  /// Scores of models given by their quantiles, with intervals by drawing the held-out rows anew `rounds` times; all
  /// models meet the same draws.
  std::vector<Score> compare(const std::vector<std::vector<double>>& models, Key key, int64_t rounds = kRounds) const;

 private:
  std::vector<double> errors(const std::vector<double>& model, const std::vector<double>& real) const;
  std::vector<double> view_values(const at::Tensor& rows, int64_t view) const;
  std::vector<double> levels_, centre_, scale_;  // by column of the table
  std::vector<int64_t> columns_;
  std::vector<std::vector<double>> sorted_;  // of each view
  std::vector<std::vector<int64_t>> order_;  // rows in that order
  std::vector<double> real_;
};

/// Mean of the numbers that are finite; NaN where none is.
double finite_mean(std::span<const double> values);

}  // namespace htfm
