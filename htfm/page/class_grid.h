// Samples of images, one column or one row a class.
#pragma once

#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/evaluate/images.h"
#include "htfm/report/image_grid.h"

namespace htfm HTFM_PUBLIC {

/// Of each class the `rows` samples that lie nearest to a real image of it (nearest_images, or the neighbours of the
/// scores), nearest first. InputError where the real images have no labels.
at::Tensor class_grid(const ImageReference& real, const SampledImages& samples, const Nearest& nearest, int64_t rows,
                      const report::GridStyle& style = {});

/// The first `columns` samples of each class as they come, one row a class; `asked`: the class of each sample that was
/// drawn, those that were left out included.
at::Tensor given_class_grid(const SampledImages& samples, const at::Tensor& asked, int64_t classes, int64_t columns,
                            const report::GridStyle& style = {});
/// The same for samples out of a file, with the classes that stand beside it (`FILE.conditions.csv`), in their order.
/// InputError where none do.
struct GivenClassGrid {
  at::Tensor pixels;
  std::vector<double> classes;  ///< of the rows
};
GivenClassGrid given_class_grid(const std::string& file, const SampledImages& samples, int64_t columns,
                                const report::GridStyle& style = {});

}  // namespace htfm
