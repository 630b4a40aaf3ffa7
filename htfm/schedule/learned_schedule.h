// The near-linear schedules with coefficient curves that train with the network. The curves are polynomials in
// Bernstein's form, and their coefficients are bounded, so that alpha rises and beta falls for every clock whatever the
// parameters are.
#pragma once

#include <array>

#include "htfm/base/api.h"
#include "htfm/schedule/schedule.h"
#include "htfm/schedule/time_polynomial.h"

namespace htfm HTFM_PUBLIC {

/// alpha = t + sum_k d_k B_k(t), beta = 1 - t + sum_k e_k B_k(t) (time-warp: e = -d), with Bernstein's polynomials B_1
/// .. B_{N-1} of degree N: the near-linear form with lambda_t = t and a(t) = sum_k d_k B_k(t) / (t (1-t)). d_k is
/// linear in the signature: d_k = sum_w v_kw zeta_w, zeta_w in [-1,1] being a coordinate of the normalised clock from
/// its least to its largest value (the clock-shape score R for ct), and v_k = 0.95 / (2N) theta_k / sqrt(1 + W
/// |theta_k|^2). So |d_k| < 0.95 / (2N), alpha' and -beta' > 0.05.
class LearnedSchedule final : public Schedule {
 public:
  /// `warp`: one curve for both. The parameters start at 0, which is the straight line. InputError names the key that
  /// is wrong.
  LearnedSchedule(const ScheduleSpec& spec, bool warp);

  Coefficients at(double t, std::span<const double> coordinates) const override;
  double time_of(double ratio, std::span<const double> coordinates) const override;
  const std::vector<std::string>& words() const override { return words_; }
  LearnedSchedule* learned() override { return this; }

  /// Of the parameters theta: curves x (N-1) x words, the empty one among them.
  std::array<int64_t, 3> shape() const { return {curves_, degree_ - 1, words_in_all()}; }
  int64_t size() const { return curves_ * (degree_ - 1) * words_in_all(); }
  void set(std::span<const double> theta);

  /// Adds to sums[size()] weight times the gradient, in the coefficients v, of log d(alpha/beta)/dt at the time where
  /// this clock's path has the ratio alpha/beta that it now has at t. A larger value: fewer times are spent near this
  /// ratio.
  void add_speed_gradient(double weight, double t, std::span<const double> coordinates, std::span<double> sums) const;
  /// Such a sum as a gradient in the parameters.
  std::vector<double> in_parameters(std::span<const double> sums) const;

  /// Curve 0 (a, or c) or 1 (b) as path.a is written, with path.lambda = "0 1".
  std::string text(int64_t curve) const;
  int64_t curves() const { return curves_; }

 private:
  int64_t words_in_all() const { return static_cast<int64_t>(zeta_scale_.size()); }
  // A(t) with alpha = t + t (1-t) A, its coefficients from the constant up.
  void curve_of(int64_t curve, std::span<const double> coordinates, double* coefficients) const;
  double zeta(int64_t word, std::span<const double> coordinates) const;

  int64_t degree_, curves_;
  std::vector<std::string> words_, names_;  // without and with the empty word
  std::vector<int64_t> coordinate_;         // of coordinates; -1 for the empty word
  std::vector<double> zeta_scale_;          // zeta = scale coordinates - 1
  std::vector<TimePolynomial> basis_;       // B_k(t) / (t (1-t))
  std::vector<double> theta_, v_;
};

}  // namespace htfm
