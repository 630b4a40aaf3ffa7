// T_t = t V with V ~ Gamma(shape, rate shape), of mean 1: the variance gamma source.
#include <cmath>
#include <limits>

#include "htfm/clock/slope_clock.h"

namespace htfm {

namespace {

class Gamma final : public SlopeClock {
 public:
  using SlopeClock::SlopeClock;
  double tail_exponent() const override { return std::numeric_limits<double>::infinity(); }

 protected:
  std::function<double(double)> log_density() const override {
    return [a = parameter("shape")](double l) { return a * (l - std::exp(l)); };
  }
  void fill_slopes(Key key, int64_t first, int64_t n, double* slope) const override {
    const double shape = parameter("shape"), log_shape = std::log(shape);
    fill_log_gamma_draw(key, shape, static_cast<uint64_t>(first), n, slope);
    for (int64_t i = 0; i < n; ++i) slope[i] = std::exp(slope[i] - log_shape);
  }
};

}  // namespace

ClockFamily gamma_family() {
  return {"gamma",
          "T_t = t V, V gamma of mean 1; variance gamma source",
          {{"shape", 0, std::numeric_limits<double>::infinity(), "shape of the mixing distribution"}},
          [](ClockSpec spec) { return std::make_unique<Gamma>(std::move(spec)); }};
}

}  // namespace htfm
