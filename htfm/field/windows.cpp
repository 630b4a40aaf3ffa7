#include "htfm/field/windows.h"

#include <algorithm>

#include "htfm/base/error.h"

namespace htfm {

namespace {

// Windows side by side or overlapping, row by row.
void add_tiles(const PrepareSpec& spec, const Grid& grid, int64_t stride, std::vector<Window>& out) {
  for (int64_t j = 0; j + spec.height <= grid.height; j += stride)
    for (int64_t i = 0; i + spec.width <= grid.width; i += stride)
      if (const Window w{j, i, spec.height, spec.width}; stride == spec.tiles || !is_window_of(spec, w, true))
        out.push_back(w);
}

}  // namespace

bool is_window_of(const PrepareSpec& spec, const Window& window, bool held_out) {
  const int64_t stride = held_out || spec.train_tiles == 0 ? spec.tiles : spec.train_tiles;
  return stride == 0 || (window.row % stride == 0 && window.column % stride == 0);
}

std::vector<Window> choose_windows(const PrepareSpec& spec, const Grid& grid, const std::string& file) {
  const int ways = spec.offset.has_value() + spec.centre.has_value() + spec.box.has_value() + (spec.tiles > 0);
  if (ways > 1)
    throw InputError("[window] expected one of --offset, --centre, --box and --tiles, got {} of them", ways);
  if (spec.train_tiles > 0 && spec.tiles == 0)
    throw InputError("[train-tiles] expected --tiles too, for the held-out fields, got none");
  if ((spec.height > 0) != (spec.width > 0))
    throw InputError("[size] expected rows and columns, got {} x {}", spec.height, spec.width);
  if (spec.box && spec.height > 0)
    throw InputError("[size] expected none with --box, which has a size of its own, got {} x {}", spec.height,
                     spec.width);
  if ((spec.offset || spec.centre || spec.tiles > 0) && spec.height < 1)
    throw InputError(
        "[size] expected the size of a window beside offset, centre or tiles, such as --size 128 or --size 128,256; "
        "got none");
  if (spec.height > 0 && ways == 0 && (spec.height != grid.height || spec.width != grid.width))
    throw InputError(
        "[size] expected where the window of {} x {} lies in {}, got nothing: --centre LATITUDE,LONGITUDE, --offset "
        "ROW,COLUMN, or --tiles {} for many side by side",
        spec.height, spec.width, grid.text(), std::max(spec.height, spec.width));
  std::vector<Window> out;
  if (spec.tiles > 0) {
    add_tiles(spec, grid, spec.tiles, out);
    if (spec.train_tiles > 0 && spec.train_tiles != spec.tiles) add_tiles(spec, grid, spec.train_tiles, out);
    if (out.empty()) grid.check({0, 0, spec.height, spec.width}, file);
  } else if (spec.box) {
    out.push_back(grid.between(spec.box->first, spec.box->second, file));
  } else if (spec.centre) {
    out.push_back(grid.around(*spec.centre, spec.height, spec.width, file));
  } else if (spec.height > 0) {
    const auto [row, column] = spec.offset.value_or(std::pair<int64_t, int64_t>{0, 0});
    out.push_back({row, column, spec.height, spec.width});
  } else {
    out.push_back(grid.whole());
  }
  grid.check(out.back(), file);
  return out;
}

Window hull(const std::vector<Window>& windows) {
  Window out = windows.front();
  for (const Window& w : windows) {
    const int64_t bottom = std::max(out.row + out.height, w.row + w.height),
                  right = std::max(out.column + out.width, w.column + w.width);
    out.row = std::min(out.row, w.row), out.column = std::min(out.column, w.column);
    out.height = bottom - out.row, out.width = right - out.column;
  }
  return out;
}

Window grown(const Window& w, int64_t margin, const Grid& grid) {
  if (w.column + w.width > grid.width) return w;
  const int64_t top = std::max<int64_t>(0, w.row - margin), left = std::max<int64_t>(0, w.column - margin),
                bottom = std::min(grid.height, w.row + w.height + margin),
                right = std::min(grid.width, w.column + w.width + margin);
  return {top, left, bottom - top, right - left};
}

}  // namespace htfm
