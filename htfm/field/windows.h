// The windows of a grid that a set is made of.
#pragma once

#include <string>
#include <vector>

#include "htfm/field/prepare.h"

namespace htfm {

/// The windows that a specification asks for on a grid. InputError, which names `file`, where one leaves the grid.
std::vector<Window> choose_windows(const PrepareSpec& spec, const Grid& grid, const std::string& file);
/// Whether a window is one of the part that is trained on, or of the part held out: they may have tiles of their own.
bool is_window_of(const PrepareSpec& spec, const Window& window, bool held_out);
/// The smallest window that holds them all.
Window hull(const std::vector<Window>& windows);
/// A window and so many rows and columns around it, as far as the grid goes; one that goes around the globe stays as it
/// is.
Window grown(const Window& window, int64_t margin, const Grid& grid);

}  // namespace htfm
