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

at::Tensor given_class_grid(const SampledImages& samples, const at::Tensor& asked, int64_t classes, int64_t columns,
                            const report::GridStyle& style) {
  const at::Tensor own = samples.of_kept(asked);
  const int64_t* label = own.const_data_ptr<int64_t>();
  std::vector<std::vector<int64_t>> cells(static_cast<size_t>(classes));
  for (int64_t i = 0; i < own.size(0); ++i)
    if (std::vector<int64_t>& row = cells.at(label[i]); static_cast<int64_t>(row.size()) < columns) row.push_back(i);
  for (std::vector<int64_t>& row : cells) row.resize(static_cast<size_t>(columns), -1);
  return report::image_grid(samples.pixels, cells, style);
}

}  // namespace htfm
