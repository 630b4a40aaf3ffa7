// Sets of points for the tests of the scores.
#pragma once

#include <ATen/ops/empty.h>

#include <vector>

#include "htfm/base/random.h"
#include "htfm/stat/points.h"

namespace htfm {

inline Points normal_points(int64_t n, int64_t dim, Key key, double scale = 1, double shift = 0) {
  Points points{n, dim, std::vector<double>(static_cast<size_t>(n * dim))};
  fill_normal(key, 0, n * dim, points.x.data());
  for (double& x : points.x) x = scale * x + shift;
  return points;
}

/// Isotropic alpha-stable points about nine centres: heavy tails and clusters at once.
inline Points stable_points(int64_t n, int64_t dim, double alpha, Key key) {
  Points points = normal_points(n, dim, key.child("normal"));
  std::vector<double> clock(static_cast<size_t>(n));
  fill_positive_stable(key.child("clock"), alpha / 2, 1.0, 0, n, clock.data());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t d = 0; d < dim; ++d) {
      double& x = points.x[static_cast<size_t>(i * dim + d)];
      x = 0.1 * std::sqrt(2 * clock[static_cast<size_t>(i)]) * x +
          2.0 * static_cast<double>(key.below(3, static_cast<uint64_t>(i * dim + d)));
    }
  return points;
}

/// Whole numbers in 0..side-1: many equal points and equal distances, all of them exact.
inline Points lattice_points(int64_t n, int64_t dim, uint64_t side, Key key) {
  Points points{n, dim, std::vector<double>(static_cast<size_t>(n * dim))};
  for (size_t i = 0; i < points.x.size(); ++i) points.x[i] = static_cast<double>(key.below(side, i));
  return points;
}

inline at::Tensor to_tensor(const Points& points, at::ScalarType type = at::kDouble) {
  at::Tensor tensor = at::empty({points.n, points.dim}, at::kDouble);
  std::copy(points.x.begin(), points.x.end(), tensor.mutable_data_ptr<double>());
  return tensor.to(type);
}

}  // namespace htfm
