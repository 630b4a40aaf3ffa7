// T_t = t V with V/2 an exponentially tempered rho-stable variable, rho = alpha/2: E exp(-s V/2) = exp(-((theta +
// s)^rho - theta^rho) / 2). theta -> 0 gives the stable source. The area of a tempered subordinator's path is no such
// variable, and no constant of a grid makes it one; a random slope gives the law exactly.
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/clock/slope_clock.h"

namespace htfm {

namespace {

class TemperedStable final : public SlopeClock {
 public:
  explicit TemperedStable(ClockSpec spec)
      : SlopeClock(std::move(spec)), rho_(parameter("alpha") / 2), theta_(parameter("tempering")) {
    // A sum of independent parts, each accepted with probability exp(-theta^rho / (2 parts)) >= exp(-1/2) (Hofert
    // 2011).
    const double strength = std::pow(theta_, rho_);
    if (!(strength <= kLargest))
      throw InputError(
          "[clock.tempering] expected tempering^(alpha/2) of at most {}, above which the clock is almost "
          "deterministic, got {}",
          kLargest, theta_);
    parts_ = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(strength)));
    part_scale_ = std::pow(0.5 / static_cast<double>(parts_), 1 / rho_);
    if (!std::isnormal(part_scale_))
      throw InputError("[clock.alpha] expected an alpha whose parts fit into a double, got {}", parameter("alpha"));
  }
  double tail_exponent() const override { return std::numeric_limits<double>::infinity(); }

 protected:
  void fill_slopes(Key key, int64_t first, int64_t n, double* slope) const override {
    const int64_t block = std::max<int64_t>(1, kBlock / parts_);
    std::vector<double> part(static_cast<size_t>(std::min(n, block) * parts_));
    for (int64_t done = 0; done < n; done += block) {
      const int64_t clocks = std::min(block, n - done);
      fill_parts(key, static_cast<uint64_t>((first + done) * parts_), clocks * parts_, part.data());
      for (int64_t i = 0; i < clocks; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < parts_; ++k) sum += part[static_cast<size_t>(i * parts_ + k)];
        slope[done + i] = 2 * sum;
      }
    }
  }

 private:
  // A part is its first attempt S whose uniform number lies below exp(-theta S). Attempt a of all parts is a stream of
  // its own, so that a part does not depend on its neighbours' rejections; a group is drawn at once, until all its
  // parts are settled.
  void fill_parts(Key key, uint64_t first, int64_t n, double* part) const {
    const Key draws = key.child("draw"), lots = key.child("accept");
    double s[kGroup], u[kGroup];
    for (int64_t begin = 0; begin < n; begin += kGroup) {
      const int64_t m = std::min(kGroup, n - begin);
      const auto index = first + static_cast<uint64_t>(begin);
      bool settled[kGroup] = {};
      int64_t open = m;
      for (uint64_t attempt = 0; open > 0; ++attempt) {
        fill_positive_stable(draws.child(attempt), rho_, part_scale_, index, m, s);
        fill_uniform(lots.child(attempt), index, m, u);
        for (int64_t k = 0; k < m; ++k) {
          if (settled[k] || !(std::log(u[k]) <= -theta_ * s[k])) continue;
          part[begin + k] = s[k];
          settled[k] = true;
          --open;
        }
      }
    }
  }

  static constexpr double kLargest = 1000;
  static constexpr int64_t kBlock = 4096, kGroup = 64;
  double rho_, theta_, part_scale_ = 0;
  int64_t parts_ = 1;
};

}  // namespace

ClockFamily tempered_stable_family() {
  return {"tempered-stable",
          "T_t = t V, V exponentially tempered alpha/2-stable; stable source with its far tail cut",
          {{"alpha", 0, 2, "stability index"},
           {"tempering", 0, std::numeric_limits<double>::infinity(), "rate theta of the tempering"}},
          [](ClockSpec spec) { return std::make_unique<TemperedStable>(std::move(spec)); }};
}

}  // namespace htfm
