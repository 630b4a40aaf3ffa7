// Clock preconditioning: the velocity is c_skip x + c_out F(c_in x, t, feature), so that for every clock the network F
// sees inputs and targets of order one.
#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/schedule/schedule.h"

namespace htfm HTFM_PUBLIC {

/// The data scale s_d as a function of the clock: constant, or log s_d piecewise linear in log s_0, continued with its
/// outermost slopes.
class DataScale {
 public:
  explicit DataScale(double constant = 1) : log_scale_{std::log(constant)}, first_(std::exp(log_scale_[0])) {}
  /// Knots ascend in log s_0; one knot is a constant.
  DataScale(std::vector<double> log_source, std::vector<double> log_scale);
  /// s_d for a clock with this area.
  double at(double area) const;
  const std::vector<double>& log_source() const { return log_source_; }
  const std::vector<double>& log_scale() const { return log_scale_; }
  /// The scale of a clock in the middle.
  double typical() const { return std::exp(log_scale_[log_scale_.size() / 2]); }
  /// "1.3", or "0.4 to 812 (9 knots)": one line for logs.
  std::string describe() const;

 private:
  std::vector<double> log_source_, log_scale_;
  double first_;  // exp of the first
};

/// A robust scale of a data set (n x dim float32): median distance from the coordinate-wise median, over that of a
/// standard normal vector.
double robust_scale(const at::Tensor& rows);

/// Levels of the area at which the knots of a data scale stand.
std::span<const double> scale_levels();

/// The data scale from paired areas and distances of the data from their centre: at quantiles of the area the median
/// distance over that of a standard normal vector of dimension dim. `tail_slope`: of log s_d in log s_0 beyond the last
/// knot; 0: that of the last piece.
DataScale fit_data_scale(std::span<const double> area, std::span<const double> distance, int64_t dim,
                         double tail_slope = 0);

}  // namespace htfm
