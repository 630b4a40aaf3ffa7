#include "htfm/path/size_law.h"

#include <algorithm>

#include "htfm/metric/sort.h"

namespace htfm {

SizeLaw::SizeLaw(std::shared_ptr<const SizeStatistic> size, const at::Tensor& rows) : size_(std::move(size)) {
  const int64_t n = rows.size(0), dim = rows.size(1);
  const float* x = rows.const_data_ptr<float>();
  sorted_.resize(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) sorted_[i] = (*size_)(x + i * dim, i);
  sort_values(sorted_);
}

std::vector<double> SizeLaw::levels(Key key, const DataBatch& batch) const {
  const int64_t n = batch.rows.size(0), dim = batch.rows.size(1);
  const float* x = batch.rows.const_data_ptr<float>();
  std::vector<double> u(static_cast<size_t>(n));
  fill_uniform(key, 0, n, u.data());
  for (int64_t i = 0; i < n; ++i) {
    const double size = (*size_)(x + i * dim, batch.index.empty() ? i : batch.index[i]);
    const auto below = std::lower_bound(sorted_.begin(), sorted_.end(), size);
    auto above = below;
    while (above != sorted_.end() && *above == size) ++above;
    // A row from elsewhere (held out) lies between two ranks and takes the lower one's place.
    const double first = static_cast<double>(std::min<int64_t>(below - sorted_.begin(), static_cast<int64_t>(sorted_.size()) - 1));
    const double ranks = std::max(1.0, static_cast<double>(above - below));
    u[i] = (first + ranks * u[i]) / static_cast<double>(sorted_.size());
  }
  return u;
}

}  // namespace htfm
