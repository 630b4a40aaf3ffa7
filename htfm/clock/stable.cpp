// The rho-stable subordinator, rho = alpha/2, with E exp(-s T_t) = exp(-(rho+1) t s^rho / 2): the isotropic
// alpha-stable source (HTFM-alpha).
#include <algorithm>
#include <cmath>
#include <mutex>

#include "htfm/base/error.h"
#include "htfm/clock/clock.h"
#include "htfm/clock/score_table.h"
#include "htfm/clock/when_drawn.h"

namespace htfm {

namespace {

class Stable final : public Clock {
 public:
  explicit Stable(ClockSpec spec) : Clock(std::move(spec)), rho_(parameter("alpha") / 2) {
    increment_scale_ = std::pow((rho_ + 1) * (1.0 / grid()) / 2, 1 / rho_);
    if (!std::isnormal(increment_scale_))
      throw InputError("[clock.alpha] expected an alpha whose increments on a grid of {} fit into a double, got {}",
                       grid(), parameter("alpha"));
  }
  NaturalFeature natural_feature() const override { return NaturalFeature::path; }
  double tail_exponent() const override { return parameter("alpha"); }
  /// One for each step.
  ClockScores scores() const override { return {.count = grid(), .levels = grid()}; }

 protected:
  DeviceClockLaw device_law() const override {
    return {DeviceClockLaw::Kind::stable, grid(), rho_, std::log(increment_scale_), weights().data()};
  }
  void fill(Key key, int64_t first, int64_t n, double* area, double* end, double* paths) const override {
    // The increments of consecutive clocks are consecutive elements of the stream: several clocks are drawn at a time.
    const int64_t steps = grid(), block = std::max<int64_t>(1, kBlock / steps);
    std::vector<double> increments(static_cast<size_t>(std::min(n, block) * steps));
    for (int64_t at = 0; at < n; at += block) {
      const int64_t m = std::min(block, n - at);
      fill_positive_stable(key, rho_, increment_scale_, static_cast<uint64_t>((first + at) * steps), m * steps,
                           increments.data());
      int64_t i = 0;
      for (; i + 4 <= m; i += 4)
        walk<4>(increments.data() + i * steps, area + at + i, end + at + i, row(paths, at + i));
      for (; i < m; ++i) walk<1>(increments.data() + i * steps, area + at + i, end + at + i, row(paths, at + i));
    }
  }
  void fill_of_scores(int64_t n, const double* scores, double* area, double* end, double* paths) const override {
    std::call_once(once_, [&] { table_ = std::make_unique<ScoreTable>(ScoreTable::positive_stable(rho_)); });
    const int64_t steps = grid();
    std::vector<double> increments(static_cast<size_t>(steps));
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < steps; ++j)
        increments[static_cast<size_t>(j)] = increment_scale_ * std::exp(table_->log_value(scores[i * steps + j]));
      walk<1>(increments.data(), area + i, end + i, row(paths, i));
    }
  }

 private:
  static constexpr int64_t kBlock = 4096;

  double* row(double* paths, int64_t i) const { return paths ? paths + i * (grid() + 1) : nullptr; }

  // A = c sum_i w_i dT_i with w_i the weights of the piecewise-linear path; c makes the law of A exact on this grid.
  const std::vector<double>& weights() const {
    return weights_([&] {
      const int steps = grid();
      const double h = 1.0 / steps;
      std::vector<double> weight(static_cast<size_t>(steps));
      double sum = 0;
      for (int i = 0; i < steps; ++i) {
        weight[static_cast<size_t>(i)] = 1 - (i + 0.5) * h;
        sum += h * std::pow(weight[static_cast<size_t>(i)], rho_);
      }
      const double c = std::pow((rho_ + 1) * sum, -1 / rho_);
      for (double& w : weight) w *= c;
      return weight;
    });
  }

  // Sums several clocks side by side: one sum alone would wait for each addition.
  template <int Clocks>
  void walk(const double* increments, double* area, double* end, double* paths) const {
    const int64_t steps = grid();
    const double* weight = weights().data();
    double t[Clocks] = {}, a[Clocks] = {};
    for (int k = 0; paths && k < Clocks; ++k) paths[k * (steps + 1)] = 0;
    for (int64_t j = 0; j < steps; ++j)
      for (int k = 0; k < Clocks; ++k) {
        const double step = increments[k * steps + j];
        t[k] += step;
        a[k] += weight[j] * step;
        if (paths) paths[k * (steps + 1) + j + 1] = t[k];
      }
    std::copy(t, t + Clocks, end);
    std::copy(a, a + Clocks, area);
  }

  double rho_, increment_scale_ = 0;
  WhenDrawn weights_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<ScoreTable> table_;  // of an increment, for of_scores()
};

}  // namespace

ClockFamily stable_family() {
  return {"stable",
          "alpha/2-stable subordinator; isotropic alpha-stable source (HTFM-alpha)",
          {{"alpha", 0, 2, "stability index"}},
          [](ClockSpec spec) { return std::make_unique<Stable>(std::move(spec)); }};
}

}  // namespace htfm
