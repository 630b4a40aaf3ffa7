// Polynomials in the time t of a path: what coefficient curves are made of, and where they are positive.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// c_0 + c_1 t + c_2 t^2 + ...
class TimePolynomial {
 public:
  TimePolynomial() = default;
  explicit TimePolynomial(std::vector<double> coefficients) : c_(std::move(coefficients)) {}
  double operator()(double t) const {
    double v = 0;
    for (size_t k = c_.size(); k-- > 0;) v = v * t + c_[k];
    return v;
  }
  double derivative(double t) const {
    double v = 0;
    for (size_t k = c_.size(); k-- > 1;) v = v * t + static_cast<double>(k) * c_[k];
    return v;
  }
  TimePolynomial derivative() const;
  const std::vector<double>& coefficients() const { return c_; }
  friend TimePolynomial operator+(const TimePolynomial& a, const TimePolynomial& b);
  friend TimePolynomial operator*(const TimePolynomial& a, const TimePolynomial& b);
  friend TimePolynomial operator*(double factor, const TimePolynomial& p);

 private:
  std::vector<double> c_;
};

/// Ends of [0,1] at which a polynomial may vanish.
struct MayVanish {
  bool at_0 = false, at_1 = false;
};
/// A time in [0,1] at which p is not positive; none where it is, which is proved by Bernstein's coefficients of smaller
/// and smaller parts.
std::optional<double> not_positive(const TimePolynomial& p, MayVanish ends);

/// A coefficient curve on the coordinates of a signature: for some words of the letters t (time) and c (clock) a
/// polynomial in t.
struct CoefficientCurve {
  std::vector<std::string> words;  ///< "" is the empty word, whose coordinate is 1
  std::vector<TimePolynomial> curves;
};
/// From "1: 0 1; ct: 0 0.25 -0.25": words, each with its coefficients from the constant up; 1 is the empty word.
/// InputError names the key.
CoefficientCurve parse_curve(const std::string& key, const std::string& text);
/// From "0 1": coefficients from the constant up.
TimePolynomial parse_polynomial(const std::string& key, const std::string& text);

}  // namespace htfm
