// Images side by side, for PNG files.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {
namespace report {

struct GridStyle {
  int64_t gap = 2;    // white pixels between images and around them
  int64_t scale = 1;  // each pixel becomes a square of so many
};

/// Images n x c x h x w (uint8) in rows of `columns`, from left to right and from top to bottom, as one c x h x w
/// image.
at::Tensor image_grid(const at::Tensor& images, int64_t columns, const GridStyle& style = {});

/// Images `cells[row][column]` of the set; -1 leaves a place white.
at::Tensor image_grid(const at::Tensor& images, const std::vector<std::vector<int64_t>>& cells,
                      const GridStyle& style = {});

/// One column a class: of the samples whose class is c, the `rows` with the least distance, nearest first; -1 where a
/// class has fewer.
std::vector<std::vector<int64_t>> class_columns(const at::Tensor& classes_of_samples, const at::Tensor& distance,
                                                int64_t classes, int64_t rows);

}  // namespace report
}  // namespace htfm
