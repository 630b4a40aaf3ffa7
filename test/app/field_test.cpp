// Fields as a user meets them: prepared, trained on, sampled, scored, shown.
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "htfm/io/npy.h"
#include "htfm/io/png.h"
#include "test/app/support.h"
#include "test/field/support.h"

namespace htfm {
namespace {

using nlohmann::json;

class Fields : public testing::Test {
 protected:
  Fields() {
    for (long frame = 0; frame < 8; ++frame) {
      test::GribSpec s{.grid = "regular_ll",
                       .width = 48,
                       .height = 32,
                       .discipline = 209,
                       .category = 6,
                       .number = 1,
                       .surface = 102};
      s.packing = "grid_png", s.decimals = 1, s.time = 6 * frame;
      s.value = [frame](long j, long i) {
        const double wave =
            std::sin(0.7 * static_cast<double>(i + frame)) * std::cos(0.5 * static_cast<double>(j - frame));
        return i < 3 ? -3.0 : std::round(10 * std::max(0.0, std::exp(3 * wave) - 4)) / 10;
      };
      test::write_grib(place_ / ("frame" + std::to_string(frame) + ".grib2"), s);
    }
  }
  void expect_refusal(const std::string& arguments, const std::string& part,
                      const std::string& environment = "") const {
    const Outcome r = place_.run(arguments, environment);
    EXPECT_EQ(r.code, 2) << arguments << "\n" << r.err;
    // On a slow machine lines of progress stand before it.
    const std::string line = r.err.substr(std::min(r.err.find("htfm: "), r.err.size()));
    EXPECT_NE(line.find(part), std::string::npos) << r.err;
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << r.err;
    EXPECT_TRUE(line == r.err || r.err.starts_with("prepare: ")) << r.err;
  }
  Workplace place_;
  const std::string prepare_ = "prepare . --recipe mrms --size 8 --tiles 8 -o rain.fields ";
};

TEST_F(Fields, ArePreparedTrainedSampledAndScored) {
  Outcome r = place_.run(prepare_ + "--json --transform log1p --dequantise 0.1");
  ASSERT_EQ(r.code, 0) << r.err;
  json j = json::parse(r.out);
  EXPECT_EQ(j.at("frames"), 8);
  EXPECT_EQ(j.at("windows"), 24);
  EXPECT_EQ(j.at("windows_covered"), 20);
  EXPECT_EQ(j.at("train"), 6 * 20);
  EXPECT_EQ(j.at("test"), 2 * 20);

  place_.write("c.toml",
               "[data]\nkind = \"fields\"\npath = \"rain.fields\"\n[net]\nwidth = 16\n[train]\nepochs = 2\nbatch = 60\n"
               "[sample]\nsolver = \"euler\"\nnfe = 4\n");
  r = place_.run("train c.toml -o run");
  ASSERT_EQ(r.code, 0) << r.err;
  r = place_.run("sample run -n 50 -o s.npy --area a.npy --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const at::Tensor samples = read_npy(place_ / "s.npy");
  ASSERT_EQ(samples.sizes(), at::IntArrayRef({50, 1, 8, 8}));
  // In the field's own units: never negative, and either dry or at least the threshold.
  EXPECT_TRUE(samples.eq(0).logical_or(samples.ge(0.0999)).all().item<bool>());
  r = place_.run("eval --real rain.fields --fake s.npy --json --maps m.png --page p.html --bootstrap 20 --shown 3");
  ASSERT_EQ(r.code, 0) << r.err;
  j = json::parse(r.out);
  EXPECT_EQ(j.at("n_real"), 40);
  EXPECT_EQ(j.at("n_fake"), 50);
  for (const char* key :
       {"kr", "sr", "tail_share", "wet_real", "wet_fake", "spectrum_distance", "return_level_10_real", "wet_fake_high"})
    EXPECT_TRUE(j.contains(key)) << key;
  EXPECT_DOUBLE_EQ(j.at("wet_threshold"), 0.1);
  EXPECT_EQ(read_png(place_ / "m.png").size(0), 3);
  EXPECT_NE(slurp(place_ / "p.html").find("Radial power spectrum"), std::string::npos);
  // Training fields against those held out: a yardstick.
  r = place_.run("eval --real rain.fields --fake rain.fields --json --bootstrap 0");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(json::parse(r.out).at("n_fake"), 120);
  r = place_.run("report run -n 30 -o r.html");
  ASSERT_EQ(r.code, 0) << r.err;
  const std::string page = slurp(place_ / "r.html");
  for (const char* part : {"data:image/png", "<title>PrecipRate (mm/h) under the clock ", "Training", "Configuration"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  // The same samples for other programs.
  r = place_.run("sample run -n 20 -o s.nc");
  ASSERT_EQ(r.code, 0) << r.err;
  r = place_.run("info s.nc --json --values");
  ASSERT_EQ(r.code, 0) << r.err;
  j = json::parse(r.out).at("fields").at(0);
  EXPECT_EQ(j.at("variable"), "PrecipRate");
  EXPECT_EQ(j.at("units"), "mm/h");
  EXPECT_EQ(j.at("fields"), 20);
  EXPECT_EQ(j.at("highest"), samples.narrow(0, 0, 20).max().item<double>());
  r = place_.run("export rain.fields -o set.nc --part held-out");
  ASSERT_EQ(r.code, 0) << r.err;
  r = place_.run("info set.nc --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(json::parse(r.out).at("fields").at(0).at("fields"), 40);
  r = place_.run("info rain.fields");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("PrecipRate"), std::string::npos);
  expect_refusal("sample run -n 300 -o s.grib2", "write NetCDF");
  EXPECT_FALSE(std::filesystem::exists(place_ / "r.html.samples.npy"));
  expect_refusal("train c.toml --set data.holdout=0.1 -o other", "[data.holdout]");
  write_npy(place_ / "small.npy", samples.narrow(2, 0, 4));
  expect_refusal("eval --real rain.fields --fake small.npy",
                 "small.npy: expected fields of 1 x 8 x 8 = 64 numbers, got 32");
}

// After `htfm calibrate` samples have the training part's dry share and end where its values end, whatever the network
// has learned; the run goes on training from its checkpoint.
TEST_F(Fields, ScoresAreSetRightBySamples) {
  Outcome r = place_.run(prepare_ + "--json --transform scores --dry-reach 20");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(json::parse(r.out).at("transform").get<std::string>().find("normal scores"), std::string::npos);
  const std::string settings =
      "--set data.path=rain.fields --set data.kind=fields --set net.width=16 "
      "--set train.batch=60 --set sample.nfe=4 --set sample.solver=euler ";
  r = place_.run("train " + settings + "--set train.epochs=2 -o run");
  ASSERT_EQ(r.code, 0) << r.err;
  r = place_.run("calibrate run -n 400 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const json j = json::parse(r.out);
  const double wet = j.at("wet_train");
  EXPECT_NEAR(j.at("wet_after").get<double>(), wet, 0.005);  // of the samples that it was set right by
  EXPECT_GT(std::abs(j.at("wet_before").get<double>() - wet), 0.01);
  r = place_.run("sample run -n 400 -o s.npy");
  ASSERT_EQ(r.code, 0) << r.err;
  const at::Tensor samples = read_npy(place_ / "s.npy");
  // Points of a field depend on each other: 400 fields count, and the samples of the calibration err as well.
  EXPECT_NEAR(samples.gt(0).to(at::kDouble).mean().item<double>(), wet, 4 * std::sqrt(2 * wet * (1 - wet) / 400));
  EXPECT_TRUE(samples.eq(0).logical_or(samples.ge(0.0999)).all().item<bool>());
  r = place_.run("train --resume -o run --set train.epochs=3");
  EXPECT_EQ(r.code, 0) << r.err;
  expect_refusal("reproduce weather-cascade --data rain.fields --only absent -o cascade",
                 "[--only] no cell matches 'absent'; the cells are: cascade-alpha-1.7-seed0");
  EXPECT_FALSE(std::filesystem::exists(place_ / "cascade"));
  expect_refusal("prepare . --recipe mrms --size 8 --tiles 8 -o x.fields --transform scores --dequantise 0.1",
                 "[dequantise] expected none with --transform scores");
  ASSERT_EQ(place_.run("train --set data.n=100 --set train.epochs=1 -o points").code, 0);
  expect_refusal("calibrate points -n 1000", "expected a run of fields prepared with --transform scores");
}

// In a small run of the experiment scores are set right by as many fields as are scored, and not by thousands.
TEST_F(Fields, TheExperimentCalibratesInProportion) {
  ASSERT_EQ(place_.run(prepare_).code, 0);
  const Outcome r = place_.run(
      "reproduce weather --data rain.fields --seeds 1 --only =scores-G,=G -o w --json --set unet.base=8 --set "
      "unet.multipliers=1 --set unet.blocks=1 --set unet.attention= --set unet.heads=1 --set train.epochs=1 "
      "--set sample.n=30 --set sample.nfe=2");
  ASSERT_EQ(r.code, 0) << r.err;
  for (const json& cell : json::parse(slurp(place_ / "w/weather.json")).at("cells")) {
    const std::string name = cell.at("cell");
    if (name == "training part") continue;
    EXPECT_EQ(cell.at("calibration_fields"), name.starts_with("scores-") ? 30 : 0) << name;
  }
}

// `htfm calibrate --spectrum` also brings the shape of the spectrum nearer to that of the training part, in the
// checkpoint that is sampled from and trained on; without the set that the run was trained on it changes nothing.
TEST_F(Fields, TheSpectrumIsSetRightBySamples) {
  ASSERT_EQ(place_.run(prepare_ + "--transform scores --dry-reach 20").code, 0);
  const std::string settings =
      "--set data.path=rain.fields --set data.kind=fields --set net.width=16 --set train.batch=60 "
      "--set train.epochs=2 --set sample.nfe=4 --set sample.solver=euler -o run";
  ASSERT_EQ(place_.run("train " + settings).code, 0);
  Outcome r = place_.run("calibrate run -n 400 --spectrum --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const json j = json::parse(r.out);
  EXPECT_GT(j.at("spectrum_before").get<double>(), 0);
  EXPECT_LT(j.at("spectrum_after").get<double>(), j.at("spectrum_before").get<double>());
  EXPECT_NEAR(j.at("wet_after").get<double>(), j.at("wet_train").get<double>(), 0.005);
  r = place_.run("sample run -n 50 -o s.npy --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(json::parse(r.out).at("transform").get<std::string>().find("and so is the spectrum"), std::string::npos);
  EXPECT_TRUE(read_npy(place_ / "s.npy").isfinite().all().item<bool>());
  EXPECT_EQ(place_.run("train --resume -o run --set train.epochs=3").code, 0);
  std::filesystem::rename(place_ / "rain.fields", place_ / "other.fields");
  expect_refusal("calibrate run -n 400 --spectrum",
                 "[--spectrum] rain.fields: expected the prepared set that the run was trained on, got none");
  ASSERT_EQ(place_.run("prepare . --recipe mrms --size 4 --tiles 8 -o rain.fields --transform scores").code, 0);
  expect_refusal("calibrate run -n 400 --spectrum",
                 "[--spectrum] rain.fields: expected the prepared set that the run was trained on, got another one");
}

// A model that is given means is set right by samples given those means that it will be given, here few ones with rain:
// its law of all points then is the training part's under these, and not under the means of training.
TEST_F(Fields, ScoresGivenMeansAreSetRightBySamplesGivenTheSame) {
  ASSERT_EQ(place_.run(prepare_ + "--transform scores --dry-reach 8").code, 0);
  const std::string settings =
      "--set data.path=rain.fields --set data.kind=fields --set net.width=16 --set condition.field=2x2 "
      "--set train.batch=60 --set train.epochs=2 --set sample.nfe=4 --set sample.solver=euler ";
  Outcome r = place_.run("train " + settings + "-o run");
  ASSERT_EQ(r.code, 0) << r.err;
  write_npy(place_ / "dry.npy", at::full({300, 1, 2, 2}, 0.2, at::kFloat));
  r = place_.run("calibrate run --given dry.npy --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const json j = json::parse(r.out);
  const double wet = j.at("wet_train");
  EXPECT_EQ(j.at("fields"), 300);
  EXPECT_NEAR(j.at("wet_after").get<double>(), wet, 0.005);
  r = place_.run("sample run --given dry.npy --seed 9 -o s.npy");
  ASSERT_EQ(r.code, 0) << r.err;
  const at::Tensor samples = read_npy(place_ / "s.npy");
  EXPECT_NEAR(samples.gt(0).to(at::kDouble).mean().item<double>(), wet, 4 * std::sqrt(2 * wet * (1 - wet) / 300));
  write_npy(place_ / "wide.npy", at::zeros({3, 1, 3, 3}, at::kFloat));
  expect_refusal("calibrate run --given wide.npy", "wide.npy: ");
  for (const std::string& command : {std::string("calibrate run"), std::string("sample run -o x.npy")})
    expect_refusal(command + " --given frame0.grib2",
                   "frame0.grib2: expected a prepared set or .npy, got a file of fields: make a set of it first (htfm "
                   "prepare frame0.grib2 --variable NAME -o given.fields)");
}

// Beside samples in any format stands what they were given, by names that --given takes.
TEST_F(Fields, WhatWasGivenStandsBesideSamples) {
  Outcome r = place_.run(prepare_ + "--json");
  ASSERT_EQ(r.code, 0) << r.err;
  const json set = json::parse(r.out);
  std::string text = "season,index\n";
  for (int64_t k = 0; k < set.at("train").get<int64_t>() + set.at("test").get<int64_t>(); ++k)
    text += (k % 2 == 0 ? "dry," : "\"wet, warm\",") + std::to_string(k % 30) + ".5\n";
  place_.write("given.csv", text);
  r = place_.run(
      "train --set data.path=rain.fields --set data.kind=fields --set net.width=16 --set condition.file=given.csv "
      "--set train.batch=60 --set train.epochs=1 --set sample.nfe=2 --set sample.solver=euler -o run");
  ASSERT_EQ(r.code, 0) << r.err;
  place_.write("asked.csv", "season,index\n\"wet, warm\",2.5\ndry,\n");
  for (const std::string name : {"s.npy", "s.nc"}) {
    r = place_.run("sample run --given asked.csv -n 2 -o " + name);
    ASSERT_EQ(r.code, 0) << r.err;
    const std::string beside = slurp(place_ / (name + ".conditions.csv"));
    EXPECT_TRUE(beside.starts_with("season,index\n\"wet, warm\",2.5\ndry,")) << beside;
    r = place_.run("sample run --given " + name + ".conditions.csv -o again.npy");
    EXPECT_EQ(r.code, 0) << r.err;
  }
  EXPECT_EQ(slurp(place_ / "s.npy.conditions.csv"), slurp(place_ / "s.nc.conditions.csv"));
}

TEST_F(Fields, OptionsMayStandInAFile) {
  place_.write("p.toml", "recipe = \"mrms\"\nsize = [8, 16]\ntiles = 16\ntest = \"0.5\"\nmask_below = 0\n");
  const Outcome r = place_.run("prepare . --config p.toml --tiles 8 -o s.fields --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const json j = json::parse(r.out);
  EXPECT_EQ(j.at("shape"), json({1, 8, 16}));
  EXPECT_EQ(j.at("windows"), 4 * 5);
  EXPECT_EQ(j.at("test"), j.at("train"));
  place_.write("bad.toml", "colour = 3\n");
  expect_refusal("prepare . --config bad.toml -o s2.fields",
                 "bad.toml: expected options of htfm prepare as keys, got 'colour'");
}

TEST_F(Fields, AMissingLibraryIsSaidInOneLine) {
  test::write_netcdf(place_ / "a.bin");
  for (const std::string& arguments : {prepare_, std::string("prepare a.bin --variable rain -o rain.fields")}) {
    expect_refusal(arguments, "expected the library that reads GRIB and NetCDF, got no libhtfm_fields.so in ",
                   "HTFM_MODULE_PATH=none");
    expect_refusal(arguments, "none, which HTFM_MODULE_PATH names", "HTFM_MODULE_PATH=none");
    place_.write("libhtfm_fields.so", "not a library");
    expect_refusal(arguments, "libhtfm_fields.so: ", "HTFM_MODULE_PATH=.");
  }
  EXPECT_FALSE(std::filesystem::exists(place_ / "rain.fields"));
  // Sets that are there need no library.
  ASSERT_EQ(place_.run(prepare_).code, 0);
  const Outcome r = place_.run("eval --real rain.fields --fake rain.fields --bootstrap 0", "HTFM_MODULE_PATH=none");
  EXPECT_EQ(r.code, 0) << r.err;
}

TEST_F(Fields, WhatIsWrongIsSaidInOneLineAndNothingIsLeft) {
  const std::string bytes = slurp(place_ / "frame0.grib2");
  place_.write("cut.bin", bytes.substr(0, bytes.size() / 2));
  const std::string mrms = " --recipe mrms --size 8 --tiles 8 -o bad.fields";
  expect_refusal("prepare cut.bin" + mrms, "cut.bin: message 1: truncated or damaged");
  std::string future = bytes;
  future[7] = 3;
  place_.write("new.bin", future);
  expect_refusal("prepare new.bin" + mrms, "new.bin: message 1: expected GRIB edition 1 or 2, got edition 3");
  expect_refusal("prepare frame0.grib2 --recipe hrrr-vil -o bad.fields",
                 "frame0.grib2: expected 0/15/3, level type 10, step 0, got unknown (209/6/1)");
  expect_refusal("prepare frame0.grib2 --variable tp -o bad.fields",
                 "frame0.grib2: expected tp, got unknown (209/6/1)");
  test::write_grib(
      place_ / "grid.bin",
      {.grid = "regular_ll", .width = 40, .height = 32, .discipline = 209, .category = 6, .number = 1, .time = 2300});
  expect_refusal("prepare frame0.grib2 grid.bin" + mrms,
                 "grid.bin: expected the grid of frame0.grib2 (regular_ll, 32 x 48), got regular_ll, 32 x 40");
  test::write_netcdf(place_ / "a.nc");
  expect_refusal("prepare a.nc --variable snow -o bad.fields",
                 "a.nc: expected the variable 'snow', got rain(time 4, lat 6, lon 8)");
  expect_refusal("prepare frame0.grib2 --train 1999" + mrms,
                 "expected fields to train on (1999), got none: all fields have the time 2019-06-10 00:00");
  expect_refusal("prepare frame0.grib2 frame1.grib2 --test 2020" + mrms,
                 "expected fields to hold out (2020), got none: times run from 2019-06-10 00:00 to 2019-06-10 00:06; "
                 "--test 0.25 holds out the last quarter");
  const Outcome none = place_.run("prepare frame0.grib2 -o bad.fields");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("[variable]"), std::string::npos) << none.err;
  EXPECT_NE(none.out.find("range of the first"), std::string::npos) << none.out;
  expect_refusal("prepare absent --recipe mrms -o bad.fields", "absent");
  expect_refusal("prepare frame0.grib2 -o nowhere/bad.fields" + std::string(" --recipe mrms --size 8"), "nowhere");
  EXPECT_FALSE(std::filesystem::exists(place_ / "bad.fields"));
  for (const auto& entry : std::filesystem::directory_iterator(place_ / "."))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".htfm")) << entry.path();
}

}  // namespace
}  // namespace htfm
