// Fields as maps: one perceptual colour scale for all of them, and its legend, as a PNG image.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "htfm/report/svg.h"

namespace htfm::report {

struct MapStyle {
  double low = 0, high = 1;  // values at the ends of the scale; beyond them the colour of the end
  bool log = false;          // equal ratios have equal steps of colour; values below `low` have the colour of nothing
  std::string unit = {};     // beside the legend
  std::string title = {};    // above the maps
  std::vector<std::string> labels = {};  // above each map, where there are some
  bool south_first = false;              // rows are turned, so that north is up
  int64_t columns = 4;                   // maps in a row
  int64_t scale = 2;                     // each value becomes a square of so many pixels
  int64_t gap = 4;
};

/// The colour of a share of the scale, from 0 (pale) to 1 (dark): lightness falls evenly in OKLab while the hue turns
/// from yellow over red to violet, so that equal steps look equal, in grey too.
std::array<uint8_t, 3> scale_color(double share);

/// The longer side of a map in pixels, about; larger fields have a pixel a value.
inline constexpr int64_t kMapPixels = 256;

/// A style for fields (... x h x w): from the least positive step that can be told to the 0.9995 quantile, on a log
/// scale for fields that are mostly near nothing, else linear over their range.
MapStyle map_style(const at::Tensor& fields);

/// Maps n x h x w side by side above the legend of the scale, as 3 x H x W of bytes. Values that are not finite are
/// grey.
at::Tensor field_maps(const at::Tensor& fields, const MapStyle& style);

/// An image (3 x H x W of bytes) as a figure of a page.
Figure image_figure(const at::Tensor& image, const std::string& label);

/// Draws text in letters of 5 x 7 pixels, times `scale`, black on what is there; characters without a shape are left
/// out.
void draw_text(at::Tensor& image, int64_t x, int64_t y, const std::string& text, int64_t scale = 1);
/// Its width in pixels.
int64_t letters_width(const std::string& text, int64_t scale = 1);

}  // namespace htfm::report
