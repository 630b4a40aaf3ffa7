// What archives hold beside plain messages: editions, orders of scanning, grids, ensembles, steps; NetCDF's dimensions
// in any order, calendars and groups.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

#include "htfm/field/calendar.h"
#include "htfm/field/list_fields.h"
#include "test/field/support.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using namespace test;

double place_value(long j, long i) { return static_cast<double>(10 * j + i); }

// The same field, written in every order of scanning, is read as the same rows from west to east.
TEST(GribOrder, EveryScanningModeGivesTheSameField) {
  const TemporaryFolder folder;
  const long height = 4, width = 5;
  for (const long edition : {1L, 2L})
    for (const long west_first : {0L, 1L})  // 1: from east to west
      for (const long columns_first : {0L, 1L})
        for (const long alternate : {0L, 1L}) {
          if (edition == 1 && alternate) continue;  // it has no such order
          GribSpec s{.grid = "regular_ll", .width = width, .height = height, .edition = edition};
          s.north = 50, s.south = 47, s.west = 10, s.east = 14;
          if (west_first) std::swap(s.west, s.east);
          s.more = {{"iScansNegatively", west_first}, {"jPointsAreConsecutive", columns_first}};
          if (edition == 2) s.more.push_back({"alternativeRowScanning", alternate});
          // The values in the order of the message: entry k of it stands in `row` and `column` of the field.
          s.value = [&](long a, long b) {
            const long k = a * width + b;
            long j = columns_first ? k % height : k / width, i = columns_first ? k / height : k % width;
            if (alternate && (columns_first ? i : j) % 2)
              (columns_first ? j : i) = columns_first ? height - 1 - j : width - 1 - i;
            return place_value(j, west_first ? width - 1 - i : i);
          };
          const std::string path = folder / "f";
          write_grib(path, s, "w");
          const auto fields = fields_of(path);
          ASSERT_EQ(fields.size(), 1U);
          for (long j = 0; j < height; ++j)
            for (long i = 0; i < width; ++i) {
              EXPECT_NEAR(fields[0].values[static_cast<size_t>(j * width + i)], place_value(j, i), 1e-3)
                  << edition << west_first << columns_first << alternate;
              EXPECT_NEAR(fields[0].grid.at(j, i).latitude, 50 - static_cast<double>(j), 1e-6);
              EXPECT_NEAR(fields[0].grid.at(j, i).longitude, 10 + static_cast<double>(i), 1e-6);
            }
        }
}

codes_handle* sample_of(const char* name) {
  codes_handle* h = codes_grib_handle_new_from_samples(nullptr, name);
  if (!h) throw std::runtime_error(name);
  return h;
}

TEST(GribGrids, ReducedOnesAreInterpolatedByOption) {
  const TemporaryFolder folder;
  const std::string path = folder / "reduced.grib2";
  codes_handle* h = sample_of("reduced_gg_pl_32_grib2");
  size_t size = 0, rows = 0;
  must(codes_get_size(h, "values", &size));
  must(codes_get_size(h, "pl", &rows));
  std::vector<long> points(rows);
  must(codes_get_long_array(h, "pl", points.data(), &rows));
  std::vector<double> values;  // linear along half a circle each way, so that interpolation is exact between two points
  for (const long n : points)
    for (long i = 0; i < n; ++i)
      values.push_back(std::abs(180 - 360 * static_cast<double>(i) / static_cast<double>(n)));
  ASSERT_EQ(values.size(), size);
  must(codes_set_long(h, "bitsPerValue", 24));
  must(codes_set_double_array(h, "values", values.data(), size));
  must(codes_write_message(h, path.c_str(), "w"));
  codes_handle_delete(h);
  EXPECT_MENTIONS(input_error([&] { fields_of(path); }), "a reduced grid (reduced_gg): --expand-reduced");
  const auto fields = fields_of(path, {.expand_reduced = true});
  ASSERT_EQ(fields.size(), 1U);
  const Grid& grid = fields[0].grid;
  EXPECT_EQ(grid.height, 64);
  EXPECT_EQ(grid.width, 128);
  EXPECT_EQ(grid.period(), 128);
  EXPECT_NEAR(grid.latitude.front(), 87.8638, 1e-3);  // the northernmost of N32
  for (int64_t j = 0; j < 64; ++j)
    for (int64_t i = 0; i < 128; ++i) {
      const double x = 360 * static_cast<double>(i) / 128,
                   spacing = 360 / static_cast<double>(points[static_cast<size_t>(j)]);
      if (std::abs(x - 180) > spacing && x > spacing && x < 360 - spacing) {
        EXPECT_NEAR(fields[0].values[static_cast<size_t>(j * 128 + i)], std::abs(180 - x), 1e-3) << j << " " << i;
      }
    }
  const auto list = list_fields(path);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_MENTIONS(list[0].problem, "--expand-reduced");
}

TEST(GribGrids, ReducedOnesOfAPartOfTheGlobeAreRefused) {
  const TemporaryFolder folder;
  const std::string path = folder / "reduced.grib2";
  codes_handle* h = sample_of("reduced_gg_pl_32_grib2");
  must(codes_set_double(h, "longitudeOfFirstGridPointInDegrees", 330));
  must(codes_set_double(h, "longitudeOfLastGridPointInDegrees", 60));
  must(codes_write_message(h, path.c_str(), "w"));
  codes_handle_delete(h);
  for (const bool expand : {false, true})
    EXPECT_MENTIONS(input_error([&] { fields_of(path, {.expand_reduced = expand}); }),
                    "a reduced grid of a part of the globe (reduced_gg): put it on a regular one first");
}

// Grids of edition 1 that the file names by their number alone.
TEST(GribGrids, OnesWithoutADescriptionSayTheirNumber) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.grib";
  write_grib(path, {.grid = "regular_ll", .width = 4, .height = 3, .edition = 1});
  std::string bytes = slurp(path);
  const auto length = [&](size_t at) {  // three bytes, the highest first
    const auto byte = [&](size_t k) { return static_cast<size_t>(static_cast<unsigned char>(bytes[at + k])); };
    return (byte(0) << 16) + (byte(1) << 8) + byte(2);
  };
  const size_t product = 8, grid = product + length(product);
  bytes.erase(grid, length(grid));
  bytes[product + 6] = 104, bytes[product + 7] = 0;  // the number, and no description
  bytes[5] = static_cast<char>(bytes.size() >> 8), bytes[6] = static_cast<char>(bytes.size());
  spill(path, bytes);
  EXPECT_MENTIONS(list_fields(path).at(0).problem,
                  "a grid of which the file gives only the number, 104 in the list of centre ");
}

// The rows of Mercator's projection are computed from the first and the last latitude, which may be nonsense.
TEST(GribGrids, MercatorsLastRowIsNotBeyondThePoles) {
  const TemporaryFolder folder;
  for (const double last : {40.0, -2072.0, 90.0}) {
    const std::string path = folder / fmt::format("{}.grib2", last);
    codes_handle* h = sample_of("GRIB2");
    size_t size = 8;
    must(codes_set_string(h, "gridType", "mercator", &size));
    must(codes_set_long(h, "Ni", 4)), must(codes_set_long(h, "Nj", 3));
    must(codes_set_double(h, "latitudeOfFirstGridPointInDegrees", 30));
    must(codes_set_double(h, "latitudeOfLastGridPointInDegrees", last));
    must(codes_set_double(h, "longitudeOfFirstGridPointInDegrees", 10));
    must(codes_set_double(h, "longitudeOfLastGridPointInDegrees", 20));
    const std::vector<double> values(12, 1.0);
    must(codes_set_double_array(h, "values", values.data(), values.size()));
    must(codes_write_message(h, path.c_str(), "w"));
    codes_handle_delete(h);
    const auto list = list_fields(path);
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(list[0].grid.ends_with("places not known"), last != 40) << list[0].grid;
  }
}

TEST(GribGrids, SpectralCoefficientsAreRefusedInOneLine) {
  const TemporaryFolder folder;
  const std::string path = folder / "spectral.grib";
  codes_handle* h = sample_of("sh_ml_grib2");
  must(codes_write_message(h, path.c_str(), "w"));
  codes_handle_delete(h);
  EXPECT_MENTIONS(input_error([&] { fields_of(path); }), "spectral coefficients (sh): make a grid of them first");
  EXPECT_MENTIONS(list_fields(path).at(0).problem, "spectral coefficients");
}

// Its first section holds less than its centre's kind says, so that the grid section seems to be 10,272 bytes long.
TEST(Grib, AGridSectionBeyondItsMessageIsRefused) {
  const std::string path = test::source_file("fuzz/corpus/grib/long-grid-section.grib");
  EXPECT_MENTIONS(input_error([&] { list_fields(path); }), "expected a grid section inside the message of 144 bytes");
}

TEST(Grib, TheWordAloneMakesNoMessage) {
  EXPECT_TRUE(holds_grib("GRIB"));
  EXPECT_TRUE(holds_grib(std::string("header of an archive\nGRIB\0\0\0\2rest", 33)));
  EXPECT_TRUE(holds_grib(std::string("of GRIB files: GRIB\0\0\0\1rest", 27)));
  EXPECT_FALSE(holds_grib("xxxxxxx{\"path\":\"/data/GRIB/rain.fields\"}"));
  EXPECT_FALSE(holds_grib("notes on GRIB"));
}

TEST(GribChoice, MembersAndStepsAreToldApart) {
  const TemporaryFolder folder;
  const std::string path = folder / "ensemble.grib2";
  for (long member = 0; member < 3; ++member) {
    GribSpec s{.grid = "regular_ll", .width = 4, .height = 4, .member = member};
    s.value = [member](long j, long i) { return static_cast<double>(100 * member + 4 * j + i); };
    write_grib(path, s);
  }
  const auto all = fields_of(path);
  ASSERT_EQ(all.size(), 3U);
  for (int64_t k = 0; k < 3; ++k) EXPECT_EQ(all[static_cast<size_t>(k)].member, k);
  EXPECT_EQ(fields_of(path, {.member = 2}).at(0).values.at(0), 200);
  EXPECT_EQ(list_fields(path).at(0).members.size(), 3U);
  EXPECT_EQ(list_fields(path).at(0).count, 3);

  const std::string rain = folder / "rain.grib2";  // accumulated from 0 to 6 and from 3 to 6 hours
  for (const long from : {0L, 3L}) {
    GribSpec s{.grid = "regular_ll", .width = 4, .height = 4, .category = 1, .number = 8, .surface = 1};
    s.more = {{"productDefinitionTemplateNumber", 8},
              {"typeOfStatisticalProcessing", 1},
              {"startStep", from},
              {"endStep", 6}};
    s.value = [from](long j, long i) { return static_cast<double>(100 * from + 4 * j + i); };
    write_grib(rain, s);
  }
  EXPECT_EQ(fields_of(rain, {.step = 6}).size(), 2U);
  const auto late = fields_of(rain, {.step = 6, .step_from = 3});
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].values[1], 301);
  EXPECT_EQ(late[0].step, "3-6 (accum)");
  EXPECT_EQ(moment_text(late[0].time), "2019-06-10 18:00");  // the end of the interval
  EXPECT_EQ(fields_of(rain, {.step_type = "accum"}).size(), 2U);
  EXPECT_MENTIONS(input_error([&] { fields_of(rain, {.step_type = "avg"}); }), "expected step type avg, got ");
}

TEST(GribEdition1, ReadsValuesTimesAndNames) {
  const TemporaryFolder folder;
  GribSpec s{.grid = "regular_ll", .width = 6, .height = 5, .edition = 1, .bitmap = true};
  s.more = {{"table2Version", 128}, {"indicatorOfParameter", 167}};
  s.value = [&](long j, long i) { return j == 2 && i == 3 ? s.missing : place_value(j, i); };
  write_grib(folder / "one.grib", s);
  const auto fields = fields_of(folder / "one.grib", {.name = "167"});
  ASSERT_EQ(fields.size(), 1U);
  for (long j = 0; j < 5; ++j)
    for (long i = 0; i < 6; ++i) {
      const double v = fields[0].values[static_cast<size_t>(j * 6 + i)];
      if (j == 2 && i == 3)
        EXPECT_TRUE(std::isnan(v));
      else
        EXPECT_NEAR(v, place_value(j, i), 1e-3);
    }
  EXPECT_EQ(moment_text(fields[0].time), "2019-06-10 12:00");
  const std::string bytes = slurp(folder / "one.grib");
  for (const size_t at : {size_t{10}, bytes.size() / 2, bytes.size() - 3}) {
    spill(folder / "cut", bytes.substr(0, at));
    EXPECT_MENTIONS(input_error([&] { fields_of(folder / "cut"); }), "cut");
  }
}

// The message of a constant field as NCEP packs it: differences (template 5.3) of no groups, and no values at all.
std::string without_groups(const std::string& simple, float reference) {
  const auto whole = [&](size_t at, size_t bytes) {
    size_t v = 0;
    for (size_t k = 0; k < bytes; ++k) v = v << 8 | static_cast<unsigned char>(simple[at + k]);
    return v;
  };
  const auto put = [](std::string& out, uint64_t v, int bytes) {
    while (bytes-- > 0) out += static_cast<char>(v >> (8 * bytes) & 255);
  };
  std::string out = simple.substr(0, 16);
  for (size_t at = 16; at + 4 < simple.size(); at += whole(at, 4)) {
    const int section = simple[at + 4];
    if (section == 5) {
      uint32_t bits = 0;
      std::memcpy(&bits, &reference, sizeof bits);
      put(out, 49, 4), put(out, 5, 1), put(out, whole(at + 5, 4), 4), put(out, 3, 2), put(out, bits, 4);
      put(out, 0, 2), put(out, 0, 2), put(out, 0, 1), put(out, 0, 1), put(out, 1, 1), put(out, 0, 1);
      put(out, 0, 4), put(out, 0, 4), put(out, 0, 4), put(out, 1, 1), put(out, 2, 1), put(out, 55, 4);
      put(out, 1, 1), put(out, 7, 4), put(out, 0, 1), put(out, 1, 1), put(out, 1, 1);
    } else if (section == 7) {
      put(out, 5, 4), put(out, 7, 1);
    } else {
      out += simple.substr(at, whole(at, 4));
    }
  }
  out += "7777";
  std::string length;
  put(length, out.size(), 8);
  return out.replace(8, 8, length);
}

TEST(GribValues, AConstantFieldIsConstantInEveryPacking) {
  const TemporaryFolder folder;
  for (const char* packing : {"grid_simple", "none"}) {
    GribSpec s{.grid = "regular_ll", .width = 16, .height = 8};
    if (packing != std::string("none")) s.packing = packing;
    s.value = [](long, long) { return 3.0; };
    write_grib(folder / "constant", s, "w");
    if (packing == std::string("none")) spill(folder / "constant", without_groups(slurp(folder / "constant"), 3));
    const std::vector<ReadField> fields = fields_of(folder / "constant");
    ASSERT_EQ(fields.size(), 1U);
    for (const double v : fields[0].values) ASSERT_NEAR(v, 3, 1e-6) << packing;
  }
}

// A NetCDF file with v over some dimensions in an order; the value of (t, m, j, i) is 1000 t + 100 m + 10 j + i.
void write_ordered(const std::string& path, const std::string& order, const std::string& calendar, bool group) {
  const std::map<char, std::pair<const char*, size_t>> all{
      {'t', {"time", 3}}, {'m', {"member", 2}}, {'j', {"lat", 4}}, {'i', {"lon", 5}}};
  const auto ok = [](int error) {
    if (error) throw std::runtime_error(nc_strerror(error));
  };
  int id = 0, inner = 0;
  ok(nc_create(path.c_str(), NC_NETCDF4 | NC_CLOBBER, &id));
  inner = id;
  if (group) ok(nc_def_grp(id, "model", &inner));
  std::map<char, int> dimension, variable;
  std::vector<int> dims;
  for (const char c : order)
    ok(nc_def_dim(id, all.at(c).first, all.at(c).second, &dimension[c])), dims.push_back(dimension[c]);
  for (const char c : order) ok(nc_def_var(id, all.at(c).first, NC_DOUBLE, 1, &dimension[c], &variable[c]));
  const auto text = [&](int v, const char* name, const std::string& value) {
    ok(nc_put_att_text(id, v, name, value.size(), value.c_str()));
  };
  text(variable['t'], "units", "days since 2000-02-28 12:00"), text(variable['t'], "calendar", calendar);
  text(variable['j'], "units", "degrees_north"), text(variable['i'], "units", "degrees_east");
  int v = 0;
  ok(nc_def_var(inner, "v", NC_FLOAT, static_cast<int>(dims.size()), dims.data(), &v));
  ok(nc_enddef(id));
  for (const char c : order) {
    std::vector<double> x(all.at(c).second);
    for (size_t k = 0; k < x.size(); ++k) x[k] = static_cast<double>(k) + (c == 'j' ? 40 : 0);
    ok(nc_put_var_double(id, variable[c], x.data()));
  }
  size_t points = 1;
  for (const char c : order) points *= all.at(c).second;
  std::vector<float> values(points);
  for (size_t k = 0; k < points; ++k) {
    size_t rest = k;
    std::map<char, size_t> at;
    for (size_t d = order.size(); d-- > 0;)
      at[order[d]] = rest % all.at(order[d]).second, rest /= all.at(order[d]).second;
    values[k] = static_cast<float>(1000 * at['t'] + 100 * at['m'] + 10 * at['j'] + at['i']);
  }
  ok(nc_put_var_float(inner, v, values.data()));
  ok(nc_close(id));
}

TEST(NetcdfOrder, DimensionsMayStandInAnyOrder) {
  const TemporaryFolder folder;
  std::string order = "ijmt";
  do {
    write_ordered(folder / "a.nc", order, "standard", order[0] == 'm');
    const auto fields = fields_of(folder / "a.nc", {.name = "v"});
    ASSERT_EQ(fields.size(), 6U) << order;
    for (const ReadField& f : fields) {
      const int64_t t = (f.time - seconds_since_1970({2000, 2, 28, 12})) / 86400, m = f.member.value();
      ASSERT_EQ(f.grid.height, 4);
      for (int64_t k = 0; k < 20; ++k)
        ASSERT_EQ(f.values[static_cast<size_t>(k)], static_cast<double>(1000 * t + 100 * m + 10 * (k / 5) + k % 5))
            << order;
      ASSERT_EQ(f.grid.at(2, 3).latitude, 42);
    }
    EXPECT_EQ(fields_of(folder / "a.nc", {.name = "v", .member = 1}).size(), 3U);
  } while (std::next_permutation(order.begin(), order.end()));
  write_ordered(folder / "g.nc", "tji", "standard", true);
  EXPECT_EQ(fields_of(folder / "g.nc", {.name = "model/v"}).size(), 3U);
}

// Two days after 28 February 2000.
TEST(NetcdfCalendar, DaysAreCountedAsTheCalendarDoes) {
  const TemporaryFolder folder;
  const std::map<std::string, std::string> third{
      {"standard", "2000-03-01 12:00"}, {"proleptic_gregorian", "2000-03-01 12:00"},
      {"julian", "2000-03-01 12:00"},   {"noleap", "2000-03-02 12:00"},
      {"365_day", "2000-03-02 12:00"},  {"all_leap", "2000-03-01 12:00"},
      {"360_day", "2000-02-30 12:00"}};
  for (const auto& [calendar, day] : third) {
    write_ordered(folder / "c.nc", "tji", calendar, false);
    std::string last;
    visit_fields(folder / "c.nc", {}, [&](const FieldMessage& m) { last = moment_text(m.time, m.calendar); });
    EXPECT_EQ(last, day) << calendar;
  }
  write_ordered(folder / "c.nc", "tji", "lunar", false);
  EXPECT_MENTIONS(input_error([&] { fields_of(folder / "c.nc"); }), "expected a calendar of the CF conventions");
  for (const Calendar c :
       {Calendar::gregorian, Calendar::julian, Calendar::noleap, Calendar::all_leap, Calendar::days360})
    for (int64_t day = -800000; day < 800000; day += 997) {
      const int64_t s = day * 86400 + 4711;
      const Moment m = moment_of(s, c);
      EXPECT_EQ(seconds_since_1970(m, c), s) << calendar_name(c);
      EXPECT_TRUE(m.month >= 1 && m.month <= 12 && m.day >= 1 && m.day <= 31) << calendar_name(c) << " " << day;
    }
}

// Years beyond what a date is counted in wrapped around; of the largest the sum overflowed.
TEST(NetcdfCalendar, TimesThatNoCalendarHoldsAreRefused) {
  const TemporaryFolder folder;
  const auto write = [&](const char* units, double time) {
    int id = 0, dims[3] = {}, clock = 0, rain = 0;
    EXPECT_EQ(nc_create((folder / "t.nc").c_str(), NC_CLOBBER, &id), 0);
    const std::pair<const char*, size_t> sizes[] = {{"time", 1}, {"y", 2}, {"x", 2}};
    for (size_t k = 0; k < 3; ++k) EXPECT_EQ(nc_def_dim(id, sizes[k].first, sizes[k].second, &dims[k]), 0);
    EXPECT_EQ(nc_def_var(id, "time", NC_DOUBLE, 1, dims, &clock), 0);
    EXPECT_EQ(nc_put_att_text(id, clock, "units", std::strlen(units), units), 0);
    EXPECT_EQ(nc_def_var(id, "rain", NC_FLOAT, 3, dims, &rain), 0);
    EXPECT_EQ(nc_enddef(id), 0);
    const float values[] = {1, 2, 3, 4};
    EXPECT_EQ(nc_put_var_double(id, clock, &time), 0);
    EXPECT_EQ(nc_put_var_float(id, rain, values), 0);
    EXPECT_EQ(nc_close(id), 0);
  };
  const auto refusal = [&](const char* units, double time) {
    write(units, time);
    return input_error([&] { fields_of(folder / "t.nc"); });
  };
  for (const char* units : {"hours since 701600-3-1", "hours since 40000-1-1", "hours since 2000-1-1 25:00",
                            "hours since 2000-1-1 12:99", "hours since 2000-1-1 12:00:1e300"})
    EXPECT_MENTIONS(refusal(units, 0), std::string("since a date for 'time', got '") + units);
  EXPECT_MENTIONS(refusal("days since 2000-1-1", 1e8),
                  "within 26,900 years of 1970, got 100000000 days since 2000-1-1");
  EXPECT_MENTIONS(refusal("days since 2000-1-1", std::nan("")), "got a missing one");
  write("days since 28000-1-1", -1);
  visit_fields(folder / "t.nc", {},
               [](const FieldMessage& m) { EXPECT_EQ(moment_text(m.time, m.calendar), "27999-12-31 00:00"); });
}

TEST(Zarr, IsToldWithWhatToDo) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "a.zarr");
  spill(folder / "a.zarr/zarr.json", "{}");
  EXPECT_MENTIONS(input_error([&] { fields_of(folder / "a.zarr"); }), "got a Zarr store");
  EXPECT_MENTIONS(input_error([&] { fields_of(folder / "a.zarr"); }), "xarray.open_zarr");
}

}  // namespace
}  // namespace htfm
