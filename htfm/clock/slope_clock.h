// Clocks that are straight lines T_t = t V with a random slope V: the area is V/2 and the source sqrt(V) z, exact on
// any grid.
#pragma once

#include <cmath>
#include <functional>
#include <mutex>

#include "htfm/base/api.h"
#include "htfm/clock/clock.h"
#include "htfm/clock/score_table.h"
#include "htfm/clock/when_drawn.h"

namespace htfm HTFM_PUBLIC {

class SlopeClock : public Clock {
 public:
  using Clock::Clock;
  NaturalFeature natural_feature() const override { return NaturalFeature::log_slope; }
  ClockScores scores() const override { return {.count = 1, .levels = log_density() ? 1 : 0}; }

 protected:
  /// The log density of log V up to a constant, concave, where the family knows it: clocks can then be made of scores.
  virtual std::function<double(double)> log_density() const { return {}; }
  /// Fills slope[n] with those of clocks first..first+n, each a function of the key and its index alone.
  virtual void fill_slopes(Key key, int64_t first, int64_t n, double* slope) const = 0;

  void fill(Key key, int64_t first, int64_t n, double* area, double* end, double* paths) const final {
    fill_slopes(key, first, n, end);
    fill_lines(n, area, end, paths);
  }
  void fill_of_scores(int64_t n, const double* scores, double* area, double* end, double* paths) const final {
    std::call_once(once_, [&] {
      if (const auto density = log_density()) table_ = std::make_unique<ScoreTable>(density);
    });
    if (!table_) return Clock::fill_of_scores(n, scores, area, end, paths);
    for (int64_t i = 0; i < n; ++i) end[i] = std::exp(table_->log_value(scores[i]));
    fill_lines(n, area, end, paths);
  }

 private:
  void fill_lines(int64_t n, double* area, const double* end, double* paths) const {
    const double* times = paths ? times_([&] { return grid_times(); }).data() : nullptr;
    for (int64_t i = 0; i < n; ++i) {
      area[i] = end[i] / 2;
      for (int64_t j = 0; paths && j <= grid(); ++j) paths[i * (grid() + 1) + j] = end[i] * times[j];
    }
  }

  WhenDrawn times_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<ScoreTable> table_;
};

}  // namespace htfm
