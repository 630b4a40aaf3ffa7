#include "htfm/field/grib_grid_module.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "htfm/io/text.h"

namespace htfm {
namespace {

constexpr int64_t kMostPoints = int64_t{1} << 28;

// Rows of one latitude and columns of one longitude are told by these alone.
void make_separable(Grid& grid) {
  std::vector<double> latitude, longitude(grid.longitude.begin(), grid.longitude.begin() + grid.width);
  for (int64_t j = 0; j < grid.height; ++j) {
    const double* lat = grid.latitude.data() + j * grid.width;
    const double* lon = grid.longitude.data() + j * grid.width;
    for (int64_t i = 0; i < grid.width; ++i)
      if (std::abs(lat[i] - lat[0]) > 1e-9 || std::abs(lon[i] - longitude[static_cast<size_t>(i)]) > 1e-9) return;
    latitude.push_back(lat[0]);
  }
  grid.latitude = std::move(latitude), grid.longitude = std::move(longitude);
}

// All places of a projected grid, from ecCodes' iterator, without the values: rows one after another, whatever the
// order of the values.
void read_places(const GribHandle& h, Grid& grid) {
  constexpr unsigned long kNoValues = 1;
  int error = 0;
  codes_iterator* iterator = codes_grib_iterator_new(h.get(), kNoValues, &error);
  if (!iterator || error) return;
  double latitude = 0, longitude = 0, value = 0;
  const auto points = static_cast<size_t>(grid.height * grid.width);
  grid.latitude.reserve(points), grid.longitude.reserve(points);
  while (codes_grib_iterator_next(iterator, &latitude, &longitude, &value))
    grid.latitude.push_back(latitude), grid.longitude.push_back(longitude);
  codes_grib_iterator_delete(iterator);
  if (grid.latitude.size() != points) return grid.latitude.clear(), grid.longitude.clear();
  if (!ScanOrder(h, grid).west_to_east)
    for (std::vector<double>* list : {&grid.latitude, &grid.longitude})
      for (int64_t j = 0; j < grid.height; ++j)
        std::reverse(list->begin() + j * grid.width, list->begin() + (j + 1) * grid.width);
  make_separable(grid);
}

// Rows of Mercator's projection are equally far apart in log tan(45° + latitude / 2). ecCodes 2.28 takes the
// sphere for an ellipsoid.
void read_mercator(const GribHandle& h, Grid& grid) {
  constexpr double kDegree = std::numbers::pi / 180;
  const auto height = [&](double degrees) { return std::asinh(std::tan(degrees * kDegree)); };
  if (std::abs(h.number("latitudeOfLastGridPointInDegrees")) >= 90) return;  // a header that says nothing of its end
  const double from = height(h.number("latitudeOfFirstGridPointInDegrees")),
               to = height(h.number("latitudeOfLastGridPointInDegrees"));
  const bool west_to_east = ScanOrder(h, grid).west_to_east;
  const double first = h.number("longitudeOfFirstGridPointInDegrees"),
               last = h.number("longitudeOfLastGridPointInDegrees"), west = west_to_east ? first : last;
  double reach = (west_to_east ? last : first) - west;
  if (reach < 0) reach += 360;
  const auto share = [](int64_t k, int64_t n) {
    return static_cast<double>(k) / std::max<double>(1, static_cast<double>(n - 1));
  };
  for (int64_t j = 0; j < grid.height; ++j)
    grid.latitude.push_back(std::atan(std::sinh(from + (to - from) * share(j, grid.height))) / kDegree);
  for (int64_t i = 0; i < grid.width; ++i) grid.longitude.push_back(west + reach * share(i, grid.width));
}

// Whether the longest row of a reduced grid ends next to where it begins; a damaged one is left to the reader.
bool is_around_the_globe(const GribHandle& h) {
  size_t rows = 0;
  if (codes_get_size(h.get(), "pl", &rows) || rows == 0) return true;
  const std::vector<int64_t> points = points_of_rows(h);
  const int64_t longest = *std::max_element(points.begin(), points.end());
  double reach = h.number("longitudeOfLastGridPointInDegrees") - h.number("longitudeOfFirstGridPointInDegrees");
  if (reach < 0) reach += 360;
  return longest < 1 || reach + 1.5 * 360 / static_cast<double>(longest) >= 360;
}

// Latitudes of a reduced grid, which is taken for one around the globe.
void read_reduced(const GribHandle& h, Grid& grid) {
  const std::vector<int64_t> points = points_of_rows(h);
  grid.height = static_cast<int64_t>(points.size());
  grid.width = points.empty() ? 0 : *std::max_element(points.begin(), points.end());
  if (grid.width < 1 || *std::min_element(points.begin(), points.end()) < 0 || grid.width * grid.height > kMostPoints)
    throw InputError("[grib] {}: damaged: expected points in the rows of a reduced grid, got none", h.where());
  const double west = h.number("longitudeOfFirstGridPointInDegrees");
  std::vector<double> rows(static_cast<size_t>(grid.height));
  size_t size = rows.size();
  if (grid.kind == "reduced_ll" || codes_get_double_array(h.get(), "distinctLatitudes", rows.data(), &size) ||
      size != rows.size()) {
    const double from = h.number("latitudeOfFirstGridPointInDegrees"),
                 to = h.number("latitudeOfLastGridPointInDegrees");
    for (size_t j = 0; j < rows.size(); ++j)
      rows[j] = from + (to - from) * static_cast<double>(j) / std::max<double>(1, static_cast<double>(rows.size() - 1));
  }
  grid.south_first = h.whole_or("jScansPositively", 0) != 0;
  if (rows.size() > 1 && (rows.front() < rows.back()) != grid.south_first) std::reverse(rows.begin(), rows.end());
  grid.latitude = std::move(rows);
  for (int64_t i = 0; i < grid.width; ++i)
    grid.longitude.push_back(west + 360 * static_cast<double>(i) / static_cast<double>(grid.width));
  grid.kind += " as regular";
}

// A first section that holds less than its kind says moves where ecCodes looks for the next one: its digest of the grid
// section reads whatever length stands there.
void check_grid_section(const GribHandle& h) {
  const bool old = h.whole_or("edition", 2) == 1;
  const int64_t from = h.whole_or(old ? "offsetSection2" : "offsetSection3", 0),
                length = h.whole_or(old ? "section2Length" : "section3Length", 0);
  size_t size = 0;
  h.check(codes_get_message_size(h.get(), &size), "the size of the message");
  if (from < 0 || length < 0 || from + length > static_cast<int64_t>(size))
    throw InputError("[grib] {}: damaged: expected a grid section inside the message of {} bytes, got {} bytes from {}",
                     h.where(), size, length, from);
}

std::string grid_key(const GribHandle& h) {
  check_grid_section(h);
  const std::string key = h.words("md5GridSection");
  return key.empty() ? fmt::format("{} {} {} {} {}", h.words("gridType"), h.whole_or("Ni", 0), h.whole_or("Nj", 0),
                                   h.number_or("latitudeOfFirstGridPointInDegrees", 0),
                                   h.number_or("longitudeOfFirstGridPointInDegrees", 0))
                     : key;
}

std::shared_ptr<const Grid> read_grid(const GribHandle& h) {
  auto grid = std::make_shared<Grid>();
  grid->kind = h.words("gridType"), grid->key = grid_key(h);
  if (is_reduced(h)) {
    read_reduced(h, *grid);
    return grid;
  }
  // Lat-lon grids count in Ni and Nj, projected ones in Nx and Ny, for which the former are other names.
  grid->width = h.whole_or("Ni", 0), grid->height = h.whole_or("Nj", 0);
  // A damaged header may promise what no memory holds.
  if (grid->width * grid->height > kMostPoints || h.whole_or("numberOfDataPoints", 0) != grid->width * grid->height)
    throw InputError("[grib] {}: damaged: expected {} points on {}, got {}", h.where(), grid->width * grid->height,
                     grid->text(), h.whole_or("numberOfDataPoints", 0));
  grid->south_first = h.whole_or("jScansPositively", 0) != 0;
  if (grid->kind == "regular_ll") {
    const double from = h.number("latitudeOfFirstGridPointInDegrees"),
                 to = h.number("latitudeOfLastGridPointInDegrees");
    const bool west_to_east = ScanOrder(h, *grid).west_to_east;
    const double first = h.number("longitudeOfFirstGridPointInDegrees"),
                 last = h.number("longitudeOfLastGridPointInDegrees"), west = west_to_east ? first : last;
    double reach = (west_to_east ? last : first) - west;
    if (reach < 0) reach += 360;
    for (int64_t j = 0; j < grid->height; ++j)
      grid->latitude.push_back(from + (to - from) * static_cast<double>(j) /
                                          std::max<double>(1, static_cast<double>(grid->height - 1)));
    for (int64_t i = 0; i < grid->width; ++i)
      grid->longitude.push_back(west + reach * static_cast<double>(i) /
                                           std::max<double>(1, static_cast<double>(grid->width - 1)));
  } else if (grid->kind == "mercator") {
    read_mercator(h, *grid);
  } else {
    read_places(h, *grid);
  }
  return grid;
}

}  // namespace

bool is_reduced(const GribHandle& h) { return h.words("gridType").starts_with("reduced_"); }

std::vector<int64_t> points_of_rows(const GribHandle& h) {
  size_t size = 0;
  h.check(codes_get_size(h.get(), "pl", &size), "the numbers of points of the rows");
  std::vector<long> rows(std::min<size_t>(size, size_t{1} << 20));
  h.check(codes_get_long_array(h.get(), "pl", rows.data(), &size), "the numbers of points of the rows");
  return {rows.begin(), rows.end()};
}

std::string grid_problem(const GribHandle& h, const FieldChoice& choice) {
  const std::string kind = h.words("gridType");
  if (kind == "sh" || kind.ends_with("_sh"))
    return fmt::format("spectral coefficients ({}): make a grid of them first, with cdo sp2gpl for instance", kind);
  if (kind.starts_with("reduced_") && !is_around_the_globe(h))
    return fmt::format(
        "a reduced grid of a part of the globe ({}): put it on a regular one first, with cdo remapbil for instance",
        kind);
  if (kind.starts_with("reduced_"))
    return choice.expand_reduced
               ? ""
               : fmt::format("a reduced grid ({}): --expand-reduced interpolates it along its rows to a regular one",
                             kind);
  const int64_t width = h.whole_or("Ni", 0), height = h.whole_or("Nj", 0), most = int64_t{1} << 24;
  if (width < 1 || height < 1 || width > most || height > most) {
    if (kind.empty() && h.whole_or("editionNumber", 2) == 1 && h.whole_or("gridDescriptionSectionPresent", 1) == 0)
      return fmt::format(
          "a grid of which the file gives only the number, {} in the list of centre {}: write it as NetCDF first "
          "with a program that has this list, such as ncl_convert2nc",
          h.whole_or("gridDefinition", 255), printable(h.words("centre")));
    if (kind.empty() || kind == "unknown")
      return fmt::format("a grid that ecCodes does not know (template {})",
                         h.whole_or("gridDefinitionTemplateNumber", -1));
    return fmt::format(
        "a grid without rows and columns ({}): put it on a regular one first, with cdo remapbil for "
        "instance",
        printable(kind));
  }
  return {};
}

std::shared_ptr<const Grid> shared_grid(const GribHandle& h) {
  static std::vector<std::shared_ptr<const Grid>> kept;
  constexpr size_t kMost = 4;
  const std::string key = grid_key(h);
  for (const auto& grid : kept)
    if (grid->key == key && !key.empty()) return grid;
  if (kept.size() == kMost) kept.erase(kept.begin());
  return kept.emplace_back(read_grid(h));
}

}  // namespace htfm
