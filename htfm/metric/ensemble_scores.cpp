#include "htfm/metric/ensemble_scores.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/io/dtype.h"

namespace htfm {

EnsembleScores ensemble_scores(const at::Tensor& members, const at::Tensor& truth) {
  if (members.dim() != 3 || truth.dim() != 2 || members.size(0) != truth.size(0) || members.size(2) != truth.size(1) ||
      members.numel() == 0)
    throw InputError("[ensemble] expected cases x members x points and cases x points, got shapes {} and {}",
                     shape_text(members.sizes()), shape_text(truth.sizes()));
  const int64_t cases = members.size(0), m = members.size(1), points = members.size(2);
  const at::Tensor all = members.to(at::kDouble).contiguous(), real = truth.to(at::kDouble).contiguous();
  struct Sums {
    double crps = 0, variance = 0, square = 0;
  };
  std::vector<Sums> sums(static_cast<size_t>(cases));
  parallel_for(cases, [&](int64_t k) {
    const double *x = all.const_data_ptr<double>() + k * m * points, *y = real.const_data_ptr<double>() + k * points;
    std::vector<double> own(static_cast<size_t>(m));
    Sums& s = sums[static_cast<size_t>(k)];
    for (int64_t p = 0; p < points; ++p) {
      double mean = 0, away = 0;
      for (int64_t i = 0; i < m; ++i) {
        own[i] = x[i * points + p];
        mean += own[i], away += std::abs(own[i] - y[p]);
      }
      mean /= static_cast<double>(m);
      std::sort(own.begin(), own.end());
      double pairs = 0, variance = 0;  // pairs: the sum of all differences of two members
      for (int64_t i = 0; i < m; ++i) {
        pairs += static_cast<double>(2 * i - m + 1) * own[i];
        variance += (own[i] - mean) * (own[i] - mean);
      }
      s.crps += away / static_cast<double>(m);
      if (m > 1) {
        s.crps -= pairs / static_cast<double>(m * (m - 1));
        s.variance += variance / static_cast<double>(m - 1);
      }
      s.square += (mean - y[p]) * (mean - y[p]);
    }
  });
  Sums total;
  for (const Sums& s : sums) total.crps += s.crps, total.variance += s.variance, total.square += s.square;
  const auto count = static_cast<double>(cases * points);
  EnsembleScores out;
  out.crps = total.crps / count;
  out.spread = std::sqrt(total.variance / count), out.error = std::sqrt(total.square / count);
  out.spread_skill = std::sqrt(static_cast<double>(m + 1) / static_cast<double>(m)) * out.spread / out.error;
  return out;
}

}  // namespace htfm
