// T_t = t V with V ~ InvGamma(nu/2, nu/2): the Student-t source with nu degrees of freedom (HTFM-t).
#include <cmath>
#include <limits>

#include "htfm/clock/clock.h"

namespace htfm {

namespace {

class InverseGamma final : public Clock {
 public:
  explicit InverseGamma(ClockSpec spec) : Clock(std::move(spec)), times_(grid_times()) {}
  NaturalFeature natural_feature() const override { return NaturalFeature::log_slope; }
  double tail_exponent() const override { return parameter("nu"); }
  double student_degrees() const override { return parameter("nu"); }

 protected:
  DeviceClockLaw device_law() const override { return {DeviceClockLaw::Kind::inverse_gamma, grid(), parameter("nu") / 2}; }
  void fill(Key key, int64_t first, int64_t n, double* area, double* end, double* paths) const override {
    const double half = parameter("nu") / 2, log_half = std::log(half);
    fill_log_gamma_draw(key, half, static_cast<uint64_t>(first), n, end);
    for (int64_t i = 0; i < n; ++i) {
      end[i] = std::exp(log_half - end[i]);
      area[i] = end[i] / 2;
      for (int64_t j = 0; paths && j <= grid(); ++j) paths[i * (grid() + 1) + j] = end[i] * times_[static_cast<size_t>(j)];
    }
  }

 private:
  std::vector<double> times_;
};

}  // namespace

ClockFamily inverse_gamma_family() {
  return {"inverse-gamma",
          "T_t = t V, V inverse gamma; Student-t source (HTFM-t)",
          {{"nu", 0, std::numeric_limits<double>::infinity(), "degrees of freedom"}},
          [](ClockSpec spec) { return std::make_unique<InverseGamma>(std::move(spec)); }};
}

}  // namespace htfm
