#include "htfm/report/image_grid.h"

#include <ATen/ops/full.h>

#include <algorithm>

#include "htfm/base/error.h"
#include "htfm/io/dtype.h"

namespace htfm::report {

at::Tensor image_grid(const at::Tensor& images, const std::vector<std::vector<int64_t>>& cells,
                      const GridStyle& style) {
  if (images.dim() != 4 || images.scalar_type() != at::kByte)
    throw InputError("[grid] expected images n x c x h x w of uint8, got {} of shape {}",
                     dtype_name(images.scalar_type()), shape_text(images.sizes()));
  size_t columns = 0;
  for (const auto& row : cells) columns = std::max(columns, row.size());
  if (columns == 0) throw InputError("[grid] expected at least one image, got none");
  const int64_t height = images.size(2) * style.scale, width = images.size(3) * style.scale, gap = style.gap;
  at::Tensor out = at::full({images.size(1), static_cast<int64_t>(cells.size()) * (height + gap) + gap,
                             static_cast<int64_t>(columns) * (width + gap) + gap},
                            255, at::kByte);
  for (size_t r = 0; r < cells.size(); ++r)
    for (size_t c = 0; c < cells[r].size(); ++c) {
      if (cells[r][c] < 0) continue;
      const at::Tensor image =
          images.select(0, cells[r][c]).repeat_interleave(style.scale, 1).repeat_interleave(style.scale, 2);
      out.narrow(1, gap + static_cast<int64_t>(r) * (height + gap), height)
          .narrow(2, gap + static_cast<int64_t>(c) * (width + gap), width)
          .copy_(image);
    }
  return out;
}

at::Tensor image_grid(const at::Tensor& images, int64_t columns, const GridStyle& style) {
  if (columns < 1) throw InputError("[grid] expected at least one column, got {}", columns);
  std::vector<std::vector<int64_t>> cells;
  for (int64_t i = 0; i < images.size(0); ++i) {
    if (i % columns == 0) cells.emplace_back();
    cells.back().push_back(i);
  }
  return image_grid(images, cells, style);
}

std::vector<std::vector<int64_t>> class_columns(const at::Tensor& classes_of_samples, const at::Tensor& distance,
                                                int64_t classes, int64_t rows) {
  const int64_t* label = classes_of_samples.const_data_ptr<int64_t>();
  const double* far = distance.const_data_ptr<double>();
  std::vector<std::vector<int64_t>> samples(static_cast<size_t>(classes));
  for (int64_t i = 0; i < classes_of_samples.size(0); ++i) samples.at(label[i]).push_back(i);
  std::vector<std::vector<int64_t>> cells(static_cast<size_t>(rows),
                                          std::vector<int64_t>(static_cast<size_t>(classes), -1));
  for (int64_t c = 0; c < classes; ++c) {
    std::stable_sort(samples[c].begin(), samples[c].end(), [&](int64_t a, int64_t b) { return far[a] < far[b]; });
    for (int64_t r = 0; r < std::min<int64_t>(rows, static_cast<int64_t>(samples[c].size())); ++r)
      cells[r][c] = samples[c][r];
  }
  return cells;
}

}  // namespace htfm::report
