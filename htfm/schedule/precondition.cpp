#include "htfm/schedule/precondition.h"

#include <algorithm>
#include <numeric>

#include "htfm/base/error.h"
#include "htfm/stat/scatter.h"

namespace htfm {

DataScale::DataScale(std::vector<double> log_source, std::vector<double> log_scale)
    : log_source_(std::move(log_source)), log_scale_(std::move(log_scale)) {
  bool good = !log_scale_.empty() && (log_scale_.size() == 1 || log_scale_.size() == log_source_.size());
  for (const double v : log_scale_) good = good && std::isfinite(v);
  for (size_t k = 1; k < log_source_.size(); ++k) good = good && log_source_[k] > log_source_[k - 1];
  if (!good)
    throw InputError("[precondition] expected finite data scales at ascending knots, got {} of {}", log_scale_.size(),
                     log_source_.size());
  first_ = std::exp(log_scale_[0]);
}

double DataScale::at(double area) const {
  if (log_scale_.size() == 1) return first_;
  const double x = std::log(2 * area) / 2;
  const auto above = std::upper_bound(log_source_.begin() + 1, log_source_.end() - 1, x);
  const auto k = static_cast<size_t>(above - log_source_.begin());
  const double slope = (log_scale_[k] - log_scale_[k - 1]) / (log_source_[k] - log_source_[k - 1]);
  return std::exp(log_scale_[k - 1] + slope * (x - log_source_[k - 1]));
}

std::string DataScale::describe() const {
  if (log_scale_.size() == 1) return fmt::format("{:.4g}", first_);
  return fmt::format("{:.3g} to {:.3g} by clock ({} knots)", std::exp(log_scale_.front()), std::exp(log_scale_.back()),
                     log_scale_.size());
}

double robust_scale(const at::Tensor& rows) {
  const at::Tensor distance = distances(rows, median_centre(rows));
  const double scale =
      std::get<0>(distance.sort()).select(0, rows.size(0) / 2).item<double>() / chi_median(rows.size(1));
  return scale > 0 ? scale : 1;
}

std::span<const double> scale_levels() {
  static constexpr double levels[] = {0.0001, 0.001, 0.01, 0.05, 0.1,  0.2,   0.3,   0.4,   0.5,    0.6,   0.7,
                                      0.8,    0.9,   0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9998};
  return levels;
}

DataScale fit_data_scale(std::span<const double> area, std::span<const double> distance, int64_t dim,
                         double tail_slope) {
  // Each knot looks at the pairs half-way to its neighbours.
  const std::span<const double> levels = scale_levels();
  const size_t count = levels.size();
  const auto n = static_cast<int64_t>(area.size());
  std::vector<int64_t> order(area.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return area[a] < area[b]; });
  const auto logit = [](double u) { return std::log(u / (1 - u)); };
  const auto rank = [&](double l) { return static_cast<int64_t>(static_cast<double>(n) / (1 + std::exp(-l))); };
  std::vector<double> x, y, window;
  for (size_t k = 0; k < count; ++k) {
    const double here = logit(levels[k]), before = k > 0 ? logit(levels[k - 1]) : 2 * here - logit(levels[1]);
    const double after = k + 1 < count ? logit(levels[k + 1]) : 2 * here - logit(levels[k - 1]);
    const int64_t first = rank((before + here) / 2), last = std::min(n, rank((here + after) / 2));
    if (last - first < 8) continue;
    window.clear();
    double sum = 0;
    for (int64_t i = first; i < last; ++i)
      window.push_back(distance[order[i]]), sum += std::log(2 * area[order[i]]) / 2;
    std::nth_element(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(window.size() / 2), window.end());
    const double median = window[window.size() / 2], at = sum / static_cast<double>(last - first);
    if (!(median > 0) || !std::isfinite(at) || (!x.empty() && !(at > x.back() + 1e-9))) continue;
    x.push_back(at);
    y.push_back(std::log(median / chi_median(dim)));
  }
  if (x.empty())
    throw InputError("[precondition.scale] expected at least 100 rows to fit the scale by clock, got {}", n);
  if (x.size() == 1) return DataScale(std::exp(y[0]));  // a clock that does not vary
  if (tail_slope > 0) x.push_back(x.back() + 1), y.push_back(y.back() + tail_slope);
  return {std::move(x), std::move(y)};
}

}  // namespace htfm
