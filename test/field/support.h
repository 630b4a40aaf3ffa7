// Small files of fields, written with the libraries themselves.
#pragma once

#include <eccodes.h>
#include <netcdf.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "htfm/field/field_file.h"
#include "htfm/field/grid.h"

namespace htfm::test {

inline void must(int error, const std::string& what = "") {
  if (error) throw std::runtime_error(what + ": " + codes_get_error_message(error));
}

constexpr double kNowhere = 1e9;

/// One GRIB message. The default is HRRR's: its Lambert grid, vertically integrated liquid of the whole column, an
/// analysis.
struct GribSpec {
  std::string grid = "lambert";  // or regular_ll
  long width = 1799, height = 1059;
  long discipline = 0, category = 15, number = 3, surface = 10, date = 20190610, time = 1200, step = 0, edition = 2;
  std::string packing = "grid_simple";
  long bits = 16, decimals = 2;
  bool bitmap = false;
  double missing = 9999;
  double north = 50, west = 250;  // regular_ll: of the first point, half a degree apart where no last one is given
  double south = kNowhere, east = kNowhere;             // of the last point
  long member = -1;                                     // of an ensemble
  std::vector<std::pair<const char*, long>> more = {};  // keys set before the values
  std::function<double(long row, long column)> value = [](long j, long i) {
    return static_cast<double>((j * 7 + i * 3) % 100) / 4;
  };
};

inline std::vector<double> grib_values(const GribSpec& s) {
  std::vector<double> v;
  for (long j = 0; j < s.height; ++j)
    for (long i = 0; i < s.width; ++i) v.push_back(s.value(j, i));
  return v;
}

/// Appends a message to a file.
inline void write_grib(const std::string& path, const GribSpec& s, const char* mode = "ab") {
  codes_handle* h = codes_grib_handle_new_from_samples(nullptr, s.edition == 2 ? "GRIB2" : "GRIB1");
  if (!h) throw std::runtime_error("no sample");
  const auto whole = [&](const char* key, long v) { must(codes_set_long(h, key, v), key); };
  const auto number = [&](const char* key, double v) { must(codes_set_double(h, key, v), key); };
  const auto word = [&](const char* key, const std::string& v) {
    size_t size = v.size();
    must(codes_set_string(h, key, v.c_str(), &size), key);
  };
  word("gridType", s.grid);
  whole("Ni", s.width), whole("Nj", s.height);
  if (s.edition == 2) {
    whole("discipline", s.discipline), whole("parameterCategory", s.category), whole("parameterNumber", s.number);
    whole("typeOfFirstFixedSurface", s.surface);
    whole("forecastTime", s.step);
  }
  if (s.grid == "lambert") {
    whole("shapeOfTheEarth", 6);
    number("latitudeOfFirstGridPointInDegrees", 21.138123), number("longitudeOfFirstGridPointInDegrees", 237.280472);
    number("LaDInDegrees", 38.5), number("LoVInDegrees", 262.5), number("Latin1InDegrees", 38.5),
        number("Latin2InDegrees", 38.5);
    number("DxInMetres", 3000), number("DyInMetres", 3000);
    whole("jScansPositively", 1);
  } else {
    const double south = s.south == kNowhere ? s.north - 0.5 * static_cast<double>(s.height - 1) : s.south,
                 east = s.east == kNowhere ? s.west + 0.5 * static_cast<double>(s.width - 1) : s.east;
    const auto turned = [](double x) { return x > 360 ? x - 360 : x < 0 ? x + 360 : x; };
    number("latitudeOfFirstGridPointInDegrees", s.north), number("longitudeOfFirstGridPointInDegrees", turned(s.west));
    number("latitudeOfLastGridPointInDegrees", south), number("longitudeOfLastGridPointInDegrees", turned(east));
    number("iDirectionIncrementInDegrees", std::abs(east - s.west) / static_cast<double>(std::max(1L, s.width - 1)));
    number("jDirectionIncrementInDegrees", std::abs(s.north - south) / static_cast<double>(std::max(1L, s.height - 1)));
    if (south > s.north) whole("jScansPositively", 1);
  }
  whole("dataDate", s.date), whole("dataTime", s.time);
  if (s.member >= 0)
    whole("productDefinitionTemplateNumber", 1), whole("perturbationNumber", s.member),
        whole("numberOfForecastsInEnsemble", 5);
  for (const auto& [key, value] : s.more) whole(key, value);
  if (s.bitmap) whole("bitmapPresent", 1), number("missingValue", s.missing);
  if (s.edition == 2) word("packingType", s.packing);
  whole("bitsPerValue", s.bits);
  if (s.packing == "grid_png" || s.packing == "grid_jpeg") whole("decimalScaleFactor", s.decimals);
  const std::vector<double> v = grib_values(s);
  must(codes_set_double_array(h, "values", v.data(), v.size()), "values");
  must(codes_write_message(h, path.c_str(), mode[0] == 'a' ? "a" : "w"));
  // What readers ask for: ecCodes keeps the definitions that it has looked up, and the processes that read inherit
  // them. To look them up anew takes longer than any file here.
  for (const char* key :
       {"shortName", "name", "units", "paramId", "typeOfLevel", "stepType", "stepRange", "validityDate"}) {
    char text[256];
    size_t size = sizeof text;
    codes_get_string(h, key, text, &size);
  }
  codes_handle_delete(h);
}

/// What ecCodes itself reads from the first message.
inline std::vector<double> eccodes_values(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  int error = 0;
  codes_handle* h = codes_handle_new_from_file(nullptr, file, PRODUCT_GRIB, &error);
  must(error);
  size_t size = 0;
  must(codes_get_size(h, "values", &size));
  std::vector<double> v(size);
  must(codes_get_double_array(h, "values", v.data(), &size));
  codes_handle_delete(h);
  std::fclose(file);
  return v;
}

/// A NetCDF file with rain(time, lat, lon), packed as short with a fill value, hourly from 2020-12-31 22:00; the value
/// of (t, j, i) is t + j + i / 2, and (1, 0, 0) is missing.
inline void write_netcdf(const std::string& path, size_t times = 4, size_t rows = 6, size_t columns = 8) {
  int id = 0, dims[3], lat = 0, lon = 0, time = 0, rain = 0;
  const auto ok = [](int error) {
    if (error) throw std::runtime_error(nc_strerror(error));
  };
  ok(nc_create(path.c_str(), NC_CLOBBER, &id));
  ok(nc_def_dim(id, "time", times, &dims[0]));
  ok(nc_def_dim(id, "lat", rows, &dims[1]));
  ok(nc_def_dim(id, "lon", columns, &dims[2]));
  ok(nc_def_var(id, "time", NC_DOUBLE, 1, &dims[0], &time));
  ok(nc_def_var(id, "lat", NC_FLOAT, 1, &dims[1], &lat));
  ok(nc_def_var(id, "lon", NC_FLOAT, 1, &dims[2], &lon));
  ok(nc_def_var(id, "rain", NC_SHORT, 3, dims, &rain));
  const auto text = [&](int v, const char* name, const std::string& value) {
    ok(nc_put_att_text(id, v, name, value.size(), value.c_str()));
  };
  text(time, "units", "hours since 2020-12-31 22:00:00");
  text(lat, "units", "degrees_north"), text(lon, "units", "degrees_east"), text(rain, "units", "mm/h");
  const double scale = 0.5;
  const short fill = -1;
  ok(nc_put_att_double(id, rain, "scale_factor", NC_DOUBLE, 1, &scale));
  ok(nc_put_att_short(id, rain, "_FillValue", NC_SHORT, 1, &fill));
  ok(nc_enddef(id));
  std::vector<double> t(times);
  std::vector<float> y(rows), x(columns);
  for (size_t k = 0; k < times; ++k) t[k] = static_cast<double>(k);
  for (size_t k = 0; k < rows; ++k) y[k] = static_cast<float>(40 + k);
  for (size_t k = 0; k < columns; ++k) x[k] = static_cast<float>(10 + k);
  ok(nc_put_var_double(id, time, t.data())), ok(nc_put_var_float(id, lat, y.data())),
      ok(nc_put_var_float(id, lon, x.data()));
  std::vector<short> v;
  for (size_t k = 0; k < times; ++k)
    for (size_t j = 0; j < rows; ++j)
      for (size_t i = 0; i < columns; ++i)
        v.push_back(k == 1 && j == 0 && i == 0 ? fill : static_cast<short>(2 * k + 2 * j + i));
  ok(nc_put_var_short(id, rain, v.data()));
  ok(nc_close(id));
}

/// A NetCDF file with v(time 2, lat, lon) of doubles on a grid of rows and columns.
inline void write_netcdf_grid(const std::string& path, const std::vector<double>& latitude,
                              const std::vector<double>& longitude,
                              const std::function<double(size_t, size_t, size_t)>& value) {
  int id = 0, dims[3], lat = 0, lon = 0, time = 0, v = 0;
  const auto ok = [](int error) {
    if (error) throw std::runtime_error(nc_strerror(error));
  };
  ok(nc_create(path.c_str(), NC_CLOBBER, &id));
  ok(nc_def_dim(id, "time", 2, &dims[0]));
  ok(nc_def_dim(id, "lat", latitude.size(), &dims[1]));
  ok(nc_def_dim(id, "lon", longitude.size(), &dims[2]));
  ok(nc_def_var(id, "time", NC_DOUBLE, 1, &dims[0], &time));
  ok(nc_def_var(id, "lat", NC_DOUBLE, 1, &dims[1], &lat));
  ok(nc_def_var(id, "lon", NC_DOUBLE, 1, &dims[2], &lon));
  ok(nc_def_var(id, "v", NC_DOUBLE, 3, dims, &v));
  const auto text = [&](int variable, const std::string& units) {
    ok(nc_put_att_text(id, variable, "units", units.size(), units.c_str()));
  };
  text(time, "hours since 2020-01-01"), text(lat, "degrees_north"), text(lon, "degrees_east");
  ok(nc_enddef(id));
  const double times[] = {0, 1};
  std::vector<double> values;
  for (size_t t = 0; t < 2; ++t)
    for (size_t j = 0; j < latitude.size(); ++j)
      for (size_t i = 0; i < longitude.size(); ++i) values.push_back(value(t, j, i));
  ok(nc_put_var_double(id, time, times)), ok(nc_put_var_double(id, lat, latitude.data()));
  ok(nc_put_var_double(id, lon, longitude.data())), ok(nc_put_var_double(id, v, values.data()));
  ok(nc_close(id));
}

/// A field as it was read.
struct ReadField {
  std::vector<double> values = {};
  Grid grid = {};
  int64_t time = 0;
  std::optional<int64_t> member = {};
  std::string level = {}, step = {};
};

/// All fields of a file that are wanted.
inline std::vector<ReadField> fields_of(const std::string& path, const FieldChoice& choice = {}) {
  std::vector<ReadField> out;
  visit_fields(path, choice, [&](const FieldMessage& m) {
    ReadField f;
    f.grid = *m.grid, f.time = m.time, f.member = m.member, f.level = m.level, f.step = m.step;
    f.values.resize(static_cast<size_t>(m.grid->height * m.grid->width));
    m.read(m.grid->whole(), f.values.data());
    out.push_back(std::move(f));
  });
  return out;
}

}  // namespace htfm::test
