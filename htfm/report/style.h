// The look of figures and pages: one palette with a light and a dark value for each colour, and the style sheets made
// from it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {
namespace report {

/// Colours of series, distinguishable with the common kinds of colour blindness; neutral is for data and references.
/// automatic takes the next one in this order.
enum class Color : int { automatic = -1, neutral, blue, vermillion, green, purple, amber, sky, violet };
inline constexpr int kColors = 8;

/// The colour for the series of this index (0 = blue) where none was chosen.
Color color_or(Color chosen, size_t index);

struct PaletteEntry {
  std::string_view name;
  std::string_view light, dark;  // #rrggbb
};

/// Every colour in use: paper (background), panel, ink, soft (secondary text), rule, grid, accent, best, warn and
/// k0..k7 (series).
std::span<const PaletteEntry> palette();

/// Font sizes in figures, in units of the SVG file (pixels where it is shown at its own size).
inline constexpr double kTickSize = 11, kLabelSize = 12, kTitleSize = 13.5;

/// Style sheet of a page: palettes as variables, page layout, figures.
std::string page_style();
/// Style sheet that a figure of its own carries: both palettes, without variables, which many SVG viewers do not know.
std::string standalone_style();

}  // namespace report
}  // namespace htfm
