// Values that come together: how many say the same, and that a column of repeated rows keeps its tail.
#include "htfm/stat/clumps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "htfm/base/random.h"
#include "htfm/stat/margin.h"
#include "htfm/stat/threshold.h"

namespace htfm {
namespace {

constexpr int64_t kClumpDraws = 40;

double exponential_tail(double p) { return -std::log(p); }
double pareto_tail(double p) { return std::pow(p, -0.5); }  // index 2: shape 0.5

// n / copies values of an upper tail's quantile function, each repeated, on a lattice where there is a step.
template <class Quantile>
std::vector<double> repeated_draws(int64_t n, int64_t copies, double step, int64_t draw, const Quantile& quantile) {
  const Key key = Key(7).child(static_cast<uint64_t>(draw));
  std::vector<double> out;
  for (int64_t i = 0; i < n; ++i) {
    const double x = quantile(key.uniform(static_cast<uint64_t>(i / copies)));
    out.push_back(step > 0 ? std::round(x / step) * step : x);
  }
  std::sort(out.begin(), out.end());
  return out;
}

double size_of(const std::vector<double>& sorted, double step) {
  return clump_size(sorted, most_exceedances(std::ssize(sorted)), step);
}

TEST(Clumps, AreCountedWithoutALattice) {
  for (const int64_t copies : {1, 2, 5, 9})
    EXPECT_DOUBLE_EQ(size_of(repeated_draws(900, copies, 0, 0, exponential_tail), 0), static_cast<double>(copies));
  EXPECT_EQ(size_of(repeated_draws(900, 90, 0, 0, exponential_tail), 0), 10) << "the most";
  const std::vector<double> few{1, 2};
  EXPECT_EQ(size_of(few, 0), 1);
  EXPECT_EQ(size_of(std::vector<double>{1.0}, 0), 1);
}

// On a lattice the counts scatter: 40 columns of 600 values of steps of 0.05.
TEST(Clumps, AreSeenOnALattice) {
  int64_t alone = 0;
  double twice = 0;
  for (int64_t d = 0; d < kClumpDraws; ++d) {
    alone += size_of(repeated_draws(600, 1, 0.05, d, exponential_tail), 0.05) > 1;
    twice += size_of(repeated_draws(600, 2, 0.05, d, exponential_tail), 0.05) / kClumpDraws;
  }
  // Beyond two standard errors, at most three times: at most 7 % of independent columns, and 4 deviations of their
  // number.
  EXPECT_LE(alone, 0.07 * kClumpDraws + 4 * std::sqrt(0.07 * kClumpDraws));
  // The scatter of a column is half of the size or less, for some 40 cells: 4 standard errors of the mean.
  EXPECT_NEAR(twice, 2, 4 * 0.5 * 2 / std::sqrt(kClumpDraws));
  EXPECT_GT(twice, 1.5);
}

TEST(Clumps, OneValueThatOccursOftenIsNone) {
  std::vector<double> x = repeated_draws(1000, 1, 0, 0, exponential_tail);
  std::fill(x.end() - 60, x.end() - 20, x[x.size() - 60]);
  EXPECT_EQ(size_of(x, 0), 1);
}

struct TailsSeen {
  int64_t there = 0;
  double shape = 0, log_far = 0;  // means; of the quantile at 1/(10 n)
};

template <class Quantile>
TailsSeen tails_of(int64_t n, int64_t copies, double step, bool clumps, const Quantile& quantile) {
  TailsSeen out;
  const double far = 0.1 / static_cast<double>(n);
  for (int64_t d = 0; d < kClumpDraws; ++d) {
    std::vector<double> x = repeated_draws(n, copies, step, d, quantile);
    const double size = size_of(x, step);
    for (size_t i = 0; i < x.size(); ++i) x[i] += step * (Key(8).uniform(i) - 0.5);  // over the cells, as fits do
    std::sort(x.begin(), x.end());
    const Margin m = Margin::fit(x, {.tail_below = false, .step = step, .clumps_above = clumps ? size : 1});
    out.there += m.above().there();
    out.shape += m.above().shape / kClumpDraws;
    out.log_far += std::log(m.value({far, true}) / quantile(far)) / kClumpDraws;
  }
  return out;
}

// The standard error of a mean shape over draws of k excesses in clumps, four of them, and the bias of the estimate, 3
// over the number of clumps (of an exponential law; less of heavier ones).
double shape_error(double shape, double k, double copies) {
  return 4 * (1 + shape) * std::sqrt(copies / k / kClumpDraws) + 3 * copies / k;
}

TEST(Clumps, RoundedValuesHaveTheShapeOfTheirLaw) {
  const TailsSeen tenths = tails_of(1000, 1, 0.1, true, exponential_tail),
                  units = tails_of(1000, 1, 1, true, [](double p) { return std::floor(-std::log(p) / 0.3567); });
  for (const TailsSeen& seen : {tenths, units}) {  // the second is a geometric law, 0.3 a step
    EXPECT_GE(seen.there, kClumpDraws - 3);        // a law that is true may fail the test of fit
    EXPECT_NEAR(seen.shape, 0, shape_error(0, 140, 1));
  }
}

TEST(Clumps, SmallHeavyColumnsKeepTheirTail) {
  const TailsSeen seen = tails_of(300, 1, 0, true, pareto_tail);
  EXPECT_GE(seen.there, kClumpDraws - 3);
  EXPECT_NEAR(seen.shape, 0.5, shape_error(0.5, 95, 1));
  EXPECT_NEAR(seen.log_far, 0, 0.5) << "a quantile that one in ten such columns reaches";
}

// Rows of five years each: taken for independent values they leave hardly any column a tail.
TEST(Clumps, RepeatedRowsLeaveTheTailWhatItIs) {
  for (const double step : {0.0, 0.05}) {
    const TailsSeen seen = tails_of(2000, 5, step, true, pareto_tail),
                    independent = tails_of(2000, 5, step, false, pareto_tail);
    EXPECT_LE(independent.there, kClumpDraws / 4) << step;
    EXPECT_GE(seen.there, kClumpDraws - 8) << step;
    EXPECT_NEAR(seen.shape * kClumpDraws / static_cast<double>(seen.there), 0.5, shape_error(0.5, 190, 5)) << step;
  }
}

}  // namespace
}  // namespace htfm
