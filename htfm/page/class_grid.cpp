#include "htfm/page/class_grid.h"

#include <ATen/ops/_unique2.h>

#include "htfm/base/error.h"

namespace htfm {

at::Tensor class_grid(const ImageReference& real, const SampledImages& samples, const Nearest& nearest, int64_t rows,
                      const report::GridStyle& style) {
  if (!real.images.labels.defined())
    throw InputError("[real] {}: expected images with labels, for one column for each class; got images without",
                     real.images.origin);
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

GivenClassGrid given_class_grid(const std::string& file, const SampledImages& samples, int64_t columns,
                                const report::GridStyle& style) {
  const at::Tensor numbers = read_class_numbers(file, samples.pixels.size(0) + samples.nonfinite);
  if (!numbers.defined())
    throw InputError("[samples] {0}: expected {0}.conditions.csv with a column class, got none", file);
  const auto [classes, place, counts] = at::_unique2(numbers, true, true);
  const auto* first = classes.const_data_ptr<double>();
  return {given_class_grid(samples, place, classes.size(0), columns, style), {first, first + classes.size(0)}};
}

}  // namespace htfm
