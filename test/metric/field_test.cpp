// Scores of fields: the same as from all values at once, whatever the parts; right where the answer is known; intervals
// that cover it.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "htfm/base/parallel.h"
#include "htfm/base/random.h"
#include "htfm/metric/field_scores.h"
#include "htfm/metric/moment_scores.h"
#include "htfm/metric/tail_scores.h"

namespace htfm {
namespace {

FieldStream stream(const at::Tensor& fields) {
  return {fields.size(0), fields.size(1), fields.size(2),
          [fields](int64_t begin, int64_t end) { return fields.narrow(0, begin, end - begin); }};
}

// Pareto values of index `tail` where a uniform number says wet, else 0.
at::Tensor rain(uint64_t seed, int64_t n, double tail, double wet = 0.3, int64_t side = 16) {
  at::Tensor x = at::empty({n, side, side}, at::kFloat);
  const Key key(seed);
  for (int64_t k = 0; k < x.numel(); ++k) {
    const double u = key.uniform(static_cast<uint64_t>(k));
    x.mutable_data_ptr<float>()[k] = static_cast<float>(u < wet ? std::pow(u / wet, -1 / tail) : 0);
  }
  return x;
}

TEST(FieldScores, EqualThoseOfATableOfOneColumn) {
  const at::Tensor real = rain(1, 300, 6), fake = rain(2, 400, 5);
  const FieldScores s = field_scores(stream(real), stream(fake), {.wet = 0.5, .bootstrap = {.rounds = 20}});
  const at::Tensor a = real.reshape({-1, 1}).to(at::kDouble), b = fake.reshape({-1, 1}).to(at::kDouble);
  const MomentScores m = moment_scores(to_points(a, "real"), to_points(b, "fake"), {.rounds = 0});
  EXPECT_NEAR(s.kr.value, m.kr.value, 1e-9 * (1 + m.kr.value));
  EXPECT_NEAR(s.sr.value, m.sr.value, 1e-9 * (1 + m.sr.value));
  const TailScores t = tail_scores(a, b, {.bootstrap = {.rounds = 0}});
  EXPECT_NEAR(s.tail_ks.value, t.columns[0].above.ks.value, 1e-9);
  EXPECT_NEAR(s.tail_share.value, t.columns[0].above.share.value, 1e-9);
  EXPECT_NEAR(s.wet_real.value, real.ge(0.5).to(at::kDouble).mean().item<double>(), 1e-12);
  EXPECT_EQ(s.real, 300);
  EXPECT_EQ(s.fake, 400);
}

TEST(FieldScores, DoNotDependOnThreadsAndAreNothingForTheSameFields) {
  const at::Tensor real = rain(1, 120, 3);
  const FieldScoreOptions o{.bootstrap = {.rounds = 10}};
  set_thread_count(1);
  const FieldScores one = field_scores(stream(real), stream(rain(2, 90, 3)), o);
  set_thread_count(3);
  const FieldScores three = field_scores(stream(real), stream(rain(2, 90, 3)), o);
  set_thread_count(0);
  EXPECT_EQ(one.kr.high, three.kr.high);
  EXPECT_EQ(one.tail_ks.high, three.tail_ks.high);
  EXPECT_EQ(one.tail_ks_own.high, three.tail_ks_own.high);
  EXPECT_EQ(one.spectrum_distance.value, three.spectrum_distance.value);
  const FieldScores same = field_scores(stream(real), stream(real), o);
  for (const Scored& v : {same.kr, same.sr, same.tail_ks, same.tail_ks_own, same.spectrum_distance})
    EXPECT_EQ(v.value, 0);
  EXPECT_EQ(same.tail_share.value, 1);
}

// Beyond its cut a Pareto law is the same law whatever its scale, which the first distance therefore does not see: half
// the rain is found by each set's own cut alone, where 1 - 2^-tail of the samples lie below the real cut.
TEST(FieldScores, OwnCutSeesTheSizeOfTheExtremes) {
  const double tail = 3;
  const at::Tensor real = rain(5, 4000, tail), fake = rain(6, 4000, tail).mul(0.5);
  const FieldScores s = field_scores(stream(real), stream(fake), {.bootstrap = {.rounds = 20}});
  const double beyond = 0.001 * static_cast<double>(real.numel()), law = std::pow(0.5, tail);
  EXPECT_NEAR(s.tail_share.value, law, 4 * std::sqrt(law / beyond));
  EXPECT_LT(s.tail_ks.value, 1.63 * std::sqrt((1 + 1 / law) / beyond));  // Kolmogorov's 1 % bound
  EXPECT_NEAR(s.tail_ks_own.value, 1 - law, 4 * std::sqrt(law * (1 - law) * 2 / beyond));
  EXPECT_LT(s.tail_ks_own.low, 1 - law);
  EXPECT_GT(s.tail_ks_own.high, 1 - law);
}

// P(X >= x) = wet x^-tail, and the maximum of m pixels exceeds x with 1 - (1 - wet x^-tail)^m.
TEST(FieldScores, CurvesFollowTheLaw) {
  const double tail = 3, wet = 0.3;
  const at::Tensor real = rain(3, 2000, tail), fake = rain(4, 2000, tail);
  const FieldScores s =
      field_scores(stream(real), stream(fake), {.wet = 1, .periods = {10, 100, 5000}, .bootstrap = {.rounds = 100}});
  const auto n = static_cast<double>(real.numel());
  for (size_t k = 0; k < s.exceedance.x.size(); ++k) {
    const double p = wet * std::pow(std::max(1.0, s.exceedance.x[k]), -tail), error = std::sqrt(p * (1 - p) / n);
    EXPECT_NEAR(s.exceedance.real[k].value, p, 4.5 * error + 1 / n) << s.exceedance.x[k];
  }
  for (size_t k = 0; k < 2; ++k) {
    const double period = s.return_levels.x[k], p = 1 - std::pow(1 - 1 / period, 1.0 / 256),
                 level = std::pow(p / wet, -1 / tail);
    const double error = level / tail * std::sqrt(period / 2000);  // of the quantile, to first order
    EXPECT_NEAR(s.return_levels.real[k].value, level, 5 * error);
    EXPECT_NEAR(s.return_levels.fake[k].value, level, 5 * error);
  }
  EXPECT_TRUE(std::isnan(s.return_levels.real[2].value));
  EXPECT_NEAR(s.wet_fake.value, wet, 4 * std::sqrt(wet * (1 - wet) / n));
  EXPECT_GT(s.wet_fake.high, s.wet_fake.low);
}

// White noise has the same power at all wave numbers, its variance; a wave of 8 across has it there.
TEST(Spectrum, KnowsNoiseAndWaves) {
  at::Tensor noise = at::empty({400, 32, 32}, at::kFloat);
  fill_normal(Key(5), 0, noise.numel(), noise.mutable_data_ptr<float>());
  const at::Tensor flat = radial_spectrum(noise).mean(0);
  for (int64_t k = 1; k < 16; ++k) EXPECT_NEAR(flat[k].item<double>(), 1, 0.15) << k;
  at::Tensor wave = at::empty({1, 32, 32}, at::kFloat);
  for (int64_t j = 0; j < 32; ++j)
    for (int64_t i = 0; i < 32; ++i)
      wave.mutable_data_ptr<float>()[j * 32 + i] =
          static_cast<float>(std::sin(2 * std::numbers::pi * 8 * static_cast<double>(i) / 32));
  EXPECT_EQ(radial_spectrum(wave).argmax().item<int64_t>(), 7);
}

TEST(FieldScores, LeaveOutAndCountWhatIsNotFinite) {
  at::Tensor fake = rain(2, 50, 3);
  fake.mutable_data_ptr<float>()[3 * 256] = std::numeric_limits<float>::infinity();
  const FieldScores s = field_scores(stream(rain(1, 50, 3)), stream(fake), {.bootstrap = {.rounds = 5}});
  EXPECT_EQ(s.nonfinite, 1);
  EXPECT_EQ(s.fake, 49);
  EXPECT_TRUE(std::isfinite(s.kr.value));
}

TEST(FieldBins, AreInTheOrderOfValues) {
  const float values[] = {-1e30F, -2, -1, -1e-20F, 0, 1e-20F, 0.1F, 1, 1.01F, 1e30F};
  for (size_t k = 1; k < std::size(values); ++k) EXPECT_LT(field_bin(values[k - 1]), field_bin(values[k]));
  for (const float v : values)
    if (v >= 0) {
      EXPECT_LE(field_bin_edge(field_bin(v)), v);
    }
  EXPECT_EQ(field_bin(-0.0F), field_bin(0.0F));
}

}  // namespace
}  // namespace htfm
