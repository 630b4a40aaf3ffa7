// Clocks that are straight lines T_t = t V with a random slope V: the area is V/2 and the source sqrt(V) z, exact on
// any grid.
#pragma once

#include "htfm/base/api.h"
#include "htfm/clock/clock.h"

namespace htfm HTFM_PUBLIC {

class SlopeClock : public Clock {
 public:
  explicit SlopeClock(ClockSpec spec) : Clock(std::move(spec)), times_(grid_times()) {}
  NaturalFeature natural_feature() const override { return NaturalFeature::log_slope; }

 protected:
  /// Fills slope[n] with those of clocks first..first+n, each a function of the key and its index alone.
  virtual void fill_slopes(Key key, int64_t first, int64_t n, double* slope) const = 0;

  void fill(Key key, int64_t first, int64_t n, double* area, double* end, double* paths) const final {
    fill_slopes(key, first, n, end);
    for (int64_t i = 0; i < n; ++i) {
      area[i] = end[i] / 2;
      for (int64_t j = 0; paths && j <= grid(); ++j)
        paths[i * (grid() + 1) + j] = end[i] * times_[static_cast<size_t>(j)];
    }
  }

 private:
  std::vector<double> times_;
};

}  // namespace htfm
