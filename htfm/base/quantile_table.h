// A positive law by its quantile function: linear in the logarithm between knots, a Pareto tail beyond the last one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "htfm/base/error.h"

namespace htfm {

class QuantileTable {
 public:
  QuantileTable() = default;
  /// survival[i] = P(V > exp(log_value[i])): from 1 down to 0, or to the share of the tail, P(V > v) ~ v^-exponent;
  /// exponent 0: no tail.
  QuantileTable(std::vector<double> survival, std::vector<double> log_value, double exponent)
      : survival_(std::move(survival)), log_value_(std::move(log_value)), exponent_(exponent) {
    check();
  }
  /// Out of the numbers that numbers() gives.
  explicit QuantileTable(std::span<const double> numbers) {
    if (numbers.size() < 5 || numbers.size() % 2 == 0)
      throw InputError("[quantile table] expected an exponent and at least two knots, got {} numbers", numbers.size());
    exponent_ = numbers[0];
    for (size_t i = 1; i < numbers.size(); i += 2)
      survival_.push_back(numbers[i]), log_value_.push_back(numbers[i + 1]);
    check();
  }

  std::span<const double> survival() const { return survival_; }
  std::span<const double> log_value() const { return log_value_; }
  double exponent() const { return exponent_; }

  /// log of the value that is exceeded with probability q in (0, 1).
  double log_upper_quantile(double q) const {
    if (q <= survival_.back())
      return log_value_.back() + (exponent_ > 0 ? std::log(survival_.back() / q) / exponent_ : 0);
    // The first knot that is exceeded with probability at most q.
    const auto at = static_cast<size_t>(std::lower_bound(survival_.begin(), survival_.end(), q, std::greater<>()) -
                                        survival_.begin());
    if (at == 0) return log_value_[0];
    return std::lerp(log_value_[at - 1], log_value_[at], (survival_[at - 1] - q) / (survival_[at - 1] - survival_[at]));
  }

  /// Exponent, then survival and log value of each knot: for files.
  std::vector<double> numbers() const {
    std::vector<double> out{exponent_};
    for (size_t i = 0; i < survival_.size(); ++i) out.push_back(survival_[i]), out.push_back(log_value_[i]);
    return out;
  }

 private:
  void check() const {
    bool good = survival_.size() == log_value_.size() && survival_.size() >= 2 && survival_.front() == 1 &&
                std::isfinite(exponent_) &&
                (exponent_ > 0 ? survival_.back() > 0 : exponent_ == 0 && survival_.back() == 0) &&
                std::isfinite(log_value_[0]);
    for (size_t i = 1; good && i < survival_.size(); ++i)
      good = survival_[i] < survival_[i - 1] && log_value_[i] >= log_value_[i - 1] && std::isfinite(log_value_[i]);
    if (!good)
      throw InputError(
          "[quantile table] expected knots whose survival falls from 1 to 0 or to a tail and whose values rise; got "
          "others");
  }

  std::vector<double> survival_, log_value_;
  double exponent_ = 0;
};

}  // namespace htfm
