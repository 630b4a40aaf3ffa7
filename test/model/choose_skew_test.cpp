// When a table is given a skewed source: on skewed heavy tails, seldom on symmetric ones.
#include "htfm/model/choose_skew.h"

#include <gtest/gtest.h>

#include <cmath>

#include "htfm/source/source_mean.h"

namespace htfm {
namespace {

at::Tensor draw(Key key, const ClockSpec& clock, const std::string& skew, int64_t n) {
  const at::Tensor area = make_clock(clock)->sample(key.child("clock"), {.count = n, .paths = false}).area;
  at::Tensor x = sample_source(key.child("source"), area, 2);
  SourceMean({skew, ""}).add(area, x);
  return x;
}

std::optional<ChosenSkew> suggestion(const at::Tensor& rows) {
  DiagnosisOptions options;
  options.directions = 0;
  return suggest_skew(rows, diagnose(rows, {}, options));
}

TEST(ChosenSkew, SkewedHeavyTailsAreGivenTheirLaw) {
  int64_t found = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const auto chosen = suggestion(draw(Key(seed), {"inverse-gamma", {{"nu", 5.0}}, 1}, "0.8,-0.4", 4000));
    if (!chosen) continue;
    ++found;
    EXPECT_EQ(chosen->law, "skewed-student");
    EXPECT_EQ(chosen->clock.spec.family, "inverse-gamma");
    // Over tables like this one the logarithm of nu has deviation 0.032 and the skew 0.046.
    EXPECT_NEAR(std::log(chosen->clock.spec.parameters.at("nu")), std::log(5.0), 5 * 0.032);
    EXPECT_NEAR(std::stod(chosen->mean.skew), 0.8, 5 * 0.046);
    EXPECT_NE(chosen->clock.explanation.find("So the source is skewed"), std::string::npos);
    SourceMean(chosen->mean).check(2);
  }
  EXPECT_GE(found, 6);
}

// Variance-gamma tails are exponential: of the laws that are offered, normal-inverse-Gaussian has such. A table whose
// largest rows look heavy by chance may stay symmetric.
TEST(ChosenSkewSlow, SkewedExponentialTailsAreGivenALightLaw) {
  int64_t found = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const auto chosen = suggestion(draw(Key(seed), {"gamma", {{"shape", 1.0}}, 1}, "0.8,-0.4", 4000));
    found += chosen && chosen->law == "normal-inverse-gaussian" && chosen->clock.spec.family == "inverse-gaussian";
  }
  EXPECT_GE(found, 4);
}

// The diagnosis calls one symmetric table in a hundred skewed; the likelihood must agree.
TEST(ChosenSkew, SymmetricTablesStaySymmetric) {
  int64_t chosen = 0;
  constexpr uint64_t kTables = 50;
  for (const ClockSpec& clock :
       {ClockSpec{"inverse-gamma", {{"nu", 3.0}}, 1}, ClockSpec{"inverse-gamma", {{"nu", 8.0}}, 1},
        ClockSpec{"stable", {{"alpha", 1.6}}, 1}, ClockSpec{"gamma", {{"shape", 1.0}}, 1}, ClockSpec{}})
    for (uint64_t seed = 0; seed < kTables; ++seed)
      chosen += suggestion(draw(Key(seed).child("even"), clock, "", 1000)).has_value();
  EXPECT_LE(chosen, 2.5 + 4 * std::sqrt(2.5)) << "of " << 5 * kTables;
}

TEST(ChosenSkew, FewRowsSayNothing) {
  EXPECT_FALSE(suggestion(draw(Key(1), {"inverse-gamma", {{"nu", 3.0}}, 1}, "2,2", 150)).has_value());
}

}  // namespace
}  // namespace htfm
