// T_t = t V with V = X / E X, X generalised inverse Gaussian with density x^(order - 1) exp(-concentration (x + 1/x) /
// 2): the symmetric generalised hyperbolic source. order -1/2 is the inverse Gaussian clock; concentration -> 0 with a
// positive order the gamma clock.
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/clock/slope_clock.h"

namespace htfm {

namespace {

// E X = K_(p+1)(w) / K_p(w), where K_-p = K_p: by the recurrence from an order in (-1,1), where nothing over- or
// underflows.
double mean_of(double p, double w) {
  if (p <= -1) return 1 / mean_of(-p - 1, w);
  const double order = p < 0 ? p : p - std::floor(p);
  double ratio = w > 600 ? 1 + (order + 0.5) / w + (order * order - 0.25) / (2 * w * w)
                         : std::cyl_bessel_k(order + 1, w) / std::cyl_bessel_k(std::abs(order), w);
  for (double k = order + 1; k < p + 0.5; ++k) ratio = 2 * k / w + 1 / ratio;
  return ratio;
}

// Devroye (2014): log X less its mode has the log-concave density exp(psi), psi(x) = -a (cosh x - 1) - p (e^x - x - 1)
// for p >= 0; a flat middle and two exponential tails cover it, at the most 2.7 attempts a draw for any parameters.
class LogGig {
 public:
  LogGig(double p, double w) : p_(p), a_(w * w / (std::hypot(w, p) + p)), mode_(std::asinh(p / w)) {
    const double right = -psi(1), left = -psi(-1);
    const double t = right > 2 ? std::sqrt(2 / (a_ + p_)) : right < 0.5 ? std::log(4 / (a_ + 2 * p_)) : 1;
    const double s = left > 2     ? std::sqrt(4 / (a_ * std::cosh(1.0) + p_))
                     : left < 0.5 ? std::min(1 / p_, std::log1p(1 / a_ + std::sqrt(1 / (a_ * a_) + 2 / a_)))
                                  : 1;
    right_at_ = t, right_psi_ = psi(t), right_slope_ = -slope(t);
    left_at_ = -s, left_psi_ = psi(-s), left_slope_ = slope(-s);
    begin_ = left_at_ - left_psi_ / left_slope_;  // where the tangents meet 0
    end_ = right_at_ + right_psi_ / right_slope_;
  }

  /// The draw of an index; attempt k takes its three uniform numbers from the k-th child of the key.
  double draw(Key key, uint64_t index) const {
    const double middle = end_ - begin_, right = 1 / right_slope_, left = 1 / left_slope_;
    for (uint64_t attempt = 0;; ++attempt) {
      const Key own = key.child(attempt);
      const double which = own.uniform(3 * index) * (middle + right + left), v = own.uniform(3 * index + 1);
      double x, log_hat = 0;
      if (which < middle) {
        x = begin_ + middle * v;
      } else if (which < middle + right) {
        x = end_ - right * std::log(v);
        log_hat = right_psi_ - right_slope_ * (x - right_at_);
      } else {
        x = begin_ + left * std::log(v);
        log_hat = left_psi_ + left_slope_ * (x - left_at_);
      }
      if (std::log(own.uniform(3 * index + 2)) + log_hat <= psi(x)) return mode_ + x;
    }
  }

 private:
  double psi(double x) const {
    const double half = std::sinh(x / 2);
    return -2 * a_ * half * half - p_ * (std::expm1(x) - x);
  }
  double slope(double x) const { return -a_ * std::sinh(x) - p_ * std::expm1(x); }

  double p_, a_, mode_;
  double right_at_, right_psi_, right_slope_, left_at_, left_psi_, left_slope_, begin_, end_;
};

class GeneralisedInverseGaussian final : public SlopeClock {
 public:
  explicit GeneralisedInverseGaussian(ClockSpec spec)
      : SlopeClock(std::move(spec)), order_(parameter("order")), law_(std::abs(order_), parameter("concentration")) {
    const double w = parameter("concentration");
    log_mean_ = std::log(mean_of(order_, w));
    if (!std::isfinite(log_mean_))
      throw InputError("[clock.concentration] expected one for which the mean of order {} fits into a double, got {}",
                       order_, w);
  }
  double tail_exponent() const override { return std::numeric_limits<double>::infinity(); }

 protected:
  std::function<double(double)> log_density() const override {
    return [p = order_, w = parameter("concentration"), mean = log_mean_](double l) {
      return p * l - w * std::cosh(l + mean);
    };
  }
  void fill_slopes(Key key, int64_t first, int64_t n, double* slope) const override {
    // X of a negative order is 1/X of the positive one.
    const double sign = order_ < 0 ? -1 : 1;
    for (int64_t i = 0; i < n; ++i)
      slope[i] = std::exp(sign * law_.draw(key, static_cast<uint64_t>(first + i)) - log_mean_);
  }

 private:
  double order_, log_mean_ = 0;
  LogGig law_;
};

}  // namespace

ClockFamily generalised_inverse_gaussian_family() {
  return {"generalised-inverse-gaussian",
          "T_t = t V, V generalised inverse Gaussian of mean 1; generalised hyperbolic source",
          {{"order", -100, 100, "order p of the mixing distribution"},
           {"concentration", 0, std::numeric_limits<double>::infinity(), "concentration of the mixing distribution"}},
          [](ClockSpec spec) { return std::make_unique<GeneralisedInverseGaussian>(std::move(spec)); }};
}

}  // namespace htfm
