// Fields out of GRIB2 and NetCDF: values as the libraries give them, places and times, and one line for what is wrong.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "htfm/field/calendar.h"
#include "htfm/field/field_file.h"
#include "htfm/field/list_fields.h"
#include "test/field/support.h"
#include "test/io/support.h"

#ifdef __SANITIZE_ADDRESS__
// ecCodes loses what it holds where a damaged image makes it give up. Its name is in whole stacks alone.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libeccodes.so"; }
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "fast_unwind_on_malloc=0"; }
#endif

namespace htfm {
namespace {

using namespace test;

const FieldChoice kVil{.code = ParameterCode{0, 15, 3}, .level_type = "10", .step = 0};

std::vector<double> read_all(const std::string& path, const FieldChoice& choice = {}) {
  std::vector<double> out;
  visit_fields(path, choice, [&](const FieldMessage& m) {
    out.resize(static_cast<size_t>(m.grid->height * m.grid->width));
    m.read(m.grid->whole(), out.data());
  });
  return out;
}

// Every packing gives the very doubles that ecCodes gives: also the images, which are unpacked here.
TEST(Grib, ValuesEqualEcCodesExactly) {
  const TemporaryFolder folder;
  for (const std::string packing : {"grid_simple", "grid_png", "grid_jpeg", "grid_ccsds"})
    for (const long bits : {8L, 16L}) {
      const std::string path = folder / (packing + std::to_string(bits) + ".grib2");
      GribSpec spec{.width = 61, .height = 40, .packing = packing, .bits = bits, .decimals = 1};
      spec.value = [](long j, long i) { return -3 + 0.1 * static_cast<double>((j * 61 + i * i) % 200); };
      write_grib(path, spec);
      const std::vector<double> own = read_all(path), theirs = eccodes_values(path);
      ASSERT_EQ(own.size(), theirs.size()) << packing;
      for (size_t k = 0; k < own.size(); ++k) ASSERT_EQ(own[k], theirs[k]) << packing << " " << bits << " at " << k;
    }
}

// The same on files of the user's: HTFM_GRIB_FILES=FOLDER field_test --gtest_filter='*OwnFiles*' prints seconds a field
// beside ecCodes'.
TEST(Grib, ValuesOfOwnFilesEqualEcCodes) {
  const char* folder = std::getenv("HTFM_GRIB_FILES");
  if (!folder) GTEST_SKIP() << "HTFM_GRIB_FILES names no folder";
  struct Times {  // of the wall and of the processor
    double wall, processor;
  };
  const auto now = [] {
    return Times{std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(),
                 static_cast<double>(std::clock()) / CLOCKS_PER_SEC};
  };
  Times own_time{}, their_time{};
  const auto add = [](Times& sum, const Times& from, const Times& to) {
    sum.wall += to.wall - from.wall, sum.processor += to.processor - from.processor;
  };
  int64_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".grib2") continue;
    const Times start = now();
    std::unique_ptr<double[]> own;
    size_t size = 0;
    visit_fields(entry.path().string(), {}, [&](const FieldMessage& m) {
      own.reset(new double[size = static_cast<size_t>(m.grid->height * m.grid->width)]);
      m.read(m.grid->whole(), own.get());
    });
    const Times middle = now();
    const std::vector<double> theirs = eccodes_values(entry.path().string());
    if (files++ > 0) add(their_time, middle, now()), add(own_time, start, middle);
    ASSERT_EQ(size, theirs.size());
    ASSERT_EQ(std::memcmp(own.get(), theirs.data(), size * sizeof(double)), 0) << entry.path();
  }
  ASSERT_GT(files, 1);
  const double timed = static_cast<double>(files - 1);
  std::printf("%ld files, all values equal; seconds a field (processor): %.3f (%.3f) here, %.3f (%.3f) by ecCodes\n",
              static_cast<long>(files), own_time.wall / timed, own_time.processor / timed, their_time.wall / timed,
              their_time.processor / timed);
}

TEST(Grib, WindowsAreThatPartOfTheWhole) {
  const TemporaryFolder folder;
  for (const char* packing : {"grid_simple", "grid_png"}) {
    const std::string path = folder / packing;
    write_grib(path, {.width = 50, .height = 30, .packing = packing});
    const std::vector<double> whole = read_all(path);
    visit_fields(path, kVil, [&](const FieldMessage& m) {
      const Window w{7, 11, 5, 9};
      std::vector<double> part(static_cast<size_t>(w.size()));
      m.read(w, part.data());
      for (int64_t j = 0; j < w.height; ++j)
        for (int64_t i = 0; i < w.width; ++i)
          EXPECT_EQ(part[static_cast<size_t>(j * w.width + i)],
                    whole[static_cast<size_t>((w.row + j) * 50 + w.column + i)]);
      EXPECT_MENTIONS(input_error([&] {
                        m.read({28, 0, 5, 5}, part.data());
                      }),
                      "expected a window inside the grid (lambert, 30 x 50)");
    });
  }
}

TEST(Grib, MarksWhatABitmapLeavesOut) {
  const TemporaryFolder folder;
  GribSpec spec{.width = 20, .height = 10, .bitmap = true};
  spec.value = [](long j, long i) {
    return j == 3 && i == 4 ? 9999.0 : 9998.0 + static_cast<double>(i == 5);
  };  // 9999 is a value, too
  spec.value = [](long j, long i) { return j == 3 && i == 4 ? 9999.0 : static_cast<double>(i); };
  write_grib(folder / "a", spec);
  const std::vector<double> v = read_all(folder / "a");
  for (size_t k = 0; k < v.size(); ++k) EXPECT_EQ(std::isnan(v[k]), k == 3 * 20 + 4) << k;
}

// HRRR's grid: its corners as NCEP gives them, and the window of a place.
TEST(Grib, KnowsThePlacesOfTheLambertGrid) {
  const TemporaryFolder folder;
  write_grib(folder / "a", {});
  visit_fields(folder / "a", kVil, [&](const FieldMessage& m) {
    EXPECT_EQ(m.grid->height, 1059);
    EXPECT_EQ(m.grid->width, 1799);
    EXPECT_TRUE(m.grid->south_first);
    EXPECT_NEAR(m.grid->at(0, 0).latitude, 21.138123, 1e-5);
    EXPECT_NEAR(m.grid->at(1058, 1798).latitude, 47.842195, 2e-3);  // NCEP's documentation of the grid
    EXPECT_NEAR(m.grid->at(1058, 1798).longitude, 299.082807, 2e-3);
    const Window w = m.grid->around({38.5, -97.5}, 128, 128, "a");
    EXPECT_NEAR(static_cast<double>(w.row), 465, 1);
    EXPECT_NEAR(static_cast<double>(w.column), 835, 1);
    const Window box = m.grid->between({38, -98}, {39, -97}, "a");
    for (const auto& [row, column] :
         {std::pair{box.row, box.column}, {box.row + box.height - 1, box.column + box.width - 1}})
      EXPECT_NEAR(m.grid->at(row, column).latitude, 38.5, 0.6);
    EXPECT_MENTIONS(input_error([&] { m.grid->between({-10, 0}, {-5, 5}, "a"); }), "got none: the grid");
    EXPECT_EQ(moment_text(m.time), "2019-06-10 12:00");
  });
}

TEST(Grib, ChoosesByNameCodeLevelAndStep) {
  const TemporaryFolder folder;
  const std::string path = folder / "many.grib2";
  const auto add = [&](long number, long surface, long step, double value) {
    GribSpec s{.width = 8, .height = 8, .number = number, .surface = surface, .step = step};
    s.value = [value](long j, long i) { return value + static_cast<double>(j == i); };
    write_grib(path, s);
  };
  add(3, 10, 0, 1), add(3, 10, 6, 2), add(1, 10, 0, 3), add(3, 1, 0, 4);
  const auto values = [&](const FieldChoice& c) {
    std::vector<double> out;
    visit_fields(path, c, [&](const FieldMessage& m) {
      double v[64];
      m.read(m.grid->whole(), v);
      out.push_back(v[1]);
    });
    return out;
  };
  EXPECT_EQ(values(kVil), std::vector<double>({1}));
  EXPECT_EQ(values({.name = "veril"}), std::vector<double>({1, 2, 4}));
  EXPECT_EQ(values({.name = "veril", .level_type = "atmosphere"}), std::vector<double>({1, 2}));
  EXPECT_EQ(values({.step = 6}), std::vector<double>({2}));
  EXPECT_EQ(values({}).size(), 4U);
  const std::string error = input_error([&] { values({.name = "tp"}); });
  EXPECT_MENTIONS(error, "many.grib2: expected tp, got veril (0/15/3), atmosphere 0, step 0; ");
}

TEST(Grib, SaysWhatIsWrongWithAFile) {
  const TemporaryFolder folder;
  write_grib(folder / "good", {.width = 40, .height = 40, .packing = "grid_png"});
  const std::string bytes = slurp(folder / "good");
  spill(folder / "cut", bytes.substr(0, bytes.size() / 2));
  EXPECT_MENTIONS(input_error([&] { read_all(folder / "cut"); }),
                  "cut: message 1: truncated or damaged: it should be ");
  std::string future = bytes;
  future[7] = 3;
  spill(folder / "three", future);
  EXPECT_MENTIONS(input_error([&] { read_all(folder / "three"); }),
                  "three: message 1: expected GRIB edition 1 or 2, got edition 3");
  spill(folder / "text", "not a field");
  EXPECT_MENTIONS(input_error([&] { read_all(folder / "text"); }),
                  "text: expected GRIB or NetCDF, got a file that begins with 'not a field'");
  spill(folder / "gz", "\x1f\x8b\x08");
  EXPECT_MENTIONS(input_error([&] { read_all(folder / "gz"); }), "gz: expected GRIB or NetCDF, got a gzip file");
  // In one line, by `htfm info` too.
  for (const auto& [start, kind] : std::vector<std::pair<std::string, std::string>>{
           {"\x1f\x8b\x08", "a gzip file: unpack it first (gunzip)"},
           {"\xfd"
            "7zXZ\x00",
            "an xz file: unpack it first"},
           {"\x0e\x03\x13\x01", "an HDF4 file: write it as NetCDF first"},
           {std::string("\0\0\1\0\0\0\x07\xdb", 8), "a PP file of the Met Office: write it as NetCDF first"}}) {
    spill(folder / "other", start);
    EXPECT_MENTIONS(input_error([&] { read_all(folder / "other"); }), "other: expected GRIB or NetCDF, got " + kind);
    EXPECT_MENTIONS(input_error([&] { check_known_file(folder / "other"); }), "got " + kind);
  }
  spill(folder / "none", "");
  EXPECT_MENTIONS(input_error([&] { read_all(folder / "none"); }), "got an empty file");
  EXPECT_MENTIONS(input_error([&] { read_all(folder / "absent"); }), "absent");
  // Any byte may be wrong: an error or other values, never a crash.
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string bad = bytes;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    spill(folder / "bad", bad);
    try {
      read_all(folder / "bad");
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find("bad"), std::string::npos) << e.what();
    }
  }
}

TEST(Netcdf, UnpacksValuesTimesAndPlaces) {
  const TemporaryFolder folder;
  write_netcdf(folder / "a.nc");
  int64_t k = 0;
  visit_fields(folder / "a.nc", {.name = "rain"}, [&](const FieldMessage& m) {
    std::vector<double> v(48);
    m.read(m.grid->whole(), v.data());
    for (int64_t j = 0; j < 6; ++j)
      for (int64_t i = 0; i < 8; ++i) {
        const double x = v[static_cast<size_t>(j * 8 + i)];
        if (k == 1 && j == 0 && i == 0)
          EXPECT_TRUE(std::isnan(x));
        else
          EXPECT_EQ(x, static_cast<double>(k) + static_cast<double>(j) + 0.5 * static_cast<double>(i));
      }
    EXPECT_EQ(m.time, seconds_since_1970({2020, 12, 31, 22, 0, 0}) + 3600 * k);
    EXPECT_EQ(m.units, "mm/h");
    EXPECT_TRUE(m.grid->south_first);
    EXPECT_EQ(m.grid->around({42, 14}, 2, 2, "a"), (Window{1, 3, 2, 2}));
    EXPECT_EQ(m.grid->between({41, 12}, {43, 15}, "a"), (Window{1, 2, 3, 4}));
    ++k;
  });
  EXPECT_EQ(k, 4);
  const std::string error = input_error([&] { read_all(folder / "a.nc", {.name = "snow"}); });
  EXPECT_MENTIONS(error, "a.nc: expected the variable 'snow', got rain(time 4, lat 6, lon 8)");
  const std::string bytes = slurp(folder / "a.nc");
  int id = 0, time = 0;  // a dimension of which nothing is known
  spill(folder / "bare.nc", bytes);
  ASSERT_EQ(nc_open((folder / "bare.nc").c_str(), NC_WRITE, &id), 0);
  ASSERT_EQ(nc_inq_varid(id, "time", &time), 0);
  ASSERT_EQ(nc_rename_var(id, time, "when"), 0);
  ASSERT_EQ(nc_rename_att(id, time, "units", "about"), 0);
  ASSERT_EQ(nc_rename_dim(id, 0, "kind"), 0);
  ASSERT_EQ(nc_close(id), 0);
  EXPECT_MENTIONS(input_error([&] { read_all(folder / "bare.nc", {.name = "rain"}); }),
                  "bare.nc: expected a variable 'kind'");
  spill(folder / "cut.nc", bytes.substr(0, 40));
  EXPECT_MENTIONS(input_error([&] { read_all(folder / "cut.nc"); }), "cut.nc: ");
}

TEST(Calendar, GoesThereAndBack) {
  EXPECT_EQ(seconds_since_1970({2000, 3, 1, 0, 0, 0}), 951868800);
  for (const int64_t s : {int64_t{0}, int64_t{951868799}, int64_t{-1}, int64_t{-86401}, int64_t{4102444800}})
    EXPECT_EQ(seconds_since_1970(moment_of(s)), s);
}

}  // namespace
}  // namespace htfm
