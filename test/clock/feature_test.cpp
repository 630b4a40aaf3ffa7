// What the network is told of a clock.
#include "htfm/clock/feature.h"

#include <gtest/gtest.h>

#include "htfm/base/error.h"

namespace htfm {
namespace {

const ClockSpec kStable{"stable", {{"alpha", 1.5}}, 50};
const ClockSpec kStudent{"inverse-gamma", {{"nu", 1.7}}, 50};

at::Tensor feature(const ClockSpec& law, const FeatureSpec& spec, const ClockRequest& request = {.count = 40}) {
  const auto clock = make_clock(law);
  return PathFeature(*clock, spec)(clock->sample(Key(1), request));
}

double at(const at::Tensor& x, int64_t i, int64_t k) { return x.const_data_ptr<double>()[i * x.size(1) + k]; }

TEST(Feature, AutoTakesWhatIsNaturalForTheFamily) {
  EXPECT_EQ(feature({}, {}).size(1), 0);
  EXPECT_TRUE(feature(kStable, {}).equal(feature(kStable, {.kind = "logsignature"})));
  EXPECT_TRUE(feature(kStudent, {}).equal(feature(kStudent, {.kind = "log_slope"})));
}

TEST(Feature, OfALineIsTheLogarithmOfItsSlope) {
  const at::Tensor x = feature(kStudent, {}), end = make_clock(kStudent)->sample(Key(1), {.count = 40}).end;
  ASSERT_EQ(x.size(1), 1);
  for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(at(x, i, 0), std::log(end.const_data_ptr<double>()[i]));
}

TEST(Feature, OfOrderOneIsTimeAndEnd) {
  const at::Tensor raw = feature(kStable, {.transform = "raw"}), shrunk = feature(kStable, {});
  const at::Tensor end = make_clock(kStable)->sample(Key(1), {.count = 40}).end;
  for (int64_t i = 0; i < 40; ++i) {
    const double t = end.const_data_ptr<double>()[i];
    EXPECT_EQ(at(raw, i, 0), 1);
    EXPECT_EQ(at(raw, i, 1), t);
    EXPECT_EQ(at(shrunk, i, 0), 1);
    EXPECT_DOUBLE_EQ(at(shrunk, i, 1), std::log1p(t));
  }
}

// The shortcut of order 1 walks no path; level 1 of a higher order does.
TEST(Feature, OrderOneIsTheFirstLevelOfHigherOrders) {
  for (const char* kind : {"logsignature", "signature"}) {
    const at::Tensor one = feature(kStable, {.kind = kind, .order = 1}),
                     three = feature(kStable, {.kind = kind, .order = 3});
    EXPECT_TRUE(three.slice(1, 0, 2).allclose(one, 1e-12, 1e-12)) << kind;
  }
}

TEST(Feature, IsTheLogsignatureWithItsClockCoordinatesShrunk) {
  const at::Tensor paths = make_clock(kStable)->sample(Key(1), {.count = 40}).paths;
  for (const char* convention : {"linear", "jump", "leadlag", "constant"}) {
    const FeatureSpec raw{.order = 3, .transform = "raw", .convention = convention},
        shrunk{.order = 3, .convention = convention};
    const at::Tensor x = feature(kStable, raw), y = feature(kStable, shrunk);
    ASSERT_EQ(x.sizes(), y.sizes());
    PathOptions options;
    options.augment_time = true;
    options.convention = convention_by_name(convention);
    EXPECT_TRUE(x.equal(logsignature(paths, 3, LogBasis::words, options))) << convention;
    for (int64_t i = 0; i < 40; ++i) {
      EXPECT_EQ(at(y, i, 0), at(x, i, 0))
          << convention;  // the increment of time, the only coordinate without the clock
      for (int64_t k = 1; k < x.size(1); ++k)
        EXPECT_DOUBLE_EQ(at(y, i, k), std::copysign(std::log1p(std::abs(at(x, i, k))), at(x, i, k))) << convention;
    }
  }
}

// Standardised along each path, a clock and its multiple look the same: the option removes the scale.
TEST(Feature, PerPathForgetsTheScaleOfTheClock) {
  const auto clock = make_clock(kStable);
  const PathFeature per_path(*clock, {.order = 2, .transform = "per-path"}), natural(*clock, {.order = 2});
  EXPECT_TRUE(per_path.needs_paths());
  const ClockSample sample = clock->sample(Key(1), {.count = 40});
  const ClockSample scaled{sample.area.mul(5), sample.end.mul(5), sample.paths.mul(5)};
  EXPECT_TRUE(per_path(sample).allclose(per_path(scaled), 1e-9, 1e-9));
  EXPECT_FALSE(natural(sample).allclose(natural(scaled), 1e-2, 1e-2));
}

TEST(Feature, JoinsEndAndArea) {
  const ClockSample sample = make_clock(kStable)->sample(Key(1), {.count = 40});
  const at::Tensor x = feature(kStable, {.order = 2, .end = true, .area = true}),
                   without = feature(kStable, {.order = 2});
  ASSERT_EQ(x.size(1), without.size(1) + 2);
  EXPECT_TRUE(x.slice(1, 0, without.size(1)).equal(without));
  for (int64_t i = 0; i < 40; ++i) {
    EXPECT_DOUBLE_EQ(at(x, i, without.size(1)), std::log1p(sample.end.const_data_ptr<double>()[i]));
    EXPECT_DOUBLE_EQ(at(x, i, without.size(1) + 1), std::log(sample.area.const_data_ptr<double>()[i]));
  }
}

TEST(Feature, OrderZeroAndNoneTellNothing) {
  for (const FeatureSpec& spec : {FeatureSpec{.order = 0, .end = true}, FeatureSpec{.kind = "none", .area = true}})
    EXPECT_EQ(feature(kStable, spec).size(1), 0);
}

TEST(Feature, NeedsPathsOnlyWhereTheyAreWalked) {
  const auto clock = make_clock(kStable);
  EXPECT_FALSE(PathFeature(*clock, {}).needs_paths());
  EXPECT_FALSE(PathFeature(*clock, {.kind = "log_slope"}).needs_paths());
  const PathFeature second(*clock, {.order = 2});
  EXPECT_TRUE(second.needs_paths());
  EXPECT_THROW(second(clock->sample(Key(1), {.count = 3, .paths = false})), Error);
  EXPECT_TRUE(feature(kStable, {}, {.count = 40, .paths = false}).equal(feature(kStable, {})));
}

TEST(Feature, NamesTheKeyThatIsWrong) {
  const auto clock = make_clock(kStable);
  const auto message = [&](const FeatureSpec& spec) -> std::string {
    try {
      PathFeature(*clock, spec);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no InputError";
  };
  EXPECT_TRUE(message({.kind = "slope"}).starts_with("[feature.kind]"));
  EXPECT_TRUE(message({.order = -1}).starts_with("[feature.order]"));
  EXPECT_TRUE(message({.order = 7}).starts_with("[feature.order]"));
  EXPECT_TRUE(message({.transform = "log"}).starts_with("[feature.transform]"));
  EXPECT_NE(message({.basis = "lyndon"}).find("'lyndon'"), std::string::npos) << message({.basis = "lyndon"});
  EXPECT_NE(message({.convention = "spline"}).find("'spline'"), std::string::npos) << message({.convention = "spline"});
}

}  // namespace
}  // namespace htfm
