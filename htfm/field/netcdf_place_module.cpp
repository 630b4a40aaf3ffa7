#include "htfm/field/netcdf_place_module.h"

#include <algorithm>
#include <initializer_list>
#include <numbers>

#include "htfm/io/text.h"

namespace htfm {
namespace {

bool is_among(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return text == w; });
}

// What degrees of either kind are called, or nothing.
bool is_any_angle(const std::string& units) {
  return is_among(units, {"", "degree", "degrees", "deg", "radian", "radians", "rad"});
}

// degrees_north, degree_N, degreesN: CF's ways to write degrees towards one side.
bool is_degrees_towards(char side, const std::string& units) {
  for (const std::string stem : {"degrees_", "degree_", "degrees", "degree"})
    if (units.starts_with(stem) && units.size() > stem.size() && units[stem.size()] == side) return true;
  return false;
}

// `standard`: latitude or longitude. Those of a rotated grid are no places on the globe.
bool is_place(const NetcdfVariable& v, const std::string& standard, char side, bool (*is_name)(const std::string&)) {
  const std::string own = v.text("standard_name"), units = lower_case(v.text("units"));
  if (own == standard || own == "grid_" + standard) return own == standard;
  return is_degrees_towards(side, units) ||
         (is_any_angle(units) && (is_name(v.base) || lower_case(v.text("long_name")) == standard));
}

}  // namespace

bool is_latitude_name(const std::string& name) {
  return is_among(lower_case(name), {"lat", "lats", "latitude", "latitudes", "nav_lat", "xlat"});
}

bool is_longitude_name(const std::string& name) {
  return is_among(lower_case(name), {"lon", "lons", "longitude", "longitudes", "nav_lon", "xlong"});
}

bool is_netcdf_latitude(const NetcdfVariable& v) { return is_place(v, "latitude", 'n', is_latitude_name); }
bool is_netcdf_longitude(const NetcdfVariable& v) { return is_place(v, "longitude", 'e', is_longitude_name); }

double degrees_factor(const NetcdfVariable& v) {
  return lower_case(v.text("units")).starts_with("rad") ? 180 / std::numbers::pi : 1;
}

bool is_listed(const NetcdfVariable& v, const std::string& coordinates) {
  const std::string listed = " " + coordinates + " ";
  return listed.find(" " + v.base + " ") != std::string::npos || listed.find("/" + v.name + " ") != std::string::npos;
}

bool is_list_of_points(const NetcdfVariable& field, const NetcdfDimension& d, const std::vector<NetcdfVariable>& all) {
  if (d.size < 2) return false;
  const auto along = [&](bool (*kind)(const NetcdfVariable&)) {
    return std::any_of(all.begin(), all.end(), [&](const NetcdfVariable& v) { return v.along(d) && kind(v); });
  };
  if (along(is_netcdf_latitude) && along(is_netcdf_longitude)) return true;
  return is_among(lower_case(d.name), {"ncol", "ncells", "cell"}) ||
         (field.text("CDI_grid_type") == "unstructured" && field.dimensions.back().id == d.id);
}

}  // namespace htfm
