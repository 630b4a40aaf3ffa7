// T_t = t V with V ~ InvGamma(nu/2, nu/2): the Student-t source with nu degrees of freedom (HTFM-t).
#include <cmath>
#include <limits>

#include "htfm/clock/slope_clock.h"

namespace htfm {

namespace {

class InverseGamma final : public SlopeClock {
 public:
  using SlopeClock::SlopeClock;
  double tail_exponent() const override { return parameter("nu"); }
  double student_degrees() const override { return spec().scale == 1 ? parameter("nu") : 0; }

 protected:
  DeviceClockLaw device_law() const override {
    return {DeviceClockLaw::Kind::inverse_gamma, grid(), parameter("nu") / 2};
  }
  std::function<double(double)> log_density() const override {
    return [a = parameter("nu") / 2](double l) { return -a * (l + std::exp(-l)); };
  }
  void fill_slopes(Key key, int64_t first, int64_t n, double* slope) const override {
    const double half = parameter("nu") / 2, log_half = std::log(half);
    fill_log_gamma_draw(key, half, static_cast<uint64_t>(first), n, slope);
    for (int64_t i = 0; i < n; ++i) slope[i] = std::exp(log_half - slope[i]);
  }
};

}  // namespace

ClockFamily inverse_gamma_family() {
  return {"inverse-gamma",
          "T_t = t V, V inverse gamma; Student-t source (HTFM-t)",
          {{"nu", 0, std::numeric_limits<double>::infinity(), "degrees of freedom"}},
          [](ClockSpec spec) { return std::make_unique<InverseGamma>(std::move(spec)); }};
}

}  // namespace htfm
