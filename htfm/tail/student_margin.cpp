#include "htfm/tail/student_margin.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "htfm/tail/student_check.h"

namespace htfm {

namespace {

constexpr size_t kFewest = 1000;
constexpr double kLeastP = 0.03;  // of the test: it is made once a column and group, and often
constexpr double kMostNu = 30;    // beyond it a tail is hardly heavy

}  // namespace

double student_quantile(double nu, double p) {
  // P(T > q) = I(nu / (nu + q^2); nu / 2, 1 / 2) / 2, which falls with q.
  double low = -40, high = 200;  // logarithms of q
  for (int round = 0; round < 80; ++round) {
    const double middle = (low + high) / 2, square = std::exp(2 * middle);
    const double beyond = 0.5 * beta_distribution(nu / (nu + square), nu / 2, 0.5);
    (beyond > p ? low : high) = middle;
  }
  return std::exp((low + high) / 2);
}

std::optional<Margin> student_margin(std::span<const double> values) {
  if (values.size() < kFewest) return std::nullopt;
  at::Tensor rows = at::empty({static_cast<int64_t>(values.size()), 1}, at::kDouble);
  std::copy(values.begin(), values.end(), rows.mutable_data_ptr<double>());
  const StudentCheck check = check_student_t(rows);
  const StudentT& law = check.law;
  if (check.p_value < kLeastP || !check.even || law.nu > kMostNu) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return Margin::with_law(sorted, 1 / law.nu, [&](double p, bool above) {
    return law.location[0] + (above ? 1 : -1) * law.root[0] * student_quantile(law.nu, p);
  });
}

}  // namespace htfm
