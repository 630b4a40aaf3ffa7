// A positive law by its density, as a function of a standard normal score: the quantile function that clocks of other
// scores are drawn by.
#pragma once

#include <functional>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// log V as a rising function of a score c, so that V has its law where c is standard normal. Between some thousand
/// knots, whose probabilities are integrals of the density from the nearer end, it is cubic with the true slopes:
/// relative errors of tail probabilities stay below 1e-8 out to scores of 13.
class ScoreTable {
 public:
  /// `log_density`: of log V, up to a constant, concave.
  explicit ScoreTable(const std::function<double(double)>& log_density);
  /// The positive stable law, E exp(-s V) = exp(-s^rho), 0 < rho < 1.
  static ScoreTable positive_stable(double rho);
  double log_value(double score) const;

 private:
  ScoreTable() = default;
  // A knot where the law has these probabilities below and above, and this density of log V; scores must rise.
  void add(double value, double below, double above, double density);

  std::vector<double> score_, value_, slope_;  // slope: d value / d score
};

}  // namespace htfm
