#include "htfm/stat/density_peaks.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "htfm/base/parallel.h"

namespace htfm {

namespace {

double squared_distance(const double* a, const double* b, int64_t dim) {
  double sum = 0;
  for (int64_t k = 0; k < dim; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

}  // namespace

std::vector<DensityPeak> density_peaks(const PointsView& points, int64_t most) {
  const int64_t n = points.n, dim = points.dim, k = std::min(n - 1, std::max<int64_t>(5, n / 60));
  std::vector<DensityPeak> peaks(static_cast<size_t>(n));
  parallel_ranges(n, 64, [&](int64_t begin, int64_t end) {
    std::vector<double> squares(static_cast<size_t>(n));
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < n; ++j) squares[j] = squared_distance(points.row(i), points.row(j), dim);
      std::nth_element(squares.begin(), squares.begin() + k, squares.end());
      peaks[i] = {i, std::max(std::sqrt(squares[k]), std::numeric_limits<double>::min()), 0};
    }
  });
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return peaks[a].spacing < peaks[b].spacing; });
  parallel_ranges(n, 64, [&](int64_t begin, int64_t end) {
    for (int64_t place = begin; place < end; ++place) {
      double least = std::numeric_limits<double>::infinity();
      for (int64_t denser = 0; denser < place; ++denser)
        least = std::min(least, squared_distance(points.row(order[place]), points.row(order[denser]), dim));
      peaks[order[place]].distance = std::sqrt(least);
    }
  });
  std::stable_sort(peaks.begin(), peaks.end(),
                   [](const DensityPeak& a, const DensityPeak& b) { return a.height() > b.height(); });
  peaks.resize(static_cast<size_t>(std::min(n, most)));
  return peaks;
}

}  // namespace htfm
