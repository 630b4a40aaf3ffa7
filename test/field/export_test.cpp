// Sets and samples as files: what is written is what is read, with places, times and units; and sets of many files.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <tuple>

#include "htfm/field/field_export.h"
#include "htfm/field/field_file.h"
#include "htfm/field/prepare.h"
#include "test/field/support.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using namespace test;

// Two times of a grid around the globe.
std::string write_globe(const std::string& path) {
  std::vector<double> latitude, longitude;
  for (int j = 0; j < 7; ++j) latitude.push_back(60 - 10 * j);
  for (int i = 0; i < 36; ++i) longitude.push_back(10 * i);
  write_netcdf_grid(path, latitude, longitude,
                    [](size_t t, size_t j, size_t i) { return static_cast<double>(1000 * t + 100 * j + i); });
  return path;
}

TEST(Export, ASetOverTheSeamComesBack) {
  const TemporaryFolder folder;
  PrepareSpec spec;
  spec.channels = {{.name = "v"}};
  spec.box = {{20, -30}, {50, 20}};
  prepare_fields({write_globe(folder / "a.nc")}, spec, folder / "set");
  const FieldSet set = open_field_set(folder / "set");
  for (const char* name : {"x.nc", "x.grib2"}) {
    export_fields(set, {0, 1}, folder / name, {{"title", "a test"}});
    int64_t k = 0;
    visit_fields(folder / name, {}, [&](const FieldMessage& m) {
      ASSERT_EQ(m.grid->height, 4);
      ASSERT_EQ(m.grid->width, 6);
      EXPECT_NEAR(std::remainder(m.grid->at(0, 0).longitude + 30, 360), 0, 1e-6);
      EXPECT_NEAR(std::remainder(m.grid->at(0, 5).longitude - 20, 360), 0, 1e-6);
      EXPECT_EQ(m.grid->at(0, 0).latitude, 50);
      EXPECT_EQ(moment_text(m.time), k == 0 ? "2020-01-01 00:00" : "2020-01-01 01:00");
      std::vector<double> v(24);
      m.read(m.grid->whole(), v.data());
      for (int64_t i = 0; i < 24; ++i)
        EXPECT_NEAR(v[static_cast<size_t>(i)], set.fields[k][0].flatten()[i].item<double>(), 1e-3) << name;
      ++k;
    });
    EXPECT_EQ(k, 2) << name;
  }
  // Written again, it is the same set.
  prepare_fields({folder / "x.nc"}, {.channels = {{.name = "v"}}}, folder / "again");
  EXPECT_TRUE(open_field_set(folder / "again").fields.equal(set.fields));
  EXPECT_MENTIONS(input_error([&] { export_fields(set, {0}, folder / "x.txt", {}); }),
                  "expected a file that ends in .nc");
  EXPECT_THROW(export_fields(set, {0}, folder / "absent/x.nc", {}), std::exception);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "."), std::filesystem::directory_iterator()), 5);
}

// A name of ecCodes stands for a unit: a temperature in degrees Celsius is not its t, which is in kelvins.
TEST(Export, NamesOfGribAreKeptWhereTheUnitFits) {
  const TemporaryFolder folder;
  prepare_fields({write_globe(folder / "a.nc")}, {.channels = {{.name = "v"}}}, folder / "set");
  FieldSet set = open_field_set(folder / "set");
  for (const auto& [name, unit, kept] : {std::tuple{"t", "K", true},
                                         {"t", "degC", false},
                                         {"t", "", true},
                                         {"q", "kg kg-1", true},
                                         {"gh", "m", false},  // at the ground it would be called orog
                                         {"my rain", "mm/h", false}}) {
    set.channels = {name}, set.units = {unit};
    ::testing::internal::CaptureStderr();
    export_fields(set, {0}, folder / "x.grib2", {});
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << name << ": the library never prints";
    visit_fields(folder / "x.grib2", {},
                 [&](const FieldMessage& m) { EXPECT_EQ(m.name == name, kept) << name << unit; });
  }
}

TEST(Export, WindowsAtSeveralPlacesKeepTheirOwn) {
  const TemporaryFolder folder;
  PrepareSpec spec;
  spec.channels = {{.name = "v"}};
  spec.height = spec.width = spec.tiles = 3;
  prepare_fields({write_globe(folder / "a.nc")}, spec, folder / "set");
  const FieldSet set = open_field_set(folder / "set");
  EXPECT_FALSE(set.one_place());
  std::vector<int64_t> all(static_cast<size_t>(set.size()));
  for (size_t k = 0; k < all.size(); ++k) all[k] = static_cast<int64_t>(k);
  export_fields(set, all, folder / "x.nc", {});
  int id = 0, lon = 0;
  ASSERT_EQ(nc_open((folder / "x.nc").c_str(), NC_NOWRITE, &id), 0);
  ASSERT_EQ(nc_inq_varid(id, "lon", &lon), 0);
  const size_t start[] = {5, 0}, count[] = {1, 3};
  double x[3];
  ASSERT_EQ(nc_get_vara_double(id, lon, start, count, x), 0);
  EXPECT_EQ(x[0], 10.0 * static_cast<double>(set.place[5][1].item<int64_t>()));
  nc_close(id);
  EXPECT_MENTIONS(input_error([&] { export_fields(set, all, folder / "x.grib2", {}); }), "write NetCDF");
}

// The frames of one hour, a file each.
std::vector<std::string> write_frames(const TemporaryFolder& folder, long count) {
  std::vector<std::string> out;
  for (long k = 0; k < count; ++k) {
    GribSpec s{.grid = "regular_ll", .width = 8, .height = 8, .time = 5 * k};
    s.value = [k](long j, long i) { return static_cast<double>(100 * k + 8 * j + i); };
    out.push_back(folder / ("f" + std::to_string(100 + k) + ".grib2"));
    write_grib(out.back(), s);
  }
  return out;
}

TEST(Prepare, SequencesAreChannels) {
  const TemporaryFolder folder;
  PrepareSpec spec;
  spec.channels = {{.name = "veril"}};
  spec.sequence = 3, spec.test = "0.4";
  std::vector<std::string> files = write_frames(folder, 10);
  files.erase(files.begin() + 2);  // a gap
  const PrepareSummary s = prepare_fields(files, spec, folder / "set");
  const FieldSet set = open_field_set(folder / "set");
  // Times 0 1 3 4 5 6 7 8 9, the last four held out: 3, 4 and 5 to train on; 6 and 7 held out; 4 and 5 lie in both.
  EXPECT_EQ(s.train, 1);
  EXPECT_EQ(s.test, 2);
  EXPECT_EQ(s.neither, 2);
  ASSERT_EQ(set.fields.sizes(), at::IntArrayRef({3, 3, 8, 8}));
  EXPECT_EQ(set.channels, (std::vector<std::string>{"veril", "veril + 5 min", "veril + 10 min"}));
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(set.fields[0][k][0][1].item<double>(), 100 * (3 + k) + 1, 0.1);
  spec.interval = 7 * 60;
  EXPECT_MENTIONS(input_error([&] { prepare_fields(files, spec, folder / "set"); }), "[sequence]");
}

TEST(Prepare, DamagedFilesAreSkippedByOptionAlone) {
  const TemporaryFolder folder;
  const std::vector<std::string> files = write_frames(folder, 6);
  for (const size_t k : {size_t{0}, size_t{3}}) spill(files[k], slurp(files[k]).substr(0, 60));
  PrepareSpec spec;
  spec.channels = {{.name = "veril"}};
  EXPECT_MENTIONS(input_error([&] { prepare_fields(files, spec, folder / "set"); }), "truncated or damaged");
  spec.skip_damaged = true;
  const PrepareSummary s = prepare_fields(files, spec, folder / "set");
  EXPECT_EQ(s.files, 4);
  ASSERT_EQ(s.skipped.size(), 2U);
  EXPECT_MENTIONS(s.skipped[0], "f100.grib2");
  EXPECT_MENTIONS(s.skipped[1], "f103.grib2");
  EXPECT_MENTIONS(open_field_set(folder / "set").provenance, "\"skipped\"");
}

// A file that was changed in between would leave its old fields in the set.
TEST(Prepare, DoesNotGoOnWithAChangedFile) {
  const TemporaryFolder folder;
  const std::vector<std::string> files = write_frames(folder, 4);
  PrepareSpec spec;
  spec.channels = {{.name = "veril"}};
  spec.resume = true;
  struct Stop {};
  EXPECT_THROW(prepare_fields(files, spec, folder / "set", [](int64_t) { throw Stop(); }), Stop);
  namespace fs = std::filesystem;
  fs::last_write_time(files[0], fs::last_write_time(files[0]) + std::chrono::seconds(3));
  EXPECT_MENTIONS(input_error([&] { prepare_fields(files, spec, folder / "set"); }), "changed since");
}

TEST(Prepare, GoesOnWhereItWasStopped) {
  const TemporaryFolder folder;
  const std::vector<std::string> files = write_frames(folder, 7);
  PrepareSpec spec;
  spec.channels = {{.name = "veril"}};
  prepare_fields(files, spec, folder / "whole");
  spec.resume = true;
  struct Stop {};
  EXPECT_THROW(prepare_fields(files, spec, folder / "set", [](int64_t) { throw Stop(); }), Stop);
  EXPECT_TRUE(std::filesystem::exists(folder / "set.partial/log.jsonl"));
  EXPECT_FALSE(std::filesystem::exists(folder / "set"));
  PrepareSpec other = spec;
  other.mask_below = 0;
  EXPECT_MENTIONS(input_error([&] { prepare_fields(files, other, folder / "set"); }), "[resume]");
  const PrepareSummary s = prepare_fields(files, spec, folder / "set");
  EXPECT_EQ(s.files, 7);
  EXPECT_FALSE(std::filesystem::exists(folder / "set.partial"));
  const FieldSet a = open_field_set(folder / "whole"), b = open_field_set(folder / "set");
  EXPECT_EQ(a.hash, b.hash);
}

TEST(Prepare, MembersAreFieldsAndAPlainChannelStaysAsItIs) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.grib2";
  for (long member = 0; member < 3; ++member)
    for (const long number : {3L, 1L}) {
      GribSpec s{.grid = "regular_ll", .width = 4, .height = 4, .number = number, .member = member};
      s.value = [=](long j, long i) {
        return number == 3 ? static_cast<double>((j + i + member) % 3) : -5.0 - static_cast<double>(i + member);
      };
      write_grib(path, s);
    }
  PrepareSpec spec;
  spec.channels = {{.code = ParameterCode{0, 15, 3}}, {.code = ParameterCode{0, 15, 1}}};
  spec.names = {"rain", "other"}, spec.units = {"mm", "K"}, spec.plain = {"other"};
  spec.transform.threshold = 0.5, spec.transform.quantum = 0.1;
  prepare_fields({path}, spec, folder / "set");
  const FieldSet set = open_field_set(folder / "set");
  ASSERT_EQ(set.size(), 3);
  for (int64_t k = 0; k < 3; ++k) EXPECT_EQ(set.member[k].item<int64_t>(), k);
  const at::Tensor back =
      set.transform.invert(set.transform.apply(set.fields.contiguous(), Key(1))).view_as(set.fields);
  EXPECT_LT(back.select(1, 1).sub(set.fields.select(1, 1)).abs().max().item<double>(),
            1e-4);  // below the threshold, and kept
  EXPECT_TRUE(back.select(1, 0).eq(0).equal(set.fields.select(1, 0).eq(0)));
  spec.plain = {"absent"};
  EXPECT_MENTIONS(input_error([&] { prepare_fields({path}, spec, folder / "set"); }), "[plain]");
}

TEST(Prepare, ASizeAloneSaysWhatIsMissing) {
  const TemporaryFolder folder;
  PrepareSpec spec;
  spec.channels = {{.name = "v"}};
  spec.height = spec.width = 4;
  EXPECT_MENTIONS(input_error([&] { prepare_fields({write_globe(folder / "a.nc")}, spec, folder / "set"); }),
                  "--centre LATITUDE,LONGITUDE");
}

}  // namespace
}  // namespace htfm
