#include "htfm/page/class_grid.h"

#include "htfm/base/error.h"

namespace htfm {

at::Tensor class_grid(const ImageReference& real, const SampledImages& samples, const Nearest& nearest, int64_t rows,
                      const report::GridStyle& style) {
  if (!real.images.labels.defined())
    throw InputError("[real] {}: expected images with labels for one column a class", real.images.origin);
  const auto classes = static_cast<int64_t>(real.images.classes.size());
  const at::Tensor own = real.images.labels.index_select(0, nearest.index);
  return report::image_grid(samples.pixels, report::class_columns(own, nearest.distance, classes, rows), style);
}

}  // namespace htfm
