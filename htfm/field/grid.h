// The grid of a field: how many rows and columns, where its points lie, and the rectangles that are cut out of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// Rows and columns of a grid, counted in the file's order. On a grid around the globe a window may go on behind the
/// last column with the first one.
struct Window {
  int64_t row = 0, column = 0, height = 0, width = 0;

  int64_t size() const { return height * width; }
  std::string text() const;  ///< "128 x 128 at row 465, column 835"
  bool operator==(const Window&) const = default;
};

struct Place {
  double latitude = 0, longitude = 0;  ///< degrees; longitudes of any turn
};

struct Grid {
  int64_t height = 0, width = 0;
  std::string kind = {};     ///< regular_ll, lambert, ...
  std::string key = {};      ///< equal for equal grids
  bool south_first = false;  ///< the first row is the southern one
  /// Of rows and of columns where they do not depend on each other, otherwise of all points row by row; empty: not
  /// known.
  std::vector<double> latitude = {}, longitude = {};

  Window whole() const { return {0, 0, height, width}; }
  std::string text() const;  ///< "lambert, 1059 x 1799"
  bool has_places() const { return !latitude.empty(); }
  bool separable() const;  ///< latitudes are those of rows, longitudes those of columns
  /// The place of a point; a column behind the last is one of the first on a grid around the globe.
  Place at(int64_t row, int64_t column) const;
  /// The number of columns after which a grid around the globe comes back to its first; 0: it does not go around.
  int64_t period() const;

  /// The window of a size whose middle lies nearest to a place. InputError, which names `file`, where it leaves the
  /// grid or the grid has no latitudes and longitudes.
  Window around(const Place& place, int64_t rows, int64_t columns, const std::string& file) const;
  /// The smallest window that holds all points between two latitudes and two longitudes (from west to east). InputError
  /// where these lie on both ends of a grid that does not go around the globe.
  Window between(const Place& south_west, const Place& north_east, const std::string& file) const;
  /// InputError where a window leaves the grid.
  void check(const Window& window, const std::string& file) const;
};

}  // namespace htfm
