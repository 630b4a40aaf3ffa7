// Prepared sets: which fields they hold, how a network sees them and back, and that nothing half-made is left.
#include "htfm/field/prepare.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "htfm/field/field_set.h"
#include "htfm/field/time_part.h"
#include "test/field/support.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using namespace test;

PrepareSpec recipe(const std::string& name) {
  for (const Recipe& r : recipes())
    if (r.name == name) return r.make();
  throw std::runtime_error(name);
}

TEST(Prepare, HrrrRecipeTakesTheColumnOfTheAnalysisOverTheMiddle) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (const long year : {2019L, 2020L, 2021L, 2022L}) {
    const std::string path = folder / std::to_string(year);
    GribSpec other{.number = 1, .date = year * 10000 + 101};  // another variable, and a forecast of the same
    GribSpec later{.date = year * 10000 + 101, .step = 1};
    GribSpec vil{.date = year * 10000 + 101, .packing = "grid_jpeg"};
    vil.value = [year](long j, long i) { return static_cast<double>((j - 465 + 2 * (i - 835) + year) % 64); };
    write_grib(path, other), write_grib(path, later), write_grib(path, vil);
    files.push_back(path);
  }
  const PrepareSummary s = prepare_fields(files, recipe("hrrr-vil"), folder / "set");
  EXPECT_EQ(s.train, 2);
  EXPECT_EQ(s.test, 1);
  EXPECT_EQ(s.neither, 1);
  const FieldSet set = open_field_set(folder / "set");
  ASSERT_EQ(set.fields.sizes(), at::IntArrayRef({3, 1, 128, 128}));
  EXPECT_TRUE(set.south_first);
  EXPECT_EQ(set.part(true), std::vector<int64_t>{2});
  for (int64_t f = 0; f < 3; ++f)
    for (int64_t j = 0; j < 128; ++j)
      for (int64_t i = 0; i < 128; ++i)
        ASSERT_NEAR(set.fields[f][0][j][i].item<double>(), static_cast<double>((j + 2 * i + 2019 + f) % 64), 1e-3);
  EXPECT_NEAR(set.corners[0][0].item<double>(), 36.7, 0.2);
  // Mean 0 and deviation 1 over the training part.
  const at::Tensor rows = set.transform.apply(set.take(set.part(false)), Key(1));
  EXPECT_NEAR(rows.mean().item<double>(), 0, 1e-5);
  EXPECT_NEAR(rows.square().mean().item<double>(), 1, 1e-5);
}

GribSpec radar(long frame) {
  GribSpec s{
      .grid = "regular_ll", .width = 40, .height = 32, .discipline = 209, .category = 6, .number = 1, .surface = 102};
  s.packing = "grid_png", s.decimals = 1, s.time = 6 * frame;
  // No coverage at the left; a hole in the third frame.
  s.value = [frame](long j, long i) {
    return i < 9 || (frame == 2 && j == 9 && i == 17) ? -3.0 : (i + j + frame) % 5 == 0 ? 2.5 : 0.0;
  };
  return s;
}

TEST(Prepare, RadarRecipeCutsWindowsInsideTheCoverageAndHoldsTheLastFramesOut) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (const long frame : {3L, 0L, 1L, 2L}) {  // not in the order of time
    files.push_back(folder / std::to_string(frame));
    write_grib(files.back(), radar(frame));
  }
  PrepareSpec spec = recipe("mrms");
  spec.height = spec.width = spec.tiles = 8;
  const PrepareSummary s = prepare_fields(files, spec, folder / "set");
  EXPECT_EQ(s.windows, 5 * 4);
  EXPECT_EQ(s.covered, 3 * 4);  // the first two columns of windows see the edge
  EXPECT_EQ(s.missing, 1);
  EXPECT_EQ(s.test, 12);
  EXPECT_EQ(s.train, 3 * 12 - 1);
  const FieldSet set = open_field_set(folder / "set");
  for (const int64_t i : set.part(true)) EXPECT_EQ(set.time[i].item<int64_t>() % 3600, 18 * 60);
  EXPECT_GE(set.fields.min().item<double>(), 0);
  EXPECT_EQ(set.channels, std::vector<std::string>{"PrecipRate"});
  EXPECT_EQ(set.units, std::vector<std::string>{"mm/h"});
  const auto provenance = nlohmann::json::parse(set.provenance);
  EXPECT_EQ(provenance.at("dropped_missing"), 1);
  EXPECT_EQ(provenance.at("files").size(), 4U);
  // What a network sees of the training part has mean 0 and deviation 1, however dry values are spread.
  for (const double depth : {0.0, 0.5}) {
    spec.transform.quantum = 0.1, spec.transform.depth = depth;
    prepare_fields(files, spec, folder / "spread");
    const FieldSet spread = open_field_set(folder / "spread");
    const at::Tensor rows = spread.transform.apply(spread.take(spread.part(false)), Key(3)).to(at::kDouble);
    const double n = static_cast<double>(rows.numel());
    EXPECT_NEAR(rows.mean().item<double>(), 0, 4 / std::sqrt(n)) << depth;
    EXPECT_NEAR(rows.square().mean().item<double>(), 1, 0.02) << depth;
  }
}

TEST(Prepare, WindowsToTrainOnMayLieCloserThanThoseHeldOut) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (const long frame : {0L, 1L, 3L, 4L}) {  // without the one that has a hole
    files.push_back(folder / std::to_string(frame));
    write_grib(files.back(), radar(frame));
  }
  PrepareSpec spec = recipe("mrms");
  spec.height = spec.width = spec.tiles = 8;
  prepare_fields(files, spec, folder / "side by side");
  spec.train_tiles = 3;
  const PrepareSummary s = prepare_fields(files, spec, folder / "close");
  const FieldSet plain = open_field_set(folder / "side by side"), close = open_field_set(folder / "close");
  EXPECT_EQ(s.train, 3 * 9 * 8) << "rows 0, 3, .., 24 and columns 9, 12, .., 30 of 32 x 40";
  EXPECT_EQ(s.test, 12);
  EXPECT_TRUE(close.take(close.part(true)).equal(plain.take(plain.part(true)))) << "what is held out stays as it is";
  for (const int64_t i : close.part(false))
    for (int64_t k = 0; k < 2; ++k) EXPECT_EQ(close.place[i][k].item<int64_t>() % 3, 0);
  // The value at a point of the grid is the same in every window that has it.
  for (const int64_t i : close.part(false)) {
    const int64_t frame = close.time[i].item<int64_t>() % 3600 / 360, row = close.place[i][0].item<int64_t>(),
                  column = close.place[i][1].item<int64_t>();
    EXPECT_EQ(close.fields[i][0][1][2].item<double>(), (row + 1 + column + 2 + frame) % 5 == 0 ? 2.5 : 0.0);
  }
  EXPECT_EQ(nlohmann::json::parse(close.provenance).at("train_tiles"), 3);
  spec.tiles = 0, spec.offset = {0, 9};
  EXPECT_MENTIONS(input_error([&] { prepare_fields(files, spec, folder / "none"); }),
                  "[train-tiles] expected --tiles too");
}

TEST(Prepare, RefusesInOneLineAndLeavesNothing) {
  const TemporaryFolder folder, results;
  write_grib(folder / "a", radar(0));
  GribSpec wide = radar(1);
  wide.width = 48;
  write_grib(folder / "wide", wide);
  write_grib(folder / "same", radar(0));
  GribSpec two = radar(5);
  write_grib(folder / "twice", two), write_grib(folder / "twice", two);
  GribSpec nothing = radar(6);
  nothing.value = [](long j, long i) { return j + i == 0 ? -2.9 : -3.0; };
  write_grib(folder / "nothing", nothing);
  PrepareSpec spec = recipe("mrms");
  spec.height = spec.width = spec.tiles = 8, spec.test = "";
  const auto refusal = [&](const std::vector<std::string>& names, const PrepareSpec& s) {
    std::vector<std::string> files;
    files.reserve(names.size());
    for (const std::string& n : names) files.push_back(folder / n);
    std::string text = input_error([&] { prepare_fields(files, s, results / "set"); });
    EXPECT_EQ(results.count(), 0) << text;
    return text;
  };
  EXPECT_MENTIONS(refusal({"a", "wide"}, spec), "wide: expected the grid of ");
  EXPECT_MENTIONS(refusal({"a", "wide"}, spec), "(regular_ll, 32 x 40), got regular_ll, 32 x 48");
  EXPECT_MENTIONS(refusal({"a", "same"}, spec),
                  "same: expected each time in one file only, got 2019-06-10 00:00 here and in ");
  EXPECT_MENTIONS(refusal({"twice"}, spec), "twice: expected one field for '209/6/1' at 2019-06-10 00:30, got several");
  EXPECT_MENTIONS(refusal({"nothing"}, spec), "nothing: expected windows of 8 x 8 inside the coverage, got none of 20");
  GribSpec drought = radar(7);
  drought.value = [](long j, long i) { return j + i == 0 ? 0.05 : 0.0; };
  write_grib(folder / "drought", drought);
  PrepareSpec spread = spec;
  spread.transform.quantum = 0.1;
  EXPECT_MENTIONS(refusal({"drought"}, spread), "that vary, got only dry ones");
  PrepareSpec vil = spec;
  vil.channels = {{.code = ParameterCode{0, 15, 3}}};
  EXPECT_MENTIONS(refusal({"a"}, vil), "a: expected 0/15/3, got unknown (209/6/1)");
  PrepareSpec years = spec;
  years.train = "2020";
  EXPECT_MENTIONS(refusal({"a"}, years),
                  "a: expected fields to train on (2020), got none: all fields have the time 2019-06-10 00:00");
  PrepareSpec large = spec;
  large.height = 64;
  EXPECT_MENTIONS(refusal({"a"}, large), "expected a window inside the grid");
  const std::string bytes = slurp(folder / "a");
  spill(folder / "cut", bytes.substr(0, bytes.size() - 60));
  EXPECT_MENTIONS(refusal({"a", "cut"}, spec), "cut: message 1: truncated or damaged");
  EXPECT_MENTIONS(refusal({"absent"}, spec), "absent");
}

TEST(Prepare, NetcdfFieldsSplitByYear) {
  const TemporaryFolder folder;
  write_netcdf(folder / "a.nc");
  PrepareSpec spec;
  spec.channels = {{.name = "rain"}};
  spec.box = {{40, 10}, {43, 13}};
  spec.test = "2021";
  const PrepareSummary s = prepare_fields({folder / "a.nc"}, spec, folder / "set");
  EXPECT_EQ(s.missing, 1);  // 23:00, with its hole
  EXPECT_EQ(s.train, 1);    // 22:00
  EXPECT_EQ(s.test, 2);     // after midnight
  const FieldSet set = open_field_set(folder / "set");
  EXPECT_EQ(set.fields.sizes(), at::IntArrayRef({3, 1, 4, 4}));
  EXPECT_EQ(set.units, std::vector<std::string>{"mm/h"});
  EXPECT_EQ(set.fields[2][0][3][3].item<double>(), 3 + 3 + 1.5);
}

TEST(FieldSet, DamageIsFound) {
  const TemporaryFolder folder;
  write_netcdf(folder / "a.nc");
  PrepareSpec spec;
  spec.channels = {{.name = "rain"}};
  prepare_fields({folder / "a.nc"}, spec, folder / "set");
  EXPECT_TRUE(is_field_set(folder / "set"));
  EXPECT_FALSE(is_field_set(folder / "a.nc"));
  std::string bytes = slurp(folder / "set");
  bytes[bytes.size() - 5] ^= 1;
  spill(folder / "bad", bytes);
  EXPECT_MENTIONS(input_error([&] { open_field_set(folder / "bad"); }), "bad: damaged");
  spill(folder / "cut", bytes.substr(0, bytes.size() - 64));
  EXPECT_MENTIONS(input_error([&] { open_field_set(folder / "cut"); }), "cut");
  // What does not go together is told with what there is.
  FieldSet set = open_field_set(folder / "set");
  set.place = set.place.clone();
  set.place[1][0] = 1000;
  write_field_set(folder / "place", set);
  EXPECT_MENTIONS(input_error([&] { open_field_set(folder / "place"); }), "got field 2 at row 1000, column 0");
}

TEST(FieldTransform, GoesThereAndBack) {
  const at::Tensor x = at::empty({3, 2, 4, 4}, at::kFloat);
  for (int64_t k = 0; k < x.numel(); ++k)
    x.mutable_data_ptr<float>()[k] = static_cast<float>(k % 7 == 0 ? 0 : 0.1 * static_cast<double>(k * k % 977));
  for (const char* kind : {"none", "log1p", "asinh"}) {
    FieldTransform t{.kind = kind, .unit = 2, .mean = {0.3, 1}, .deviation = {2, 0.5}};
    const at::Tensor back = t.invert(t.apply(x, Key(1)));
    EXPECT_LT(back.view_as(x).sub(x).abs().max().item<double>(), 1e-4) << kind;  // float32 of values up to 98
    // With a threshold and a quantum every value comes back within half the quantum, and dry ones as exactly 0.
    t.threshold = 0.1, t.quantum = 0.1;
    const at::Tensor y = t.invert(t.apply(x, Key(1))).view_as(x);
    for (int64_t k = 0; k < x.numel(); ++k) {
      const float a = x.const_data_ptr<float>()[k], b = y.const_data_ptr<float>()[k];
      if (a == 0)
        EXPECT_EQ(b, 0);
      else
        EXPECT_NEAR(a, b, 0.0501) << kind << " " << k;
    }
    t.depth = 1.5;  // dry ones further down: they still come back as 0
    const at::Tensor deep = t.apply(x, Key(1)), z = t.invert(deep).view_as(x);
    EXPECT_TRUE(z.eq(0).equal(x.eq(0)));
    EXPECT_LT(z.sub(x).abs().max().item<double>(), 0.0501);
    const auto seen = [&](double v) { return (t.bend()(v / t.unit) - 0.3) / 2; };
    const double lowest = deep.narrow(1, 0, 16).min().item<double>();
    EXPECT_GT(lowest, seen(0.1 - 1.5) - 1e-6);
    EXPECT_LT(lowest, seen(0));
    // A part of a batch is that part of the whole.
    EXPECT_TRUE(t.apply(x.narrow(0, 1, 2), Key(1), 1).equal(t.apply(x, Key(1)).narrow(0, 1, 2)));
  }
  EXPECT_MENTIONS(input_error([] { FieldTransform{.quantum = 0.1}.check(); }), "[dequantise]");
  EXPECT_MENTIONS(input_error([] { FieldTransform{.threshold = 0.1, .depth = 1}.check(); }), "[dry-depth]");
  EXPECT_MENTIONS(
      input_error([] { FieldTransform{.kind = "log1p", .threshold = 0.1, .quantum = 0.1, .depth = 2}.check(); }),
      "[dry-depth]");
  EXPECT_MENTIONS(input_error([] { FieldTransform{.kind = "log"}.check(); }), "expected one of none, log1p, asinh");
}

TEST(TimePart, ChoosesYearsMonthsAndTheLastShare) {
  const auto at = [](int64_t year, int64_t month) {
    return int64_t{31557600} * (year - 1970) + int64_t{2629800} * (month - 1) + 1000000;
  };
  const std::vector<int64_t> times{at(2019, 6), at(2020, 6), at(2020, 7), at(2021, 1)};
  const auto chosen = [&](const std::string& text) { return TimePart(text, "test").of(times); };
  EXPECT_EQ(chosen("2020"), (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(chosen("2019,2021"), (std::vector<bool>{true, false, false, true}));
  EXPECT_EQ(chosen("2020-07"), (std::vector<bool>{false, false, true, false}));
  EXPECT_EQ(chosen("06"), (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(chosen("0.25"), (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(chosen("0.5"), (std::vector<bool>{false, false, true, true}));
  EXPECT_TRUE(TimePart("", "test").empty());
  for (const char* bad : {"x", "1.5", "2020,0.5", "13", "2020-13", "-1"})
    EXPECT_MENTIONS(input_error([&] { TimePart(bad, "test"); }), "[test] expected years");
}

}  // namespace
}  // namespace htfm
