// T_t = t: the Gaussian source of ordinary flow matching (HTFM-G).
#include <algorithm>
#include <limits>

#include "htfm/clock/clock.h"
#include "htfm/clock/when_drawn.h"

namespace htfm {

namespace {

class Deterministic final : public Clock {
 public:
  using Clock::Clock;
  NaturalFeature natural_feature() const override { return NaturalFeature::none; }
  double tail_exponent() const override { return std::numeric_limits<double>::infinity(); }
  ClockScores scores() const override { return {.count = 0}; }

 protected:
  DeviceClockLaw device_law() const override { return {DeviceClockLaw::Kind::deterministic, grid()}; }
  void fill_of_scores(int64_t n, const double*, double* area, double* end, double* paths) const override {
    fill(Key(0), 0, n, area, end, paths);
  }
  void fill(Key, int64_t, int64_t n, double* area, double* end, double* paths) const override {
    std::fill(area, area + n, 0.5);
    std::fill(end, end + n, 1.0);
    if (!paths) return;
    const std::vector<double>& times = times_([&] { return grid_times(); });
    for (int64_t i = 0; i < n; ++i) std::copy(times.begin(), times.end(), paths + i * (grid() + 1));
  }

 private:
  WhenDrawn times_;
};

}  // namespace

ClockFamily deterministic_family() {
  return {"deterministic", "T_t = t; Gaussian source (HTFM-G)", {}, [](ClockSpec spec) {
            return std::make_unique<Deterministic>(std::move(spec));
          }};
}

}  // namespace htfm
