// What NetCDF files of other programs look like: times in several forms, packing, places that are repeated, files that
// were cut off.
#include <gtest/gtest.h>
#include <netcdf.h>

#include <cmath>
#include <filesystem>
#include <numbers>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "htfm/field/calendar.h"
#include "htfm/field/list_fields.h"
#include "htfm/field/prepare.h"
#include "test/field/netcdf_builder.h"
#include "test/field/support.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using namespace test;

// One field of 2 x 3 whose values are 0 to 5, at a time with such units; `packing` is an attribute written as text.
void write_field(const std::string& path, const std::string& units, double time, const std::string& calendar = "",
                 const std::string& packing = "", const std::string& text = "") {
  Builder file(path);
  file.dimension("time", 1), file.dimension("y", 2), file.dimension("x", 3);
  const int t = file.variable("time", NC_DOUBLE, {"time"}), rain = file.variable("rain", NC_FLOAT, {"time", "y", "x"});
  file.text(t, "units", units);
  if (!calendar.empty()) file.text(t, "calendar", calendar);
  if (!packing.empty()) file.text(rain, packing.c_str(), text);
  file.values();
  const float values[] = {0, 1, 2, 3, 4, 5};
  ok(nc_put_var_double(file.id(), t, &time));
  ok(nc_put_var_float(file.id(), rain, values));
  file.close();
}

std::string time_of(const std::string& path) {
  std::string out;
  visit_fields(path, {}, [&](const FieldMessage& m) { out = moment_text(m.time, m.calendar); });
  return out;
}

TEST(NetcdfTimes, DatesMayHaveAnHourAloneAndUnitsAnyCase) {
  const TemporaryFolder folder;
  for (const auto& [units, expected] :
       std::vector<std::pair<std::string, std::string>>{{"hours since 2000-01-01 12", "2000-01-01 13:00"},
                                                        {"hours since 2000-01-01 1230", "2000-01-01 13:30"},
                                                        {"hours since 2000-01-01T12:30Z", "2000-01-01 13:30"},
                                                        {"hours since 2000-01-01 12:30:00.0 UTC", "2000-01-01 13:30"},
                                                        {"hours since 2000-01-01 12:00 +2:00", "2000-01-01 11:00"},
                                                        {"hours since 2000-01-01 -3", "2000-01-01 04:00"},
                                                        {"Hours Since 2000-01-01", "2000-01-01 01:00"},
                                                        {"DAYS since 2000-01-01", "2000-01-02 00:00"}}) {
    write_field(folder / "t.nc", units, 1);
    EXPECT_EQ(time_of(folder / "t.nc"), expected) << units;
  }
  write_field(folder / "t.nc", "months since 2000-02-28", 1.5, "360_day");  // there a month is a span
  EXPECT_EQ(time_of(folder / "t.nc"), "2000-04-13 00:00");
  write_field(folder / "t.nc", "months since 2000-02-28", 1, "noleap");
  EXPECT_MENTIONS(input_error([&] { time_of(folder / "t.nc"); }), "months are not equally long in this calendar");
  write_field(folder / "t.nc", "days since 2000-02-28", 1, "NOLEAP");
  EXPECT_EQ(time_of(folder / "t.nc"), "2000-03-01 00:00");
  write_field(folder / "t.nc", "hours since 2000-01-01 12 o'clock", 1);
  EXPECT_MENTIONS(input_error([&] { time_of(folder / "t.nc"); }), "since a date for 'time'");
}

TEST(NetcdfTimes, DaysMayBeWrittenAsNumbers) {
  const TemporaryFolder folder;
  write_field(folder / "t.nc", "day as %Y%m%d.%f", 20190610.25);
  EXPECT_EQ(time_of(folder / "t.nc"), "2019-06-10 06:00");
  write_field(folder / "t.nc", "day as %Y%m%d.%f", 20191310);
  EXPECT_MENTIONS(input_error([&] { time_of(folder / "t.nc"); }), "expected days such as 20190610.25");
}

// WRF: times as text, and places that are repeated for every time.
TEST(NetcdfTimes, WrfFilesHaveTimesAndPlaces) {
  const TemporaryFolder folder;
  for (const bool moving : {false, true}) {
    Builder file(folder / "wrf.nc");
    file.dimension("Time", 2), file.dimension("south_north", 2), file.dimension("west_east", 3);
    file.dimension("DateStrLen", 19);
    const int times = file.variable("Times", NC_CHAR, {"Time", "DateStrLen"});
    const int lat = file.variable("XLAT", NC_FLOAT, {"Time", "south_north", "west_east"}),
              lon = file.variable("XLONG", NC_FLOAT, {"Time", "south_north", "west_east"}),
              rain = file.variable("RAINNC", NC_FLOAT, {"Time", "south_north", "west_east"});
    file.text(lat, "units", "degree_north"), file.text(lon, "units", "degree_east");
    file.text(rain, "coordinates", "XLONG XLAT XTIME");
    file.values();
    ok(nc_put_var_text(file.id(), times, "2019-06-10_06:00:002019-06-10_07:30:00"));
    std::vector<float> places{40, 40, 40, 41, 41, 41, 40, 40, 40, 41, 41, 41}, values(12);
    if (moving) places.back() = 42;
    ok(nc_put_var_float(file.id(), lat, places.data()));
    std::iota(values.begin(), values.end(), 0.0F);
    ok(nc_put_var_float(file.id(), rain, values.data()));
    for (size_t k = 0; k < 12; ++k) places[k] = static_cast<float>(k % 3);
    ok(nc_put_var_float(file.id(), lon, places.data()));
    file.close();
    const std::vector<ReadField> fields = fields_of(folder / "wrf.nc");
    ASSERT_EQ(fields.size(), 2U);
    EXPECT_EQ(fields[0].time, seconds_since_1970({2019, 6, 10, 6}));
    EXPECT_EQ(fields[1].time, seconds_since_1970({2019, 6, 10, 7, 30}));
    EXPECT_EQ(fields[1].values, (std::vector<double>{6, 7, 8, 9, 10, 11}));
    EXPECT_EQ(fields[1].grid.has_places(), !moving) << "a grid that moves has no places of its own";
    if (moving) continue;
    EXPECT_EQ(fields[1].grid.at(1, 2).latitude, 41);
  }
}

TEST(NetcdfPacking, TextIsRefusedWhereItWouldChangeValues) {
  const TemporaryFolder folder;
  write_field(folder / "p.nc", "hours since 2000-01-01", 0, "", "scale_factor", "0.1");
  EXPECT_MENTIONS(input_error([&] { fields_of(folder / "p.nc"); }),
                  "expected a number as scale_factor of 'rain', got the text '0.1'");
  write_field(folder / "p.nc", "hours since 2000-01-01", 0, "", "missing_value", "3");
  const std::vector<double> values = fields_of(folder / "p.nc").at(0).values;
  for (size_t k = 0; k < values.size(); ++k) EXPECT_EQ(std::isnan(values[k]), k == 3) << "written as text, and meant";
}

// The library reads zeros where a classic file was cut off.
TEST(NetcdfClassic, AFileThatWasCutOffIsRefused) {
  const TemporaryFolder folder;
  for (const int mode : {0, NC_64BIT_OFFSET, NC_64BIT_DATA})
    for (const bool records : {false, true})
      for (const bool alone : {false, true}) {
        const std::string path = folder / "c.nc";
        Builder file(path, mode);
        file.dimension("time", records ? NC_UNLIMITED : 3), file.dimension("y", 3), file.dimension("x", 3);
        const int rain = file.variable("rain", NC_SHORT, {"time", "y", "x"});
        const int other = alone ? -1 : file.variable("other", NC_SHORT, {"time", "y", "x"});
        file.values();
        const size_t start[] = {0, 0, 0}, count[] = {3, 3, 3};
        std::vector<short> values(27);
        std::iota(values.begin(), values.end(), short{1});
        ok(nc_put_vara_short(file.id(), rain, start, count, values.data()));
        if (!alone) ok(nc_put_vara_short(file.id(), other, start, count, values.data()));
        file.close();
        FieldChoice choice;
        choice.name = "rain", choice.everything = true;
        EXPECT_EQ(fields_of(path, choice).size(), 3U) << mode << records << alone;
        // The last value may stand before two bytes that only fill a word.
        std::filesystem::resize_file(path, std::filesystem::file_size(path) - 5);
        EXPECT_MENTIONS(input_error([&] { fields_of(path, choice); }), "truncated: expected");
      }
}

TEST(NetcdfLevels, OneOfTwoFurtherDimensionsIsTheVertical) {
  const TemporaryFolder folder;
  const std::string path = folder / "l.nc";
  Builder file(path);
  file.dimension("month", 2), file.dimension("level", 2), file.dimension("y", 2), file.dimension("x", 3);
  const int month = file.variable("month", NC_INT, {"month"}), level = file.variable("level", NC_INT, {"level"}),
            t = file.variable("t", NC_FLOAT, {"month", "level", "y", "x"});
  file.text(level, "units", "hPa");
  file.values();
  const int months[] = {1, 2}, levels[] = {1, 500};
  std::vector<float> values(24);
  ok(nc_put_var_int(file.id(), month, months)), ok(nc_put_var_int(file.id(), level, levels));
  ok(nc_put_var_float(file.id(), t, values.data()));
  file.close();
  FieldChoice choice;
  choice.level = 1;  // a month, too
  EXPECT_MENTIONS(input_error([&] { fields_of(path, choice); }), "of which --level chooses, got 'month' too");
}

// How a file writes its latitudes and longitudes.
struct PlaceWay {
  std::string lat, lon, lat_units = "", lon_units = "", lat_long = "", lon_long = "";
  double unit = 1;  // degrees
};

// v(time 1, lon 3, lat 2), whose value is 10 * row + column of latitude and longitude.
ReadField read_turned(const std::string& path, const PlaceWay& way) {
  Builder file(path);
  file.dimension("time", 1), file.dimension(way.lon.c_str(), 3), file.dimension(way.lat.c_str(), 2);
  const int lat = file.variable(way.lat.c_str(), NC_DOUBLE, {way.lat.c_str()}),
            lon = file.variable(way.lon.c_str(), NC_DOUBLE, {way.lon.c_str()}),
            v = file.variable("v", NC_DOUBLE, {"time", way.lon.c_str(), way.lat.c_str()});
  file.text(lat, "units", way.lat_units), file.text(lon, "units", way.lon_units);
  file.text(lat, "long_name", way.lat_long), file.text(lon, "long_name", way.lon_long);
  file.values();
  const double north[] = {50 / way.unit, 40 / way.unit}, east[] = {5 / way.unit, 6 / way.unit, 7 / way.unit},
               values[] = {0, 10, 1, 11, 2, 12};
  ok(nc_put_var_double(file.id(), lat, north)), ok(nc_put_var_double(file.id(), lon, east));
  ok(nc_put_var_double(file.id(), v, values));
  file.close();
  return fields_of(path).at(0);
}

TEST(NetcdfPlaces, LatitudesAreKnownHoweverTheyAreWritten) {
  const TemporaryFolder folder;
  for (const PlaceWay& way :
       std::vector<PlaceWay>{{.lat = "lat", .lon = "lon", .lat_units = "degrees", .lon_units = "degrees"},
                             {.lat = "lat", .lon = "lon", .lat_units = "degreeN", .lon_units = "degreeE"},
                             {.lat = "b", .lon = "a", .lat_units = "degrees_N", .lon_units = "degrees_E"},
                             {.lat = "b", .lon = "a", .lat_units = "Degrees_North", .lon_units = "Degrees_East"},
                             {.lat = "Latitude", .lon = "Longitude"},
                             {.lat = "nav_lat", .lon = "nav_lon", .lat_units = "degree", .lon_units = "degree"},
                             {.lat = "b", .lon = "a", .lat_long = "Latitude", .lon_long = "longitude"},
                             {.lat = "lat",
                             .lon = "lon",
                             .lat_units = "Radians",
                             .lon_units = "radians",
                             .unit = 180 / std::numbers::pi}}) {
    const ReadField f = read_turned(folder / "t.nc", way);
    EXPECT_EQ(f.values, (std::vector<double>{0, 1, 2, 10, 11, 12})) << way.lat << " " << way.lat_units;
    ASSERT_TRUE(f.grid.has_places()) << way.lat << " " << way.lat_units;
    EXPECT_NEAR(f.grid.at(1, 2).latitude, 40, 1e-12) << way.lat_units;
    EXPECT_NEAR(f.grid.at(1, 2).longitude, 7, 1e-12) << way.lat_units;
  }
}

// POP: two latitudes over the same dimensions, of which each field lists its own.
TEST(NetcdfPlaces, ThoseThatTheFieldListsGoFirst) {
  const TemporaryFolder folder;
  Builder file(folder / "pop.nc");
  file.dimension("nlat", 2), file.dimension("nlon", 3);
  std::vector<int> places;
  for (const char* name : {"ULAT", "ULONG", "TLAT", "TLONG"}) {
    places.push_back(file.variable(name, NC_DOUBLE, {"nlat", "nlon"}));
    file.text(places.back(), "units", std::string(name).ends_with("LAT") ? "degrees_north" : "degrees_east");
  }
  const int sst = file.variable("SST", NC_FLOAT, {"nlat", "nlon"}),
            u = file.variable("UVEL", NC_FLOAT, {"nlat", "nlon"});
  file.text(sst, "coordinates", "TLONG TLAT"), file.text(u, "coordinates", "ULONG ULAT");
  file.values();
  for (size_t k = 0; k < places.size(); ++k) {
    const std::vector<double> v(6, 10.0 * static_cast<double>(k + 1));
    ok(nc_put_var_double(file.id(), places[k], v.data()));
  }
  const float values[6] = {};
  ok(nc_put_var_float(file.id(), sst, values)), ok(nc_put_var_float(file.id(), u, values));
  file.close();
  for (const auto& [name, lat, lon] : {std::tuple{"SST", 30.0, 40.0}, {"UVEL", 10.0, 20.0}}) {
    const Grid grid = fields_of(folder / "pop.nc", {.name = name}).at(0).grid;
    EXPECT_EQ(grid.at(1, 1).latitude, lat) << name;
    EXPECT_EQ(grid.at(1, 1).longitude, lon) << name;
  }
}

// CAM's cubed sphere: levels and columns are no rows and columns.
TEST(NetcdfPlaces, AListOfPointsIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder / "se.nc";
  for (const bool known : {true, false}) {  // places may be in a file of their own
    Builder file(path);
    file.dimension("lev", 2), file.dimension("ncol", 5);
    const int t = file.variable("T", NC_FLOAT, {"lev", "ncol"});
    if (known)
      for (const auto& [name, units] : {std::pair{"lat", "degrees_north"}, {"lon", "degrees_east"}})
        file.text(file.variable(name, NC_DOUBLE, {"ncol"}), "units", units);
    file.values();
    const float values[10] = {};
    ok(nc_put_var_float(file.id(), t, values));
    file.close();
    EXPECT_MENTIONS(input_error([&] { fields_of(path, {.name = "T"}); }),
                    "se.nc: expected a field on a grid, got T(lev 2, ncol 5) of points along 'ncol', without rows and "
                    "columns: put it on a regular grid first, with cdo remapnn for instance");
    const std::vector<ListedFields> list = list_fields(path);
    ASSERT_EQ(list.size(), 1U) << "not one for each point";
    EXPECT_MENTIONS(list[0].problem, "points along 'ncol'");
  }
}

// Analyses at 00 and 06 h, and one step of 12 hours beside them.
TEST(NetcdfSteps, AStepBesideTheTimeOfTheAnalysisIsAdded) {
  const TemporaryFolder folder;
  const std::string path = folder / "s.nc";
  for (const bool valid : {false, true}) {
    Builder file(path);
    file.dimension("time", 2), file.dimension("y", 2), file.dimension("x", 3);
    const int time = file.variable("time", NC_DOUBLE, {"time"}), step = file.variable("step", NC_DOUBLE, {}),
              v = file.variable("v", NC_FLOAT, {"time", "y", "x"});
    file.text(time, "units", "hours since 2020-01-01");
    file.text(time, "standard_name", valid ? "time" : "forecast_reference_time"), file.text(step, "units", "hours");
    file.values();
    const double times[] = {0, 6}, hours = 12;
    const float values[12] = {};
    ok(nc_put_var_double(file.id(), time, times)), ok(nc_put_var_double(file.id(), step, &hours));
    ok(nc_put_var_float(file.id(), v, values));
    file.close();
    const std::vector<ReadField> fields = fields_of(path);
    ASSERT_EQ(fields.size(), 2U);
    EXPECT_EQ(fields[1].time, seconds_since_1970({2020, 1, 1, valid ? 6 : 18})) << valid;
    EXPECT_EQ(fields_of(path, {.step = 12}).size(), 2U);
    EXPECT_MENTIONS(input_error([&] { fields_of(path, {.step = 6}); }), "expected step 6 in v(time 2, y 2, x 3)");
  }
}

// xarray's file of one forecast: times of validity, each with its step.
TEST(NetcdfSteps, TimesOfOneForecastAreChosenByTheirStep) {
  const TemporaryFolder folder;
  const std::string path = folder / "f.nc";
  Builder file(path);
  file.dimension("step", 2), file.dimension("y", 2), file.dimension("x", 3);
  const int step = file.variable("step", NC_DOUBLE, {"step"}), time = file.variable("valid_time", NC_DOUBLE, {"step"}),
            v = file.variable("v", NC_FLOAT, {"step", "y", "x"});
  file.text(step, "units", "hours"), file.text(time, "units", "hours since 2020-01-01");
  file.text(time, "standard_name", "time");
  file.values();
  const double hours[] = {6, 12};
  const float values[12] = {};
  ok(nc_put_var_double(file.id(), step, hours)), ok(nc_put_var_double(file.id(), time, hours));
  ok(nc_put_var_float(file.id(), v, values));
  file.close();
  EXPECT_EQ(fields_of(path).size(), 2U);
  const std::vector<ReadField> fields = fields_of(path, {.step = 12});
  ASSERT_EQ(fields.size(), 1U);
  EXPECT_EQ(fields[0].time, seconds_since_1970({2020, 1, 1, 12}));
  EXPECT_MENTIONS(input_error([&] { fields_of(path, {.step = 9}); }), "got steps from 6 to 12 hours");
}

// Levels without values, a name as h5py writes it, and a coordinate of others asked for by name.
TEST(NetcdfNames, LevelsAreNumberedAndCoordinatesMayBeAskedFor) {
  const TemporaryFolder folder;
  const std::string path = folder / "n.nc";
  Builder file(path);
  file.dimension("bottom_top", 9), file.dimension("y", 1), file.dimension("x", 2);
  const int t = file.variable("T", NC_FLOAT, {"bottom_top", "y", "x"});
  file.variable("HGT", NC_FLOAT, {"y", "x"}), file.text(t, "coordinates", "HGT");
  file.values();
  std::vector<float> values(18);
  std::iota(values.begin(), values.end(), 0.0F);
  ok(nc_put_var_float(file.id(), t, values.data()));
  file.close();
  EXPECT_EQ(fields_of(path, {.name = "/T", .level = 3}).at(0).values, (std::vector<double>{6, 7}));
  EXPECT_MENTIONS(input_error([&] { fields_of(path, {.name = "T"}); }), "--level 0 chooses the first of 9");
  EXPECT_MENTIONS(input_error([&] { fields_of(path, {.name = "T", .level = 9}); }),
                  "expected bottom_top = 9, got 0, 1, 2, 3, 4, 5, 6, 7, ... 8 (9 values)");
  EXPECT_EQ(fields_of(path, {.name = "HGT"}).size(), 1U);
  EXPECT_EQ(fields_of(path, {.name = "T", .everything = true}).size(), 9U);
}

// The one level that a variable has beside several others is not asked for.
TEST(NetcdfNames, LevelsOfOneDimensionAreChosenBesideOneOfLengthOne) {
  const TemporaryFolder folder;
  const std::string path = folder / "n.nc";
  Builder file(path);
  file.dimension("height", 1), file.dimension("plev", 3), file.dimension("y", 1), file.dimension("x", 2);
  const int height = file.variable("height", NC_FLOAT, {"height"}), plev = file.variable("plev", NC_FLOAT, {"plev"});
  const int u = file.variable("u", NC_FLOAT, {"height", "plev", "y", "x"});
  file.values();
  const float metres = 10, levels[] = {850, 500, 200}, values[] = {0, 1, 2, 3, 4, 5};
  ok(nc_put_var_float(file.id(), height, &metres)), ok(nc_put_var_float(file.id(), plev, levels));
  ok(nc_put_var_float(file.id(), u, values));
  file.close();
  EXPECT_EQ(fields_of(path, {.name = "u", .level = 500}).at(0).values, (std::vector<double>{2, 3}));
}

// One hour of v over 2 x 3 points, with places of that type.
void write_hour(const std::string& path, double hour, const std::string& units, nc_type type,
                const std::vector<double>& north) {
  Builder file(path);
  file.dimension("time", 1), file.dimension("lat", 2), file.dimension("lon", 3);
  const int time = file.variable("time", NC_DOUBLE, {"time"}), lat = file.variable("lat", type, {"lat"}),
            lon = file.variable("lon", type, {"lon"}), v = file.variable("v", NC_FLOAT, {"time", "lat", "lon"});
  file.text(time, "units", "hours since 2020-01-01"), file.text(v, "units", units);
  file.text(lat, "units", "degrees_north"), file.text(lon, "units", "degrees_east");
  file.values();
  const double east[] = {5.1, 5.2, 5.3};
  const float values[] = {0, 1, 2, 3, 4, 5};
  ok(nc_put_var_double(file.id(), time, &hour)), ok(nc_put_var_float(file.id(), v, values));
  ok(nc_put_var_double(file.id(), lat, north.data())), ok(nc_put_var_double(file.id(), lon, east));
  file.close();
}

TEST(NetcdfFiles, AllHaveOneGridAndOneUnit) {
  const TemporaryFolder folder;
  write_hour(folder / "a.nc", 0, "mm/h", NC_DOUBLE, {50.1, 50.2});
  write_hour(folder / "narrow.nc", 1, "mm/h", NC_FLOAT, {50.1, 50.2});
  write_hour(folder / "unit.nc", 1, "m s-1", NC_DOUBLE, {50.1, 50.2});
  write_hour(folder / "same.nc", 1, "mm/h ", NC_DOUBLE, {50.1, 50.2});
  write_hour(folder / "hour.nc", 1, "mm hr-1", NC_DOUBLE, {50.1, 50.2});
  write_hour(folder / "none.nc", 1, "", NC_DOUBLE, {50.1, 50.2});
  write_hour(folder / "flipped.nc", 1, "mm/h", NC_DOUBLE, {50.2, 50.1});
  PrepareSpec spec;
  spec.channels = {{.name = "v"}};
  const auto with = [&](const char* other) {
    return prepare_fields({folder / "a.nc", folder / other}, spec, folder / "set");
  };
  EXPECT_EQ(with("narrow.nc").train, 2) << "the same places as float32";
  EXPECT_EQ(with("same.nc").train, 2);
  EXPECT_EQ(with("hour.nc").train, 2);
  EXPECT_EQ(with("none.nc").train, 2);
  EXPECT_MENTIONS(input_error([&] { with("unit.nc"); }), "unit.nc: expected 'v' in 'mm/h', as in ");
  EXPECT_MENTIONS(input_error([&] { with("unit.nc"); }), "a.nc, got 'm s-1': convert one of them first");
  EXPECT_MENTIONS(
      input_error([&] { with("flipped.nc"); }),
      "(netcdf, 2 x 3, from 50.1, 5.1 to 50.2, 5.3), got another netcdf, 2 x 3, from 50.2, 5.1 to 50.1, 5.3");
}

// A time that cannot be read, of one variable among others.
TEST(NetcdfFiles, OneVariableThatCannotBeReadDoesNotHideTheOthers) {
  const TemporaryFolder folder;
  const auto write = [&](bool with_other) {
    Builder file(folder / "a.nc");
    file.dimension("time", 2), file.dimension("y", 2), file.dimension("x", 3);
    const int t = file.variable("time", NC_DOUBLE, {"time"}), v = file.variable("rain", NC_FLOAT, {"time", "y", "x"});
    file.text(t, "units", "days since Jan 1, 2000");
    file.text(v, "units", "mm");
    if (with_other) file.variable("height", NC_FLOAT, {"y", "x"});
    file.values(), file.close();
  };
  write(true);
  const auto list = list_fields(folder / "a.nc");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].name, "height");
  EXPECT_EQ(list[0].problem, "");
  EXPECT_EQ(list[1].name, "rain");
  EXPECT_TRUE(list[1].problem.starts_with("expected a time in seconds, minutes, hours or days")) << list[1].problem;
  EXPECT_MENTIONS(input_error([&] { visit_fields(folder / "a.nc", {.name = "rain"}, [](const FieldMessage&) {}); }),
                  "a.nc: expected a time in seconds");
  write(false);
  EXPECT_MENTIONS(input_error([&] { list_fields(folder / "a.nc"); }), "a.nc: expected a time in seconds");
}

// A radar's rays: times and distances, and no rows and columns. It is listed by times, not for each distance.
TEST(NetcdfFiles, WhatHasNoRowsAndColumnsIsListedOnce) {
  const TemporaryFolder folder;
  Builder file(folder / "a.nc");
  file.dimension("time", 4), file.dimension("range", 500);
  const int t = file.variable("time", NC_DOUBLE, {"time"});
  file.variable("range", NC_FLOAT, {"range"});
  file.variable("dbz", NC_FLOAT, {"time", "range"});
  file.text(t, "units", "seconds since 2000-01-01");
  file.values();
  const double seconds[] = {0, 1, 2, 3};
  ok(nc_put_var_double(file.id(), t, seconds)), file.close();
  const auto list = list_fields(folder / "a.nc");
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].count, 4);
  EXPECT_MENTIONS(list[0].problem, "whose rows and columns are not to be found");
}

TEST(NetcdfFiles, ThoseWithoutFieldsSayWhatTheyHold) {
  const TemporaryFolder folder;
  Builder file(folder / "a.nc");
  file.dimension("station", 4), file.variable("gust", NC_FLOAT, {"station"}), file.variable("crs", NC_INT, {});
  file.values(), file.close();
  EXPECT_MENTIONS(input_error([&] { list_fields(folder / "a.nc"); }),
                  "a.nc: expected a variable of numbers along rows and columns, got gust(station 4)");
}

// Latitudes and longitudes that were never written say nothing of where the grid is.
TEST(NetcdfFiles, PlacesOfFillValuesAreNone) {
  const TemporaryFolder folder;
  Builder file(folder / "a.nc");
  file.dimension("y", 2), file.dimension("x", 3);
  const int lat = file.variable("lat", NC_DOUBLE, {"y", "x"}), lon = file.variable("lon", NC_DOUBLE, {"y", "x"});
  file.text(lat, "units", "degrees_north"), file.text(lon, "units", "degrees_east");
  file.variable("v", NC_FLOAT, {"y", "x"});
  file.values(), file.close();
  const auto list = list_fields(folder / "a.nc");
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].grid, "netcdf, 2 x 3, places not known");
}

// HDF5 allows a block of the user's own at the start of a file.
TEST(NetcdfFiles, MayBeginBehindAnotherBlock) {
  const TemporaryFolder folder;
  Builder file(folder / "a.nc", NC_NETCDF4);
  file.dimension("y", 2), file.dimension("x", 3);
  const int v = file.variable("v", NC_FLOAT, {"y", "x"});
  file.values();
  const float values[] = {0, 1, 2, 3, 4, 5};
  ok(nc_put_var_float(file.id(), v, values)), file.close();
  for (const size_t block : {0, 512, 1024, 700}) {
    spill(folder / "b.nc", std::string(block, '\0') + slurp(folder / "a.nc"));
    if (block == 700) {
      EXPECT_MENTIONS(input_error([&] { list_fields(folder / "b.nc"); }), "expected GRIB or NetCDF");
      continue;
    }
    const auto list = list_fields(folder / "b.nc");
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(list[0].highest, 5);
  }
}

// A sea's fields have no values on land, and some files have a time twice.
TEST(NetcdfFiles, SayWhatToDoWithoutValuesAndWithATimeTwice) {
  const TemporaryFolder folder;
  Builder file(folder / "a.nc");
  file.dimension("y", 2), file.dimension("x", 3);
  const int v = file.variable("v", NC_FLOAT, {"y", "x"});
  file.values();
  const float values[] = {0, 1, 2, 3, 4, NC_FILL_FLOAT};
  ok(nc_put_var_float(file.id(), v, values)), file.close();
  PrepareSpec spec;
  spec.channels = {{.name = "v"}};
  EXPECT_MENTIONS(input_error([&] { prepare_fields({folder / "a.nc"}, spec, folder / "set"); }),
                  "of 1 of 1 frames are dropped (choose windows that have values everywhere: --box, ");
  Builder twice(folder / "twice.nc");
  twice.dimension("time", 2), twice.dimension("y", 2), twice.dimension("x", 3);
  const int t = twice.variable("time", NC_DOUBLE, {"time"}), w = twice.variable("v", NC_FLOAT, {"time", "y", "x"});
  twice.text(t, "units", "days since 2000-01-01");
  twice.values();
  const double days[] = {1, 1};
  const float more[] = {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5};
  ok(nc_put_var_double(twice.id(), t, days)), ok(nc_put_var_float(twice.id(), w, more)), twice.close();
  EXPECT_MENTIONS(input_error([&] { prepare_fields({folder / "twice.nc"}, spec, folder / "set"); }),
                  "if the file has this time twice, leave one out");
}

}  // namespace
}  // namespace htfm
