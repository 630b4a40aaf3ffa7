#include "htfm/field/grid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "htfm/base/error.h"

namespace htfm {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

// In [0, 360).
double turned(double longitude) {
  const double x = std::fmod(longitude, 360.0);
  return x < 0 ? x + 360 : x;
}

// Grows with the distance on the sphere.
double chord(const Place& a, const Place& b) {
  const double s = std::sin((a.latitude - b.latitude) * kDegree / 2),
               t = std::sin((a.longitude - b.longitude) * kDegree / 2);
  return s * s + std::cos(a.latitude * kDegree) * std::cos(b.latitude * kDegree) * t * t;
}

}  // namespace

std::string Window::text() const { return fmt::format("{} x {} at row {}, column {}", height, width, row, column); }

std::string Grid::text() const { return fmt::format("{}, {} x {}", kind, height, width); }

bool Grid::separable() const {
  return static_cast<int64_t>(latitude.size()) == height && static_cast<int64_t>(longitude.size()) == width;
}

Place Grid::at(int64_t row, int64_t column) const {
  if (column >= width) column -= period();
  if (separable()) return {latitude[static_cast<size_t>(row)], longitude[static_cast<size_t>(column)]};
  return {latitude[static_cast<size_t>(row * width + column)], longitude[static_cast<size_t>(row * width + column)]};
}

int64_t Grid::period() const {
  if (!has_places() || width < 3) return 0;
  // Along the middle row, always the shorter way: in one direction, and once around.
  const double* along = longitude.data() + (separable() ? 0 : height / 2 * width);
  double reach = 0, widest = 0;
  for (int64_t i = 1; i < width; ++i) {
    const double step = std::remainder(along[i] - along[i - 1], 360.0);
    if (!(step * reach >= 0) || step == 0) return 0;
    reach += step, widest = std::max(widest, std::abs(step));
  }
  const double left = 360 - std::abs(reach), mean = std::abs(reach) / static_cast<double>(width - 1);
  if (std::abs(left) < 1e-3 * mean) return width - 1;  // the last column is the first once more
  return left > 0.5 * mean && left < 1.5 * widest ? width : 0;
}

void Grid::check(const Window& w, const std::string& file) const {
  const bool inside = w.row >= 0 && w.column >= 0 && w.height >= 1 && w.width >= 1 && w.row + w.height <= height;
  if (inside && w.column + w.width <= width) return;
  if (inside && w.column < width && w.width <= period()) return;
  throw InputError("[window] {}: expected a window inside the grid ({}), got {}", file, text(), w.text());
}

Window Grid::around(const Place& place, int64_t rows, int64_t columns, const std::string& file) const {
  if (!has_places())
    throw InputError("[window] {}: expected a grid with latitudes and longitudes, got {}: choose by row and column",
                     file, text());
  int64_t best_row = 0, best_column = 0;
  double best = std::numeric_limits<double>::infinity();
  const auto look = [&](double distance, int64_t j, int64_t i) {
    if (distance < best) best = distance, best_row = j, best_column = i;
  };
  if (separable()) {  // by the angles: at a pole all longitudes are equally near
    for (int64_t i = 0; i < width; ++i)
      look(std::abs(std::remainder(longitude[static_cast<size_t>(i)] - place.longitude, 360.0)), 0, i);
    best = std::numeric_limits<double>::infinity();
    for (int64_t j = 0, i = best_column; j < height; ++j)
      look(std::abs(latitude[static_cast<size_t>(j)] - place.latitude), j, i);
  } else {
    for (int64_t j = 0; j < height; ++j)
      for (int64_t i = 0; i < width; ++i) look(chord(at(j, i), place), j, i);
  }
  Window out{best_row - rows / 2, best_column - columns / 2, rows, columns};
  if (const int64_t around = period(); around > 0) out.column = (out.column % around + around) % around;
  check(out, file);
  return out;
}

Window Grid::between(const Place& south_west, const Place& north_east, const std::string& file) const {
  if (!has_places())
    throw InputError("[window] {}: expected a grid with latitudes and longitudes, got {}: choose by row and column",
                     file, text());
  constexpr double kNear = 1e-6;  // GRIB's own resolution: a point on the line is inside
  const double span = north_east.longitude - south_west.longitude;
  const bool all_around = span > 360 - kNear;
  const double west = south_west.longitude - kNear, reach = all_around ? 360 : turned(span) + 2 * kNear;
  const auto none = [&] {
    throw InputError(
        "[window] {}: expected points between {}, {} and {}, {} (latitude, longitude), got none: the grid ({}) begins "
        "at {:.3f}, {:.3f} "
        "and ends at {:.3f}, {:.3f}",
        file, south_west.latitude, south_west.longitude, north_east.latitude, north_east.longitude, text(),
        at(0, 0).latitude, at(0, 0).longitude, at(height - 1, width - 1).latitude, at(height - 1, width - 1).longitude);
  };
  const int64_t around = period(), columns = around > 0 ? around : width;
  std::vector<char> row_in(static_cast<size_t>(height)), column_in(static_cast<size_t>(columns));
  for (int64_t j = 0; j < height; ++j)
    for (int64_t i = 0; i < columns; ++i) {
      const Place p = at(j, i);
      const bool inside = p.latitude >= south_west.latitude - kNear && p.latitude <= north_east.latitude + kNear &&
                          turned(p.longitude - west) <= reach;
      if (!inside) continue;  // nor is a point without a place, off the disk that a satellite sees
      row_in[static_cast<size_t>(j)] = column_in[static_cast<size_t>(i)] = 1;
    }
  int64_t top = 0, bottom = height - 1, left = 0, right = columns - 1;
  while (top < height && !row_in[static_cast<size_t>(top)]) ++top;
  if (top == height) none();
  while (!row_in[static_cast<size_t>(bottom)]) --bottom;
  while (!column_in[static_cast<size_t>(left)]) ++left;
  while (!column_in[static_cast<size_t>(right)]) --right;
  int64_t gap = 0, behind = left;  // the widest run of columns outside, and where it ends
  for (int64_t i = left, run = 0; i <= right; ++i) {
    if (column_in[static_cast<size_t>(i)]) {
      if (run > gap) gap = run, behind = i;
      run = 0;
    } else {
      ++run;
    }
  }
  if (around == 0) {
    // Points on both ends with a gap between: the box goes over the edge. Of a projected grid a thin box may miss some.
    if (gap > (separable() ? 0 : width / 2))
      throw InputError(
          "[window] {}: expected a box that does not cross the edge of the grid ({}, longitudes from {:.3f} to {:.3f}, "
          "not around the globe), got {} to {}",
          file, text(), at(0, 0).longitude, at(0, width - 1).longitude, south_west.longitude, north_east.longitude);
    return {top, left, bottom - top + 1, right - left + 1};
  }
  int64_t begin = left, count = right - left + 1;
  if (gap > columns - count) begin = behind, count = columns - gap;                         // over the seam is shorter
  if (all_around && separable() && std::remainder(longitude[1] - longitude[0], 360.0) > 0)  // from the west, as asked
    for (int64_t i = 0; i < columns; ++i)
      if (turned(longitude[static_cast<size_t>(i)] - west) < turned(longitude[static_cast<size_t>(begin)] - west))
        begin = i;
  return {top, begin, bottom - top + 1, count};
}

}  // namespace htfm
