// T_t = drift t + jumps that arrive at a rate, with sizes J = c (U^(-1/c) - 1), c = jump_tail: P(J > x) = (1 + x/c)^-c,
// Pareto with index c, and exponential of mean 1 as c grows. Given the path the source is Gaussian, so its tail
// exponent is 2 c.
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/clock/clock.h"
#include "htfm/clock/when_drawn.h"

namespace htfm {

namespace {

class CompoundPoisson final : public Clock {
 public:
  explicit CompoundPoisson(ClockSpec spec)
      : Clock(std::move(spec)), drift_(parameter("drift")), rate_(parameter("rate")), tail_(parameter("jump_tail")) {
    if (rate_ > 1e5) throw InputError("[clock.rate] expected at most 1e5 jumps a path on average, got {}", rate_);
  }
  NaturalFeature natural_feature() const override { return NaturalFeature::path; }
  double tail_exponent() const override { return 2 * tail_; }

 protected:
  // Jump k of a clock takes elements 2k (waiting time) and 2k + 1 (size) of the clock's own stream. The area is that of
  // the path with its jumps where they are, drift / 2 + sum (1 - time) size: the grid only decides what is shown of the
  // path.
  void fill(Key key, int64_t first, int64_t n, double* area, double* end, double* paths) const override {
    const std::vector<double> none, &times = paths ? times_([&] { return grid_times(); }) : none;
    for (int64_t i = 0; i < n; ++i) {
      const Key own = key.child(static_cast<uint64_t>(first + i));
      double* path = paths ? paths + i * (grid() + 1) : nullptr;
      double jumps = 0, weighted = 0, time = 0;
      size_t shown = 0;  // grid points that lie before the next jump
      for (uint64_t k = 0;; k += 2) {
        time -= std::log(own.uniform(k)) / rate_;
        for (; path && shown < times.size() && (time > 1 || times[shown] < time); ++shown)
          path[shown] = drift_ * times[shown] + jumps;
        if (time > 1) break;
        const double size = tail_ * std::expm1(-std::log(own.uniform(k + 1)) / tail_);
        jumps += size;
        weighted += (1 - time) * size;
      }
      area[i] = drift_ / 2 + weighted;
      end[i] = drift_ + jumps;
    }
  }

 private:
  double drift_, rate_, tail_;
  WhenDrawn times_;
};

}  // namespace

ClockFamily compound_poisson_family() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  return {"compound-poisson",
          "a drift and Pareto jumps at random times; Gaussian source with rare large scales",
          {{"drift", 0, inf, "slope of the path between jumps"},
           {"rate", 0, inf, "mean number of jumps"},
           {"jump_tail", 0, inf, "tail index of the jumps; the source's is twice that"}},
          [](ClockSpec spec) { return std::make_unique<CompoundPoisson>(std::move(spec)); }};
}

}  // namespace htfm
