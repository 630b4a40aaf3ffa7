#include "htfm/coupling/magnitude_law.h"

#include <algorithm>

#include "htfm/base/error.h"
#include "htfm/stat/order.h"
#include "htfm/stat/scatter.h"
#include "htfm/stat/sort.h"
#include "htfm/stat/threshold.h"

namespace htfm {

namespace {

constexpr int64_t kFewest = 20;  // exceedances that a tail is fitted to
// A test of fit lets a bias pass that is as large as the scatter. A third of what passes has little of it left; and
// where the law is only approached (more exceedances do not follow it), ten times too many pass by luck now and then,
// so no more than a share of all are taken (doc/tails.md has the errors of these rules).
constexpr int64_t kCaution = 3, kFewRows = 50, kShare = 500;
// Of the Anderson-Darling distance: the 80 % quantile where the law is right and its scale is fitted, and for the mean
// of neighbouring numbers of exceedances, since a single one passes by luck too often.
constexpr double kMeanDistance = 0.25, kDistance = 0.33;
constexpr size_t kNeighbours = 5;

// The excesses of a third of the largest k that a generalised Pareto law of this shape fits; none where it fits none.
GpdFit fit_with_shape(std::span<const double> sorted, double shape) {
  const auto n = static_cast<int64_t>(sorted.size());
  const auto most = std::min(n / 3, std::max<int64_t>(n / 10, 150));
  std::vector<int64_t> counts;
  std::vector<double> distances;
  for (double k = static_cast<double>(most); k >= static_cast<double>(kFewest * kCaution); k /= 1.15) {
    const GpdFit fit = fit_gpd_scale(sorted, static_cast<int64_t>(k), shape);
    if (std::isnan(fit.shape)) continue;
    counts.push_back(static_cast<int64_t>(k));
    distances.push_back(gpd_distance(sorted, fit));
  }
  const auto passes = [&](size_t i, size_t neighbours, double bound) {
    const size_t end = std::min(i + neighbours, counts.size());
    double sum = 0;
    for (size_t k = i; k < end; ++k) sum += distances[k];
    return sum < bound * static_cast<double>(end - i);
  };
  if (!counts.empty() && passes(0, 1, kDistance)) return fit_gpd_scale(sorted, counts[0] / kCaution, shape);
  for (size_t i = 0; i < counts.size(); ++i)
    if (passes(i, kNeighbours, kMeanDistance))
      return fit_gpd_scale(sorted, std::min(counts[i] / kCaution, std::max(kFewRows, n / kShare)), shape);
  for (size_t i = 0; i < counts.size(); ++i)
    if (passes(i, 1, kDistance)) return fit_gpd_scale(sorted, kFewest, shape);
  return {};
}

}  // namespace

MagnitudeLaw::MagnitudeLaw(std::shared_ptr<const SizeStatistic> size, const at::Tensor& rows)
    : size_(std::move(size)), centre_(median_centre(rows)) {
  const int64_t n = rows.size(0), dim = rows.size(1);
  const float* x = rows.const_data_ptr<float>();
  sorted_.resize(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) sorted_[i] = (*size_)(x + i * dim, i);
  sort_values(sorted_);
}

void MagnitudeLaw::fit_tail(double expected) {
  if (!size_->homogeneous())
    throw InputError(
        "[data.tail] expected a size that grows with the distance from the centre for the Pareto tail, got a file of "
        "sizes");
  tail_ = {};
  const auto n = static_cast<int64_t>(sorted_.size());
  const char* whose = "the clock's";
  GpdFit fit;
  if (std::isfinite(expected)) fit = fit_with_shape(sorted_, 1 / expected);
  if (fit.exceedances == 0) {
    const TailChoice choice = choose_threshold(sorted_);
    if (choice.fits && choice.k / kCaution >= kFewest && choice.fit.shape > 0)
      fit = fit_gpd(sorted_, choice.k / kCaution);
    whose = "their own";
  }
  if (fit.exceedances == 0 || !(fit.shape > 0)) {
    tail_.explanation = "the sizes have no Pareto tail: they are light, too few, or no threshold fits";
    return;
  }
  tail_.fit = fit;
  tail_.from = 1 - static_cast<double>(fit.exceedances) / static_cast<double>(n);
  tail_.explanation =
      fmt::format("sizes beyond {:.4g} (the {} largest of {}) follow a generalised Pareto law of index {:.3g}, {}",
                  fit.threshold, fit.exceedances, n, 1 / fit.shape, whose);
}

double MagnitudeLaw::quantile(double u) const {
  if (u > tail_.from) return tail_.fit.quantile(1 - u);
  return quantile_of_sorted(sorted_, std::clamp(u, 0.0, 1.0));
}

at::Tensor MagnitudeLaw::stretch(const DataBatch& batch, const std::vector<double>& level) const {
  if (tail_.from >= 1) return batch.rows;
  at::Tensor out = batch.rows.clone();
  const int64_t n = out.size(0), dim = out.size(1);
  float* x = out.mutable_data_ptr<float>();
  const double* c = centre_.const_data_ptr<double>();
  for (int64_t i = 0; i < n; ++i) {
    if (level[i] <= tail_.from) continue;
    float* row = x + i * dim;
    const double size = (*size_)(row, batch.index.empty() ? i : batch.index[i]);
    const double factor = tail_.fit.quantile(1 - level[i]) / size;
    for (int64_t k = 0; k < dim; ++k) row[k] = static_cast<float>(c[k] + factor * (row[k] - c[k]));
  }
  return out;
}

std::vector<double> MagnitudeLaw::levels(Key key, const DataBatch& batch) const {
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
    const double first =
        static_cast<double>(std::min<int64_t>(below - sorted_.begin(), static_cast<int64_t>(sorted_.size()) - 1));
    const double ranks = std::max(1.0, static_cast<double>(above - below));
    u[i] = (first + ranks * u[i]) / static_cast<double>(sorted_.size());
  }
  return u;
}

}  // namespace htfm
