// Clocks that come from a data set. `fitted`: T_t = t V, the law of V given by a table of quantiles
// (htfm/stat/mixing_law.h); `auto`: a name for whichever family the data speak for (htfm/model/choose_clock.h).
#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/quantile_table.h"
#include "htfm/clock/clock.h"
#include "htfm/clock/when_drawn.h"

namespace htfm {

namespace {

class Fitted final : public Clock {
 public:
  explicit Fitted(ClockSpec spec) : Clock(std::move(spec)), law_(this->spec().table) {}
  NaturalFeature natural_feature() const override { return NaturalFeature::log_slope; }
  double tail_exponent() const override {
    return law_.exponent() > 0 ? 2 * law_.exponent() : std::numeric_limits<double>::infinity();
  }
  ClockScores scores() const override { return {.count = 1, .levels = 1}; }

 protected:
  void fill(Key key, int64_t first, int64_t n, double* area, double* end, double* paths) const override {
    fill_uniform(key, static_cast<uint64_t>(first), n, end);
    fill_lines(n, area, end, paths);
  }
  void fill_of_scores(int64_t n, const double* scores, double* area, double* end, double* paths) const override {
    for (int64_t i = 0; i < n; ++i) end[i] = std::clamp(0.5 * std::erfc(scores[i] * M_SQRT1_2), 1e-300, 1 - 0x1p-53);
    fill_lines(n, area, end, paths);
  }

 private:
  // `end` holds the probabilities that the slopes are exceeded with.
  void fill_lines(int64_t n, double* area, double* end, double* paths) const {
    const double* times = paths ? times_([&] { return grid_times(); }).data() : nullptr;
    for (int64_t i = 0; i < n; ++i) {
      end[i] = std::exp(law_.log_upper_quantile(end[i]));
      area[i] = end[i] / 2;
      for (int64_t j = 0; paths && j <= grid(); ++j) paths[i * (grid() + 1) + j] = end[i] * times[j];
    }
  }

  QuantileTable law_;
  WhenDrawn times_;
};

[[noreturn]] void refuse(const ClockSpec& spec) {
  throw InputError(
      "[clock.family] expected a family with a distribution of its own, got {}, whose distribution comes from training "
      "data",
      spec.family);
}

}  // namespace

ClockFamily fitted_family() {
  return {"fitted",
          "T_t = t V, the distribution of V estimated from the data",
          {},
          [](ClockSpec spec) {
            if (spec.table.empty()) refuse(spec);
            return std::make_unique<Fitted>(std::move(spec));
          },
          true};
}

ClockFamily auto_family() {
  return {"auto",
          "chosen from the tails of the data: deterministic or inverse-gamma",
          {},
          [](const ClockSpec& spec) -> std::unique_ptr<Clock> { refuse(spec); },
          true};
}

}  // namespace htfm
