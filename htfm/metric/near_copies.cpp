#include "htfm/metric/near_copies.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/parallel.h"
#include "htfm/stat/order.h"

namespace htfm {

namespace {

constexpr double kOperations = 4e9, kNear = 0.05;
constexpr int64_t kMostRows = 2000, kFewestRows = 200;

// Values of a column as ranks in [0,1] among the training rows; codes as they are; NaN stays.
void rank_column(const std::vector<double>& sorted, bool codes, const at::Tensor& rows, int64_t column, float* out,
                 int64_t n) {
  const int64_t width = rows.size(1);
  const double* x = rows.const_data_ptr<double>() + column;
  for (int64_t i = 0; i < n; ++i) {
    const double v = x[i * width];
    if (codes || std::isnan(v) || sorted.empty()) {
      out[i * width] = static_cast<float>(v);
      continue;
    }
    const auto low = std::lower_bound(sorted.begin(), sorted.end(), v),
               high = std::upper_bound(sorted.begin(), sorted.end(), v);
    const auto middle = 0.5 * static_cast<double>((low - sorted.begin()) + (high - sorted.begin()));
    out[i * width] = static_cast<float>(middle / static_cast<double>(sorted.size()));
  }
}

}  // namespace

double NearCopies::standard_error() const {
  const auto a = static_cast<double>(std::max<int64_t>(1, samples_seen)),
             b = static_cast<double>(std::max<int64_t>(1, held_out_seen));
  const double p = std::max(0.5 * (samples + held_out), 0.01);
  return std::sqrt(p * (1 - p) * (1 / a + 1 / b));
}

std::string NearCopies::sentence() const {
  const double more = samples - held_out;
  return fmt::format(
      "{:.2f} % of the samples are near copies of training rows, and {:.2f} % of the held-out rows are: {}.",
      100 * samples, 100 * held_out,
      more > 3 * standard_error() ? "the model copies more than by chance"
                                  : "no more than expected between two parts of the data");
}

NearCopies find_near_copies(const at::Tensor& train, const at::Tensor& held_out, const at::Tensor& samples,
                            const std::vector<bool>& unordered) {
  const int64_t n = train.size(0), d = train.size(1);
  const auto affordable = static_cast<int64_t>(kOperations / static_cast<double>(n * d));
  const int64_t most = std::clamp(affordable, kFewestRows, kMostRows);
  const std::vector<at::Tensor> sets{train, held_out.narrow(0, 0, std::min(most, held_out.size(0))),
                                     samples.narrow(0, 0, std::min(most, samples.size(0)))};
  std::vector<std::vector<float>> ranks;
  for (const at::Tensor& set : sets) ranks.emplace_back(static_cast<size_t>(set.size(0) * d));
  std::vector<char> codes(static_cast<size_t>(d), 0);
  for (size_t k = 0; k < unordered.size() && k < codes.size(); ++k) codes[k] = unordered[k];
  parallel_for(d, [&](int64_t k) {
    std::vector<double> sorted;
    const double* x = train.const_data_ptr<double>() + k;
    for (int64_t i = 0; i < n; ++i)
      if (!std::isnan(x[i * d])) sorted.push_back(x[i * d]);
    std::sort(sorted.begin(), sorted.end());
    for (size_t s = 0; s < sets.size(); ++s)
      rank_column(sorted, codes[static_cast<size_t>(k)], sets[s], k, ranks[s].data() + k, sets[s].size(0));
  });
  const auto closest = [&](size_t set) {
    const int64_t rows = sets[set].size(0);
    std::vector<double> out(static_cast<size_t>(rows));
    parallel_for(rows, [&](int64_t i) {
      const float* a = ranks[set].data() + i * d;
      float best = std::numeric_limits<float>::infinity();
      for (int64_t j = 0; j < n; ++j) {
        const float* b = ranks[0].data() + j * d;
        float sum = 0;
        for (int64_t k = 0; k < d && sum < best; ++k) {
          const bool gap_a = std::isnan(a[k]), gap_b = std::isnan(b[k]);
          if (gap_a || gap_b)
            sum += gap_a == gap_b ? 0.0F : 1.0F;
          else
            sum += codes[static_cast<size_t>(k)] ? (a[k] == b[k] ? 0.0F : 1.0F) : std::abs(a[k] - b[k]);
        }
        best = std::min(best, sum);
      }
      out[static_cast<size_t>(i)] = best / static_cast<double>(d);
    });
    std::sort(out.begin(), out.end());
    return out;
  };
  const std::vector<double> held = closest(1), drawn = closest(2);
  NearCopies out;
  out.samples_seen = static_cast<int64_t>(drawn.size()), out.held_out_seen = static_cast<int64_t>(held.size());
  const double near = quantile_of_sorted(held, kNear);
  const auto share = [](const std::vector<double>& v, double below) {
    return static_cast<double>(std::lower_bound(v.begin(), v.end(), below) - v.begin()) / static_cast<double>(v.size());
  };
  constexpr double kEqual = 1e-12;
  out.samples = share(drawn, std::max(near, kEqual)), out.held_out = share(held, std::max(near, kEqual));
  out.exact_samples = share(drawn, kEqual), out.exact_held_out = share(held, kEqual);
  out.median_samples = quantile_of_sorted(drawn, 0.5), out.median_held_out = quantile_of_sorted(held, 0.5);
  return out;
}

}  // namespace htfm
