// Fields as scores: distances from the rain are exact, dry and often repeated values come back as they were, the law of
// the scores is the one that it should be, and samples of another law are set right.
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "htfm/field/field_set.h"
#include "htfm/field/prepare.h"
#include "htfm/field/transform_json.h"
#include "htfm/stat/estimators.h"
#include "test/field/support.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using namespace test;

constexpr double kCap = 5.0, kCapShare = 0.05, kWet = 0.3;

// Dry with probability 1 - kWet; wet values are 0.1 + an exponential law, a share of them equal to kCap.
at::Tensor rain_fields(Key key, int64_t n, int64_t side) {
  at::Tensor x = at::zeros({n, 1, side, side}, at::kFloat);
  for (int64_t k = 0; k < x.numel(); ++k) {
    const auto i = static_cast<uint64_t>(k);
    if (key.child("wet").uniform(i) > kWet) continue;
    const double v = 0.1 - 2 * std::log(key.child("value").uniform(i));
    x.mutable_data_ptr<float>()[k] = static_cast<float>(key.child("cap").uniform(i) < kCapShare ? kCap : v);
  }
  return x;
}

FieldTransform fitted(const at::Tensor& x, FieldTransform settings) {
  return fit_field_transform(settings, x, at::zeros({x.size(0)}, at::kByte));
}

double brute_distance(const std::vector<uint8_t>& wet, int64_t height, int64_t width, int64_t j, int64_t i) {
  double best = 1e300;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      if (wet[static_cast<size_t>(y * width + x)])
        best = std::min(best, std::hypot(static_cast<double>(y - j), static_cast<double>(x - i)));
  return best;
}

TEST(NearestWet, IsTheNearestOfAll) {
  const Key key(7);
  for (const double share : {0.5, 0.02, 0.002}) {
    const int64_t height = 23, width = 37;
    std::vector<uint8_t> wet(static_cast<size_t>(height * width));
    for (size_t k = 0; k < wet.size(); ++k) wet[k] = key.child(std::to_string(share)).uniform(k) < share;
    wet[100] = 1;
    const NearestWet nearest(wet, height, width);
    std::vector<NearestWet::Site> row;
    for (int64_t j = 0; j < height; ++j) {
      nearest.row(j, row);
      for (int64_t i = 0; i < width; ++i) {
        const NearestWet::Site s = row[static_cast<size_t>(i)];
        ASSERT_TRUE(wet[static_cast<size_t>(s.row * width + s.column)]);
        ASSERT_DOUBLE_EQ(std::hypot(static_cast<double>(s.row - j), static_cast<double>(s.column - i)),
                         brute_distance(wet, height, width, j, i));
      }
    }
  }
}

TEST(FieldScores, DistancesAreThoseOfTheWholeFrame) {
  const TemporaryFolder folder;
  const long width = 48, height = 40;
  const auto rain = [](long frame, long j, long i) {
    return (i * 7 + j * 13 + frame * 5) % 97 == 0 && (j + frame) % 3 == 0 ? 1.5 + 0.1 * static_cast<double>(i) : 0.0;
  };
  std::vector<std::string> files;
  for (long frame = 0; frame < 4; ++frame) {
    GribSpec s{.grid = "regular_ll", .width = width, .height = height, .discipline = 209, .category = 6, .number = 1};
    s.surface = 102, s.packing = "grid_png", s.decimals = 1, s.time = 6 * frame;
    s.value = [&, frame](long j, long i) { return rain(frame, j, i); };
    files.push_back(folder / std::to_string(frame));
    write_grib(files.back(), s);
  }
  PrepareSpec spec;
  for (const Recipe& r : recipes())
    if (r.name == "mrms") spec = r.make();
  spec.height = spec.width = 8, spec.tiles = 12;
  spec.transform.kind = "scores", spec.transform.reach = 30;
  prepare_fields(files, spec, folder / "set");
  const FieldSet set = open_field_set(folder / "set");
  std::vector<int64_t> all(static_cast<size_t>(set.size()));
  std::iota(all.begin(), all.end(), int64_t{0});
  const at::Tensor distance = set.distance(all);
  std::vector<std::vector<uint8_t>> frames;
  for (long frame = 0; frame < 4; ++frame) {
    frames.emplace_back();
    for (long j = 0; j < height; ++j)
      for (long i = 0; i < width; ++i) frames.back().push_back(rain(frame, j, i) > 0);
  }
  int64_t beyond = 0;  // points whose nearest rain lies outside of their window
  const at::Tensor inside = dry_distance(set.fields, all, {}, 0.1, 30);
  for (int64_t n = 0; n < set.size(); ++n) {
    const int64_t frame = set.time[n].item<int64_t>() % 3600 / 360, row = set.place[n][0].item<int64_t>(),
                  column = set.place[n][1].item<int64_t>();
    for (int64_t j = 0; j < 8; ++j)
      for (int64_t i = 0; i < 8; ++i) {
        const double expected =
            std::min(30.0, brute_distance(frames[static_cast<size_t>(frame)], height, width, row + j, column + i));
        ASSERT_NEAR(distance[n][0][j][i].item<double>(), expected, 1e-5) << n << " " << j << " " << i;
        beyond += inside[n][0][j][i].item<double>() > expected + 1e-5;
      }
  }
  EXPECT_GT(beyond, 100);
  // The same after a stop: what is kept between has the rain outside as well.
  PrepareSpec resumed = spec;
  resumed.resume = true;
  EXPECT_MENTIONS(input_error([&] {
                    std::vector<std::string> with = files;
                    with.push_back(folder / "none");
                    prepare_fields(with, resumed, folder / "again");
                  }),
                  "none");
  prepare_fields(files, resumed, folder / "again");
  const FieldSet again = open_field_set(folder / "again");
  EXPECT_TRUE(again.outside.site.equal(set.outside.site));
  EXPECT_EQ(again.hash, set.hash);
}

TEST(FieldScores, ComeBackAsTheyWere) {
  const at::Tensor x = rain_fields(Key(1), 60, 16);
  for (const double reach : {0.0, 20.0})
    for (const char* law : {"normal", "logistic"}) {
      const FieldTransform t = fitted(x, {.kind = "scores", .threshold = 0.1, .reach = reach, .scores = law});
      const at::Tensor rows = t.apply(x, Key(2)), back = t.invert(rows).view_as(x);
      for (int64_t k = 0; k < x.numel(); ++k) {
        const float a = x.const_data_ptr<float>()[k], b = back.const_data_ptr<float>()[k];
        if (a == 0 || a == static_cast<float>(kCap))
          ASSERT_EQ(a, b) << law;  // dry values and the cap: exactly
        else
          ASSERT_NEAR(a, b, 1e-4F * (1 + a)) << law;  // float32 of a score, and the slope of the law there
      }
      // Monotone, dry up to the edge, and wet from the threshold on.
      double last = 0;
      for (double y = -6; y < 6; y += 0.001) {
        const double v = t.laws[0].value(y);
        ASSERT_GE(v, last);
        ASSERT_TRUE(y <= t.laws[0].edge() ? v == 0 : v >= 0.1 - 1e-6) << y << " " << v;
        last = v;
      }
      // What is kept is the same map.
      const FieldTransform kept = nlohmann::json::parse(nlohmann::json(t).dump()).get<FieldTransform>();
      EXPECT_TRUE(kept.apply(x, Key(2)).equal(rows));
      EXPECT_TRUE(kept.invert(rows).equal(t.invert(rows)));
      EXPECT_TRUE(t.apply(x.narrow(0, 3, 2), Key(2), 3).equal(rows.narrow(0, 3, 2)));
    }
}

// The law of all scores over the data that it was fitted to is the folded law: each half has its share, and within each
// half levels are even. Distances take whole steps, so their levels are even only to the share of the most frequent
// one.
TEST(FieldScores, HaveTheirLaw) {
  const at::Tensor x = rain_fields(Key(3), 200, 16);
  const FieldTransform t = fitted(x, {.kind = "scores", .threshold = 0.1, .reach = 20});
  const at::Tensor rows = t.apply(x, Key(4)).to(at::kDouble);
  std::vector<double> wet, dry;
  for (int64_t k = 0; k < rows.numel(); ++k) {
    const double y = t.mean[0] + t.deviation[0] * rows.const_data_ptr<double>()[k];
    (y > 0 ? wet : dry).push_back(std::erf(std::abs(y) * M_SQRT1_2));
  }
  const double n = static_cast<double>(rows.numel());
  EXPECT_DOUBLE_EQ(t.laws[0].wet_share(), static_cast<double>(wet.size()) / n);
  for (std::vector<double>* side : {&wet, &dry}) {
    std::sort(side->begin(), side->end());
    double worst = 0;
    for (size_t i = 0; i < side->size(); ++i)
      worst =
          std::max(worst, std::abs((*side)[i] - (static_cast<double>(i) + 0.5) / static_cast<double>(side->size())));
    // Values are spread within their own intervals alone: sqrt(1/4 / count in the interval), and knots are 1/2000
    // apart.
    EXPECT_LT(worst, 2.0 / std::sqrt(static_cast<double>(side->size())) + 1e-3);
  }
  EXPECT_NEAR(rows.mean().item<double>(), 0, 0.02);
  EXPECT_NEAR(rows.square().mean().item<double>(), 1, 0.02);
}

// Maxima that pile up at their end, as a product's cap makes them: nothing is larger than the largest value.
TEST(FieldScores, EndWithTheDataAtACap) {
  at::Tensor x = at::zeros({800, 1, 8, 8}, at::kFloat);
  for (int64_t k = 0; k < x.numel(); ++k)
    x.mutable_data_ptr<float>()[k] = static_cast<float>(0.1 + 10 * Key(12).uniform(static_cast<uint64_t>(k)));
  const FieldTransform t = fitted(x, {.kind = "scores", .threshold = 0.1});
  EXPECT_EQ(t.laws[0].value(8), x.max().item<double>());
}

TEST(FieldScores, EndWhereTheFieldsMaximaEnd) {
  const Key key(5);
  for (const bool bounded : {true, false}) {
    at::Tensor x = at::zeros({800, 1, 8, 8}, at::kFloat);
    for (int64_t k = 0; k < x.numel(); ++k) {
      const double u = key.uniform(static_cast<uint64_t>(k));
      // A law with an end at 10.1, or a power law.
      x.mutable_data_ptr<float>()[k] = static_cast<float>(0.1 + (bounded ? 10 * (1 - std::pow(u, 0.4)) : 1 / u));
    }
    const FieldTransform t = fitted(x, {.kind = "scores", .threshold = 0.1});
    const double far = t.laws[0].value(8), largest = x.max().item<double>();
    if (bounded) {
      EXPECT_FALSE(t.laws[0].values().above().there());
      EXPECT_LT(far, 10.6);
      EXPECT_GE(far, largest);
    } else {
      EXPECT_GT(far, 5 * largest);  // P = 1e-15, where the data end at about 2e-5
    }
  }
}

// A model whose scores have another law, with too much rain: after calibration, samples of that law have the data's.
TEST(FieldScores, AreSetRightBySamples) {
  const at::Tensor x = rain_fields(Key(6), 400, 16);
  FieldTransform t = fitted(x, {.kind = "scores", .threshold = 0.1, .reach = 20});
  const auto distorted = [&](Key key) {
    at::Tensor rows = t.apply(x, key).to(at::kDouble);
    rows.mul_(0.8).add_(0.2);
    return rows;
  };
  const auto wet_share = [&](const at::Tensor& fields) { return fields.gt(0).to(at::kDouble).mean().item<double>(); };
  const double right = wet_share(x), before = wet_share(t.invert(distorted(Key(8))));
  EXPECT_GT(std::abs(before - right), 0.02);
  const FieldTransform uncalibrated = t;
  t.calibrate(distorted(Key(9)));
  EXPECT_TRUE(t.calibrated());
  const at::Tensor after = t.invert(distorted(Key(8)));
  // Knots of the calibration are 0.03 scores apart; a linear map is exact between them.
  EXPECT_NEAR(wet_share(after), right, 0.003);
  EXPECT_NEAR(after.eq(kCap).to(at::kDouble).mean().item<double>(), kCapShare * kWet, 0.003);
  EXPECT_NEAR(after.mean().item<double>(), x.to(at::kDouble).mean().item<double>(), 0.01);
  const FieldTransform kept = nlohmann::json::parse(nlohmann::json(t).dump()).get<FieldTransform>();
  EXPECT_TRUE(kept.invert(distorted(Key(8))).equal(after));
  EXPECT_FALSE(uncalibrated.calibrated());
}

TEST(FieldScores, HiddenValuesByDistanceGoWithValuesAsTheyAre) {
  const at::Tensor x = rain_fields(Key(11), 50, 16);
  const FieldTransform t = fitted(x, {.threshold = 0.1, .quantum = 0.1, .depth = 3, .reach = 16});
  const at::Tensor rows = t.apply(x, Key(1));
  EXPECT_NEAR(rows.mean().item<double>(), 0, 0.01);
  EXPECT_NEAR(rows.square().mean().item<double>(), 1, 0.01);
  EXPECT_TRUE(t.invert(rows).view_as(x).eq(0).equal(x.eq(0)));
}

// Dry scores fall with the distance down to the depth; what is wet has its law, and all comes back.
TEST(FieldScores, DryPointsLieAtADepth) {
  constexpr double kDepth = 1.5, kReach = 4;
  const at::Tensor x = rain_fields(Key(13), 50, 16);
  x.narrow(3, 6, 10).zero_();
  const FieldTransform t = fitted(x, {.kind = "scores", .threshold = 0.1, .depth = kDepth, .reach = kReach});
  const at::Tensor rows = t.apply(x, Key(1));
  EXPECT_NEAR(rows.mean().item<double>(), 0, 0.01);
  EXPECT_NEAR(rows.square().mean().item<double>(), 1, 0.01);
  EXPECT_TRUE(t.invert(rows).view_as(x).eq(0).equal(x.eq(0)));
  std::vector<int64_t> all(50);
  std::iota(all.begin(), all.end(), int64_t{0});
  const at::Tensor distance = dry_distance(x, all, {}, 0.1, kReach);
  int64_t near = 0, far = 0;
  for (int64_t k = 0; k < rows.numel(); ++k) {
    const double d = distance.const_data_ptr<float>()[k],
                 score = t.mean[0] + t.deviation[0] * rows.const_data_ptr<float>()[k];
    if (d <= 0) {
      EXPECT_GE(score, 0);
    } else if (d < kReach) {
      EXPECT_NEAR(score, -kDepth * d / kReach, 1e-5);
      ++near;
    } else {
      EXPECT_LE(score, -kDepth + 1e-5);
      EXPECT_GE(score, -1.1 * kDepth - 1e-5);
      ++far;
    }
  }
  EXPECT_GT(near, 0);
  EXPECT_GT(far, 0);
}

TEST(FieldScores, RefuseWhatMakesNoSense) {
  EXPECT_MENTIONS(input_error([] { FieldTransform{.reach = 5}.check(); }), "[dry-reach] expected --threshold");
  EXPECT_MENTIONS(input_error([] { FieldTransform{.threshold = 0.1, .reach = 5}.check(); }), "--dry-depth");
  EXPECT_MENTIONS(input_error([] { FieldTransform{.kind = "scores", .threshold = 0.1, .quantum = 1}.check(); }),
                  "[dequantise] expected none with --transform scores");
  EXPECT_MENTIONS(input_error([] { FieldTransform{.kind = "scores", .threshold = 0.1, .depth = 1}.check(); }),
                  "[dry-depth] expected --dry-reach");
  EXPECT_MENTIONS(input_error([] { FieldTransform{.kind = "scores", .scores = "cauchy"}.check(); }), "normal");
  const at::Tensor dry = at::zeros({3, 1, 4, 4}, at::kFloat);
  EXPECT_MENTIONS(input_error([&] { fitted(dry, {.kind = "scores", .threshold = 0.1}); }), "only dry ones");
}

}  // namespace
}  // namespace htfm
