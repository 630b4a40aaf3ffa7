// Columns by their kind: what is recognised, and what is honoured on the way back.
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/data/table_transform.h"

namespace htfm {
namespace {

using Values = std::vector<double>;

// n values of a law given by its quantile function, in random order.
template <class Quantile>
Values drawn(int64_t n, Quantile quantile, uint64_t seed = 1) {
  Values out(static_cast<size_t>(n));
  fill_uniform(Key(seed), 0, n, out.data());
  for (double& v : out) v = quantile(v);
  return out;
}

double pareto(double u) { return std::pow(1 - u, -1 / 1.5); }

// Every value comes back from what the model is trained on, lattice values exactly.
void expect_round_trip(const Values& values) {
  const ColumnTransform t = ColumnTransform::recognise(values, Key(3));
  const double tolerance = t.gap > 0 ? 0 : 1e-9;
  for (size_t i = 0; i < values.size(); ++i) {
    const double u = Key(4).uniform(i), z = t.apply(values[i], u);
    ASSERT_TRUE(std::isfinite(z));
    ASSERT_NEAR(t.invert(z), values[i], tolerance * (1 + std::abs(values[i]))) << t.describe();
  }
}

TEST(Column, RealValuesAreOnlyShiftedAndScaled) {
  const Values x = drawn(5000, [](double u) { return 3 + 2 * std::log(u / (1 - u)); });
  const ColumnTransform t = ColumnTransform::recognise(x, Key(3));
  EXPECT_EQ(t.describe(), "real");
  // The logistic law's quartiles: 3 -+ 2 log 3.
  EXPECT_NEAR(t.centre, 3, 0.25);
  EXPECT_NEAR(t.scale, 4 * std::log(3.0) / 1.349, 0.25);
  EXPECT_NEAR(t.apply(1000, 0.5) - t.apply(900, 0.5), 100 / t.scale, 1e-9);
  expect_round_trip(x);
}

TEST(Column, ConstantsAreKeptAside) {
  const ColumnTransform t = ColumnTransform::recognise(Values(50, 7.5), Key(3));
  EXPECT_TRUE(t.constant);
  EXPECT_EQ(t.invert(-3), 7.5);
}

// Of 1,000 batting averages three are 1, those of players with one hit at their only bat.
TEST(Column, SharesAndPercentagesEndWhereTheyMust) {
  Values share = drawn(1000, [](double u) { return std::round(300 * u * u) / 1000; });
  EXPECT_TRUE(std::isinf(ColumnTransform::recognise(share, Key(3)).most));
  share[0] = share[1] = share[2] = 1;
  EXPECT_EQ(ColumnTransform::recognise(share, Key(3)).most, 1);
  Values percent = share;
  for (double& v : percent) v = std::round(1000 * v) / 10;
  EXPECT_EQ(ColumnTransform::recognise(percent, Key(3)).most, 100);
  share[1] = share[2] = 0.4;
  EXPECT_TRUE(std::isinf(ColumnTransform::recognise(share, Key(3)).most)) << "a single 1 may be passed";
}

TEST(Column, TheLeastPointAboveZeroIsNotARoundingError) {
  const double least = 0.1;  // over 1e-6 a little more than a whole number, in doubles
  Values x = drawn(400, [](double u) { return std::round(std::log(u / (1 - u)) * 1e6) / 1e6; });
  const double shift = least - *std::min_element(x.begin(), x.end());
  for (double& v : x) v = std::round((v + shift) * 1e6) / 1e6;
  const ColumnTransform t = ColumnTransform::recognise(x, Key(3));
  ASSERT_EQ(*std::min_element(x.begin(), x.end()), least);
  EXPECT_EQ(t.describe(), "multiples of 1e-06, at least 1e-06");
}

TEST(Column, WholeNumbersComeBackWhole) {
  const Values x = drawn(3000, [](double u) { return std::floor(20 * std::log(u / (1 - u))); });
  const ColumnTransform t = ColumnTransform::recognise(x, Key(3));
  EXPECT_EQ(t.describe(), "whole numbers");
  for (const double z : {-3.1, 0.0, 0.4, 77.7}) EXPECT_EQ(t.invert(z), std::round(t.invert(z)));
  expect_round_trip(x);
}

TEST(Column, DecimalsAndCoarserLatticesAreKept) {
  const Values cents = drawn(2000, [](double u) { return std::round(100 * (50 + 10 * std::log(u / (1 - u)))) / 100; });
  EXPECT_EQ(ColumnTransform::recognise(cents, Key(3)).step(), 0.01);
  expect_round_trip(cents);
  const Values hundreds = drawn(2000, [](double u) { return 100 * std::floor(-30 * std::log(u)) - 1000; });
  EXPECT_EQ(ColumnTransform::recognise(hundreds, Key(3)).step(), 100);
  expect_round_trip(hundreds);
}

// The tail of a bounded column stays a power law: far out the map is affine, to the last digits.
TEST(Column, BoundIsHonouredAndTheTailKept) {
  for (const double shift : {0.0, 1.0}) {
    const Values x = drawn(4000, [&](double u) { return shift > 0 ? pareto(u) : pareto(u) - 1; });
    const ColumnTransform t = ColumnTransform::recognise(x, Key(3));
    ASSERT_TRUE(t.bounded && !t.atom);
    EXPECT_NEAR(t.bound, shift, 0.01) << "the edge of the data";
    EXPECT_LE(t.bound, *std::min_element(x.begin(), x.end()));
    EXPECT_NEAR((t.apply(2e6, 0.5) - t.apply(1e6, 0.5)) * t.scale, 1e6, 1e-6);
    for (const double z : {-1e9, -40.0, -2.0}) EXPECT_GE(t.invert(z), t.bound);
    // Near the edge nothing reaches far out: the left tail is light.
    for (const double value : x) EXPECT_GT(t.apply(value, 0.5), -6);
    expect_round_trip(x);
  }
}

TEST(Column, PositiveColumnFarFromItsBoundIsLeftAlone) {
  const Values x = drawn(1000, [](double u) { return 5000 + 100 * std::log(u / (1 - u)); });
  const ColumnTransform t = ColumnTransform::recognise(x, Key(3));
  EXPECT_EQ(t.bound, 0);
  EXPECT_NEAR((t.apply(5100, 0.5) - t.apply(5000, 0.5)) * t.scale, 100, 1e-6);
}

TEST(Column, ManyZerosBecomeAnIntervalBelow) {
  for (const bool whole : {false, true})
    for (const double share : {0.3, 0.99}) {
      const Values x = drawn(4000, [&](double u) {
        if (u < share) return 0.0;
        const double loss = 10 * pareto((u - share) / (1 - share));
        return whole ? std::ceil(loss) : loss;
      });
      const ColumnTransform t = ColumnTransform::recognise(x, Key(3));
      ASSERT_TRUE(t.atom) << t.describe();
      expect_round_trip(x);
      // All below the threshold is zero, everything above is not; and the atom takes a place of the size of the rest.
      double least = 1e300, most = -1e300, positive = 1e300;
      for (size_t i = 0; i < x.size(); ++i) {
        const double z = t.apply(x[i], Key(4).uniform(i));
        if (x[i] == 0) least = std::min(least, z), most = std::max(most, z);
        if (x[i] > 0) positive = std::min(positive, z);
      }
      EXPECT_LT(most, positive);
      EXPECT_GT(least, -30);
      EXPECT_EQ(t.invert(-100), 0);
      EXPECT_NEAR((t.apply(2e6, 0.5) - t.apply(1e6, 0.5)) * t.scale, 1e6, 1e-6);
    }
}

TEST(Column, FewZerosOfAPositiveColumnComeBack) {
  Values x = drawn(1000, [](double u) { return -std::log(u); });
  for (int i = 0; i < 5; ++i) x[i] = 0;
  const ColumnTransform t = ColumnTransform::recognise(x, Key(3));
  EXPECT_FALSE(t.atom);
  EXPECT_EQ(t.invert(-1000), 0);
  EXPECT_GT(t.apply(0, 0.5), -20);
}

TEST(Column, UpperBoundsByTurning) {
  const Values x = drawn(2000, [](double u) { return 1 - pareto(u); });
  const ColumnTransform t = ColumnTransform::recognise(x, Key(3));
  EXPECT_TRUE(t.flip && t.bounded);
  EXPECT_LE(t.invert(-1e6), 0);
  EXPECT_LE(t.invert(1e6), 0);
  expect_round_trip(x);
}

TEST(Column, ScalesOfFewValuesKeepTheirEnds) {
  const Values ratings = drawn(1000, [](double u) { return 1 + std::floor(5 * u); }),
               flags = drawn(1000, [](double u) { return u < 0.2; });
  for (const Values& x : {ratings, flags}) {
    const ColumnTransform t = ColumnTransform::recognise(x, Key(3));
    EXPECT_EQ(t.invert(-50), *std::min_element(x.begin(), x.end()));
    EXPECT_EQ(t.invert(50), *std::max_element(x.begin(), x.end()));
    expect_round_trip(x);
  }
}

TEST(Column, FewValuesComeBackAsTheyAre) {
  std::vector<double> x;
  x.reserve(300);
  for (int i = 0; i < 300; ++i) x.push_back(i % 3 == 0 ? 10 : i % 3 == 1 ? 100 : 1000.5);
  const ColumnTransform t = ColumnTransform::recognise(x, Key(1));
  EXPECT_EQ(t.describe(), "one of 3 values, 10 to 1000.5");
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(t.invert(t.apply(x[i], Key(2).uniform(i))), x[i]);
  for (const double z : {-50.0, -1.0, -0.3, 0.0, 0.4, 2.0, 60.0})
    EXPECT_TRUE(t.values.end() != std::find(t.values.begin(), t.values.end(), t.invert(z))) << z;
  EXPECT_EQ(t.invert(t.apply(900, 0.5)), 1000.5) << "what was not there goes to what is near";
  // Whole numbers in a row are a lattice, and a rare value may have others beside it.
  std::vector<double> row, rare = x;
  for (int i = 0; i < 300; ++i) row.push_back(i % 7);
  rare.push_back(5000);
  EXPECT_TRUE(ColumnTransform::recognise(row, Key(1)).values.empty());
  EXPECT_TRUE(ColumnTransform::recognise(rare, Key(1)).values.empty());
}

TEST(Column, DigitsTellApartWhatTheModelDoes) {
  std::vector<double> near, far, price;
  for (int i = 0; i < 500; ++i) {
    const double z = std::sqrt(2) * std::tan(3 * (Key(3).uniform(static_cast<uint64_t>(i)) - 0.5));
    near.push_back(z), far.push_back(1e9 + z), price.push_back(std::round(100 * z) / 100);
  }
  EXPECT_EQ(ColumnTransform::recognise(near, Key(1)).digits(), 9);
  EXPECT_EQ(ColumnTransform::recognise(far, Key(1)).digits(), 17);
  EXPECT_EQ(ColumnTransform::recognise(price, Key(1)).digits(), 15) << "decimals are written as they are";
}

TEST(Column, AnyScale) {
  for (const double unit : {1e-300, 1e-9, 1e9, 1e300}) {
    const Values x = drawn(500, [&](double u) { return unit * (u - 0.3); });
    const ColumnTransform t = ColumnTransform::recognise(x, Key(3));
    for (const double value : x) ASSERT_NEAR(t.invert(t.apply(value, 0.5)) / unit, value / unit, 1e-9);
  }
}

TEST(TableTransform, ConstantColumnsAreRestoredInPlace) {
  const int64_t n = 200;
  at::Tensor rows = at::empty({n, 3}, at::kDouble);
  for (int64_t i = 0; i < n; ++i) {
    double* r = rows.mutable_data_ptr<double>() + 3 * i;
    r[0] = 4, r[1] = Key(1).uniform(static_cast<uint64_t>(i)) - 0.5, r[2] = static_cast<double>(i % 7);
  }
  const TableTransform t = TableTransform::fit("table", rows, Key(2));
  EXPECT_EQ(t.dim(), 2);
  EXPECT_EQ(t.seen_names({"a", "b", "c"}), (std::vector<std::string>{"b", "c"}));
  const at::Tensor z = t.apply(rows, Key(2));
  ASSERT_EQ(z.sizes(), (at::IntArrayRef{n, 2}));
  std::map<std::string, at::Tensor> kept;
  t.save_state(kept);
  const at::Tensor back = TableTransform::load_state(kept, "here").invert(z.to(at::kDouble));
  for (int64_t i = 0; i < n; ++i) {
    const double *a = rows.const_data_ptr<double>() + 3 * i, *b = back.const_data_ptr<double>() + 3 * i;
    EXPECT_EQ(a[0], b[0]);
    EXPECT_NEAR(a[1], b[1], 1e-6);
    EXPECT_EQ(a[2], b[2]);
  }
  kept.clear();
  EXPECT_THROW(TableTransform::load_state(kept, "here"), InputError);
}

}  // namespace
}  // namespace htfm
