// How centre and scale of a column go with the numbers that are given: taken out before its law is fitted, so that all
// rows speak for the tail, and put back into samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/condition/condition_table.h"

namespace htfm HTFM_PUBLIC {

class ConditionTrend {
 public:
  ConditionTrend() = default;  ///< none
  /// Of the rows of one group: x, and their conditions (rows x columns). Number after number, by medians at knots of
  /// some hundred rows each. `bound`: the scale is that of the distance from it, and the centre stays.
  static ConditionTrend fit(std::vector<double> x, const ConditionTable& given, std::optional<double> bound);

  bool there() const { return !stages_.empty(); }
  /// x without the trend at these conditions, in the same units; and back. Both grow with x.
  double remove(double x, const double* given) const;
  double restore(double x, const double* given) const;

  /// Columns of conditions that it looks at, up to the last.
  int64_t width() const;

  std::vector<double> numbers() const;
  static ConditionTrend from_numbers(std::span<const double> numbers);

 private:
  // Of one number: x -> middle + (x - centre(c)) exp(-log_scale(c)), both linear between knots.
  struct Stage {
    int64_t column = 0;
    double middle = 0, least = 0, most = 0;  // beyond these numbers it stays as it is there
    std::vector<double> knot = {}, centre = {}, log_scale = {};
  };
  struct At {
    double centre, log_scale;
  };
  static At at(const Stage& stage, const double* given);
  static double remove(const Stage& stage, double x, const double* given);
  std::vector<Stage> stages_;
};

}  // namespace htfm
