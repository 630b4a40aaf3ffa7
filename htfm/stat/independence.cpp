#include "htfm/stat/independence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "htfm/base/parallel.h"
#include "htfm/stat/estimators.h"

namespace htfm {

namespace {

constexpr size_t kDegrees = 4;

// The Legendre polynomials of degree 1 to 4 on (0, 1), with variance 1 under the uniform law.
std::array<double, kDegrees> legendre(double u) {
  const double x = 2 * u - 1, x2 = x * x;
  return {std::sqrt(3.0) * x, std::sqrt(5.0) * (3 * x2 - 1) / 2, std::sqrt(7.0) * x * (5 * x2 - 3) / 2,
          3 * (35 * x2 * x2 - 30 * x2 + 3) / 8};
}

// P(chi-square with 2m degrees of freedom > x).
double chi_square_beyond(double x, size_t m) {
  double term = std::exp(-x / 2), sum = 0;
  for (size_t k = 0; k < m; ++k) sum += term, term *= x / 2 / static_cast<double>(k + 1);
  return std::min(sum, 1.0);
}

}  // namespace

std::vector<double> random_ranks(const at::Tensor& rows, int64_t column, Key key) {
  const int64_t n = rows.size(0), width = rows.size(1);
  const double* x = rows.const_data_ptr<double>() + column;
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    if (x[a * width] != x[b * width]) return x[a * width] < x[b * width];
    return key.uniform(static_cast<uint64_t>(a)) < key.uniform(static_cast<uint64_t>(b));
  });
  std::vector<double> out(static_cast<size_t>(n));
  for (int64_t r = 0; r < n; ++r)
    out[static_cast<size_t>(order[static_cast<size_t>(r)])] = (static_cast<double>(r) + 0.5) / static_cast<double>(n);
  return out;
}

double IndependenceTest::least() const { return std::min({together, spread, any}); }

IndependenceTest test_independence(std::span<const double> u, std::span<const double> v) {
  double sum[kDegrees][kDegrees] = {};
  for (size_t i = 0; i < u.size(); ++i) {
    const auto a = legendre(u[i]), b = legendre(v[i]);
    for (size_t j = 0; j < kDegrees; ++j)
      for (size_t k = 0; k < kDegrees; ++k) sum[j][k] += a[j] * b[k];
  }
  // Each is standard normal for many rows, and they are independent of each other.
  const double root = std::sqrt(static_cast<double>(u.size()));
  double squares = 0;
  for (auto& row : sum)
    for (double& z : row) z /= root, squares += z * z;
  return {two_sided_chance(sum[0][0]), two_sided_chance(sum[1][1]),
          chi_square_beyond(squares, kDegrees * kDegrees / 2)};
}

std::vector<std::vector<int64_t>> independent_groups(const at::Tensor& rows, Key key, double chance, int64_t fewest) {
  const int64_t n = rows.size(0), width = rows.size(1);
  std::vector<int64_t> root(static_cast<size_t>(width));
  std::iota(root.begin(), root.end(), int64_t{0});
  if (n < fewest) return {root};
  std::vector<std::vector<double>> u(static_cast<size_t>(width));
  parallel_for(width, [&](int64_t k) {
    u[static_cast<size_t>(k)] = random_ranks(rows, k, key.child(static_cast<uint64_t>(k)));
  });
  // One byte a pair: they are written by several threads.
  std::vector<char> holds(static_cast<size_t>(width * width));
  parallel_for(width, [&](int64_t a) {
    for (int64_t b = a + 1; b < width; ++b)
      holds[static_cast<size_t>(a * width + b)] =
          test_independence(u[static_cast<size_t>(a)], u[static_cast<size_t>(b)]).least() < chance;
  });
  const auto find = [&](int64_t k) {
    while (root[static_cast<size_t>(k)] != k) k = root[static_cast<size_t>(k)];
    return k;
  };
  for (int64_t a = 0; a < width; ++a)
    for (int64_t b = a + 1; b < width; ++b) {
      if (!holds[static_cast<size_t>(a * width + b)]) continue;
      const int64_t first = find(a), second = find(b);
      root[static_cast<size_t>(std::max(first, second))] = std::min(first, second);
    }
  std::vector<std::vector<int64_t>> members(static_cast<size_t>(width)), out;
  for (int64_t k = 0; k < width; ++k) members[static_cast<size_t>(find(k))].push_back(k);
  for (std::vector<int64_t>& m : members)
    if (!m.empty()) out.push_back(std::move(m));
  return out;
}

}  // namespace htfm
