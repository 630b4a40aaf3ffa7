// Data whose law given the condition is known: t laws of three categories, whose centre and scale go with a number.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cmath>

#include "htfm/base/random.h"
#include "htfm/data/dataset.h"

namespace htfm::test {

inline constexpr double kDegrees[] = {2.5, 4, 8}, kScales[] = {1, 3, 0.5};

/// The centre and scale at the number c in (0, 1).
inline double centre_at(double c) { return 2 * c; }
inline double scale_at(int category, double c) { return kScales[category] * std::exp(c); }

/// Rows x, category, number: the columns "x", "kind" (0, 1, 2) and "c".
inline Dataset conditional_data(Key key, int64_t n) {
  Dataset out{
      .rows = at::empty({n, 3}, at::kDouble), .names = {"x", "kind", "c"}, .hash = "law", .origin = "a known law"};
  std::vector<double> z(static_cast<size_t>(n)), gamma(static_cast<size_t>(n));
  fill_normal(key.child("z"), 0, n, z.data());
  double* x = out.rows.mutable_data_ptr<double>();
  std::vector<std::vector<double>> chi(3, std::vector<double>(static_cast<size_t>(n)));
  for (int k = 0; k < 3; ++k)
    fill_log_gamma_draw(key.child("chi").child(static_cast<uint64_t>(k)), kDegrees[k] / 2, 0, n, chi[k].data());
  for (int64_t i = 0; i < n; ++i) {
    const int k = static_cast<int>(key.child("kind").below(3, static_cast<uint64_t>(i)));
    const double c = key.child("c").uniform(static_cast<uint64_t>(i));
    const double t = z[i] / std::sqrt(2 * std::exp(chi[k][i]) / kDegrees[k]);
    x[3 * i] = centre_at(c) + scale_at(k, c) * t, x[3 * i + 1] = k, x[3 * i + 2] = c;
  }
  return out;
}

}  // namespace htfm::test
