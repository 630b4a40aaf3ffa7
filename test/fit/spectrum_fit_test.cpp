// A model that draws fields too smooth: gains of the scores give its samples the power of the data, and laws that go
// with them keep the distribution of their values.
#include "htfm/fit/spectrum_fit.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "htfm/base/error.h"
#include "htfm/base/random.h"
#include "htfm/field/field_set.h"
#include "htfm/field/transform_json.h"
#include "htfm/metric/field_summary.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

constexpr int64_t kSide = 32, kFields = 400;

// Rain that is a Gaussian field with power that falls with the wave number, and dry where that is small.
at::Tensor rain(Key key, int64_t n = kFields) {
  const SpectrumGain roughness(kSide, kSide, {1, 16}, {6, 0.4});
  at::Tensor out = at::empty({n, 1, kSide, kSide}, at::kFloat);
  std::vector<double> z(kSide * kSide);
  for (int64_t i = 0; i < n; ++i) {
    fill_normal(key, static_cast<uint64_t>(i) * z.size(), static_cast<int64_t>(z.size()), z.data());
    roughness.apply(z);
    float* x = out.mutable_data_ptr<float>() + i * kSide * kSide;
    for (size_t k = 0; k < z.size(); ++k) x[k] = z[k] < 0.5 ? 0.0F : static_cast<float>(0.1 + z[k] - 0.5);
  }
  return out;
}

FieldTransform fitted(const at::Tensor& x) {
  return fit_field_transform({.kind = "scores", .threshold = 0.1, .depth = 1, .reach = 6}, x,
                             at::zeros({x.size(0)}, at::kByte));
}

// What a poor model makes of such fields: small waves too weak, large ones too strong.
at::Tensor smoothed(const FieldTransform& t, const at::Tensor& x) {
  at::Tensor rows = t.apply(x, Key(1)).to(at::kDouble);
  const SpectrumGain poor(kSide, kSide, {1, 4, 16}, {1.6, 1, 0.5});
  for (int64_t i = 0; i < rows.size(0); ++i)
    poor.apply({rows.mutable_data_ptr<double>() + i * rows.size(1), static_cast<size_t>(rows.size(1))});
  return rows;
}

// Of the roots of the values, as training_spectra has it.
std::vector<double> power(const at::Tensor& fields) {
  const at::Tensor mean = radial_spectrum(fields.select(1, 0).sqrt()).mean(0);
  return {mean.const_data_ptr<double>(), mean.const_data_ptr<double>() + mean.numel()};
}

// Standard deviation of log(a / b) over wave numbers.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0, squares = 0;
  const auto n = static_cast<double>(a.size());
  for (size_t k = 0; k < a.size(); ++k) {
    const double x = std::log(a[k] / b[k]);
    sum += x / n, squares += x * x / n;
  }
  return std::sqrt(squares - sum * sum);
}

TEST(SpectrumFit, GivesSamplesThePowerAndTheValuesOfTheData) {
  const at::Tensor data = rain(Key(11));
  const std::vector<double> wanted = power(data);
  FieldTransform t = fitted(data);
  const auto fields_of = [&](const at::Tensor& rows) {
    return t.invert(rows).view({-1, 1, kSide, kSide}).to(at::kFloat);
  };
  const at::Tensor drawn = smoothed(t, rain(Key(12))), fresh = smoothed(t, rain(Key(13)));
  t.calibrate(drawn);
  const double before = distance(power(fields_of(fresh)), wanted);
  // What two sets of so many fields differ by.
  const double scatter = distance(power(rain(Key(14))), wanted);
  const SpectrumFit fit = fit_spectrum(t, drawn, kSide, kSide, {wanted});
  EXPECT_NEAR(fit.before, before, 4 * scatter);
  EXPECT_LT(fit.after, before / 4);
  EXPECT_LT(distance(power(fields_of(fresh)), wanted), before / 4 + 4 * scatter);
  EXPECT_GT(before, 8 * scatter);  // otherwise nothing is shown
  const auto share = [](const at::Tensor& x, double level) {
    return x.gt(level).to(at::kDouble).mean().item<double>();
  };
  for (const double level : {0.0, 1.0, 3.0}) {
    const double p = share(data, level);
    // Fields count, since the points of one depend on each other.
    EXPECT_NEAR(share(fields_of(fresh), level), p, 4 * std::sqrt(2 * p * (1 - p) / kFields)) << level;
  }
  EXPECT_TRUE(t.invert(fresh.view({-1, 1, kSide, kSide})).reshape(fresh.sizes()).equal(t.invert(fresh)));
  const FieldTransform kept = nlohmann::json::parse(nlohmann::json(t).dump()).get<FieldTransform>();
  EXPECT_TRUE(kept.invert(fresh).equal(t.invert(fresh)));
}

TEST(SpectrumFit, LeavesRightSamplesAsTheyAre) {
  const at::Tensor data = rain(Key(21));
  FieldTransform t = fitted(data);
  const at::Tensor rows = t.apply(rain(Key(22)), Key(1)).to(at::kDouble);
  const SpectrumFit fit = fit_spectrum(t, rows, kSide, kSide, {power(data)});
  EXPECT_LE(fit.after, fit.before);
  for (const SpectrumGain& gain : t.gains)
    for (const double g : gain.gains()) EXPECT_NEAR(g, 1, 0.1);
}

TEST(SpectrumFit, PlainChannelsStayAsTheyAre) {
  const at::Tensor wet = rain(Key(31), 200), x = at::stack({wet.select(1, 0), wet.select(1, 0).mul(2).add(280)}, 1);
  FieldTransform t = fit_field_transform({.kind = "scores", .threshold = 0.1, .depth = 1, .reach = 6, .plain = {1}}, x,
                                         at::zeros({200}, at::kByte));
  const at::Tensor rows = t.apply(x, Key(1)).to(at::kDouble);
  const std::vector<double> wanted = power(wet);
  fit_spectrum(t, rows, kSide, kSide, {wanted, wanted});
  ASSERT_EQ(t.gains.size(), 2U);
  EXPECT_FALSE(t.gains[1].there());
  const at::Tensor back = t.invert(rows).narrow(1, kSide * kSide, kSide * kSide);
  EXPECT_LT(back.sub(x.select(1, 1).reshape({200, -1})).abs().max().item<double>(), 1e-4);
}

TEST(SpectrumFit, RefusesFieldsThatAreNoScores) {
  FieldTransform t{.mean = {0}, .deviation = {1}};
  EXPECT_THROW(fit_spectrum(t, at::zeros({10, 64}, at::kDouble), 8, 8, {{1, 1, 1, 1}}), InputError);
  EXPECT_THROW(check_spectrum_sides(3, 8), InputError);
  EXPECT_THROW(check_spectrum_sides(8, 2000), InputError);
  const at::Tensor x = rain(Key(41), 50);
  FieldTransform scored = fitted(x);
  const at::Tensor rows = scored.apply(x, Key(1)).to(at::kDouble);
  EXPECT_THROW(fit_spectrum(scored, rows, kSide, kSide, {{1, 1, 1}}), InputError);  // of another set
}

}  // namespace
}  // namespace htfm
