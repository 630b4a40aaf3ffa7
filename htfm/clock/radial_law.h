// The law of |x| for x = sqrt(V) z, z standard normal in some dimension and V the square of a random size: what rows of
// one cluster look like from its centre.
#pragma once

#include <cstdint>
#include <vector>

namespace htfm {

/// student: V = nu / (2 G), G gamma of shape nu/2, the Student-t law; stable: V = 2 S, S positive alpha/2-stable, the
/// isotropic alpha-stable law. Both have the tail P(|x| > r) ~ r^-index.
enum class RadialFamily { student, stable };

/// In tables of the logarithm of the radius, with the power law of the tail beyond them.
class RadialLaw {
 public:
  /// `index`: nu > 0, or alpha in (0, 2).
  RadialLaw(RadialFamily family, double index, int64_t dim);
  RadialFamily family() const { return family_; }
  double index() const { return index_; }

  /// Logarithm of the density of x (not of |x|) where |x| = r.
  double log_density(double r) const { return at(log_density_, r, -(index_ + dim_)); }
  /// E[1/V | |x| = r]: what a row weighs in an estimate of centre and scatter.
  double weight(double r) const;
  /// Logarithm of P(|x| > r).
  double log_survival(double r) const { return at(log_survival_, r, -index_); }

 private:
  double at(const std::vector<double>& table, double r, double slope) const;
  void fill_student();
  void fill_stable();

  RadialFamily family_;
  double index_, dim_;
  std::vector<double> log_density_, log_weight_, log_survival_;
};

}  // namespace htfm
