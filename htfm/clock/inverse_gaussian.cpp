// T_t = t V with V inverse Gaussian of mean 1 and the given shape: the normal inverse Gaussian source.
#include <cmath>
#include <limits>

#include "htfm/clock/slope_clock.h"

namespace htfm {

namespace {

class InverseGaussian final : public SlopeClock {
 public:
  using SlopeClock::SlopeClock;
  double tail_exponent() const override { return std::numeric_limits<double>::infinity(); }

 protected:
  std::function<double(double)> log_density() const override {
    return [a = parameter("shape")](double l) { return -l / 2 - a * std::cosh(l); };
  }
  // Michael, Schucany and Haas (1976): (V - 1)^2 shape / V is chi-squared; its two roots x and 1/x are taken with odds
  // 1 : x. The smaller one is written so that it loses no digits.
  void fill_slopes(Key key, int64_t first, int64_t n, double* slope) const override {
    std::vector<double> z(static_cast<size_t>(n)), u(static_cast<size_t>(n));
    fill_normal(key.child("normal"), static_cast<uint64_t>(first), n, z.data());
    fill_uniform(key.child("root"), static_cast<uint64_t>(first), n, u.data());
    const double shape = parameter("shape");
    for (size_t i = 0; i < z.size(); ++i) {
      const double w = z[i] * z[i] / (2 * shape), x = 1 / (1 + w + std::sqrt(w * (2 + w)));
      slope[i] = u[i] * (1 + x) <= 1 ? x : 1 / x;
    }
  }
};

}  // namespace

ClockFamily inverse_gaussian_family() {
  return {"inverse-gaussian",
          "T_t = t V, V inverse Gaussian of mean 1; normal inverse Gaussian source",
          {{"shape", 0, std::numeric_limits<double>::infinity(), "shape of the mixing distribution"}},
          [](ClockSpec spec) { return std::make_unique<InverseGaussian>(std::move(spec)); }};
}

}  // namespace htfm
