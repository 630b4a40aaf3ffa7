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
  if (separable()) return {latitude[static_cast<size_t>(row)], longitude[static_cast<size_t>(column)]};
  return {latitude[static_cast<size_t>(row * width + column)], longitude[static_cast<size_t>(row * width + column)]};
}

void Grid::check(const Window& w, const std::string& file) const {
  if (w.row < 0 || w.column < 0 || w.height < 1 || w.width < 1 || w.row + w.height > height ||
      w.column + w.width > width)
    throw InputError("[window] {}: expected a window inside the grid ({}), got {}", file, text(), w.text());
}

Window Grid::around(const Place& place, int64_t rows, int64_t columns, const std::string& file) const {
  if (!has_places())
    throw InputError("[window] {}: expected a grid with latitudes and longitudes, got {}: choose by row and column",
                     file, text());
  int64_t best_row = 0, best_column = 0;
  double best = std::numeric_limits<double>::infinity();
  const auto look = [&](int64_t j, int64_t i) {
    if (const double d = chord(at(j, i), place); d < best) best = d, best_row = j, best_column = i;
  };
  if (separable()) {
    for (int64_t i = 0; i < width; ++i) look(0, i);
    best = std::numeric_limits<double>::infinity();
    for (int64_t j = 0, i = best_column; j < height; ++j) look(j, i);
  } else {
    for (int64_t j = 0; j < height; ++j)
      for (int64_t i = 0; i < width; ++i) look(j, i);
  }
  const Window out{best_row - rows / 2, best_column - columns / 2, rows, columns};
  check(out, file);
  return out;
}

Window Grid::between(const Place& south_west, const Place& north_east, const std::string& file) const {
  if (!has_places())
    throw InputError("[window] {}: expected a grid with latitudes and longitudes, got {}: choose by row and column",
                     file, text());
  const double west = turned(south_west.longitude), reach = turned(north_east.longitude - south_west.longitude);
  int64_t top = height, bottom = -1, left = width, right = -1;
  for (int64_t j = 0; j < height; ++j)
    for (int64_t i = 0; i < width; ++i) {
      const Place p = at(j, i);
      if (p.latitude < south_west.latitude || p.latitude > north_east.latitude || turned(p.longitude - west) > reach)
        continue;
      top = std::min(top, j), bottom = std::max(bottom, j), left = std::min(left, i), right = std::max(right, i);
    }
  if (bottom < 0)
    throw InputError(
        "[window] {}: expected points between {}, {} and {}, {} (latitude, longitude), got none: the grid ({}) begins "
        "at {:.3f}, {:.3f} "
        "and ends at {:.3f}, {:.3f}",
        file, south_west.latitude, south_west.longitude, north_east.latitude, north_east.longitude, text(),
        at(0, 0).latitude, at(0, 0).longitude, at(height - 1, width - 1).latitude, at(height - 1, width - 1).longitude);
  return {top, left, bottom - top + 1, right - left + 1};
}

}  // namespace htfm
