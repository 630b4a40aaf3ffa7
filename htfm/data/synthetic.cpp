#include "htfm/data/synthetic.h"

#include <ATen/ops/empty.h>

#include <array>
#include <numeric>

#include "htfm/base/parallel.h"
#include "htfm/base/registry.h"

namespace htfm {

namespace {

// Nine isotropic stable components of scale 0.1 on {-2,0,2}^2, imbalanced. Counts are whole numbers that sum to n; the
// rows are shuffled afterwards.
void mixture2d(Key key, const SyntheticSpec& spec, int64_t n, double* rows) {
  if (!(spec.alpha > 0 && spec.alpha <= 2))
    throw InputError("[data.alpha] expected a stability index in (0, 2], got {}", spec.alpha);
  constexpr std::array<double, 9> weight{0.18, 0.08, 0.14, 0.06, 0.09, 0.10, 0.16, 0.07, 0.12};
  constexpr double scale = 0.1;
  std::array<int64_t, 9> count{};
  std::array<int, 9> by_remainder{};
  const double total = std::accumulate(weight.begin(), weight.end(), 0.0);
  std::array<double, 9> remainder{};
  int64_t given = 0;
  for (int k = 0; k < 9; ++k) {
    const double exact = static_cast<double>(n) * weight[k] / total;
    count[k] = static_cast<int64_t>(exact + 1e-9);
    remainder[k] = exact - static_cast<double>(count[k]);
    given += count[k];
    by_remainder[k] = k;
  }
  std::stable_sort(by_remainder.begin(), by_remainder.end(), [&](int a, int b) { return remainder[a] > remainder[b]; });
  for (int64_t i = 0; i < n - given; ++i) ++count[by_remainder[i]];

  std::vector<double> mixing(static_cast<size_t>(n)), normal(static_cast<size_t>(2 * n));
  fill_positive_stable(key.child("mixing"), spec.alpha / 2, 1, 0, n, mixing.data());
  fill_normal(key.child("normal"), 0, 2 * n, normal.data());
  std::vector<int64_t> place(static_cast<size_t>(n));
  fill_permutation(key.child("shuffle"), n, place.data());
  for (int64_t i = 0, k = 0, end = count[0]; i < n; ++i) {
    while (i >= end) end += count[++k];
    const double size = scale * std::sqrt(2 * mixing[i]);
    const int64_t column = k / 3, line = k % 3;
    double* row = rows + 2 * place[i];
    row[0] = 2.0 * static_cast<double>(column) - 2 + size * normal[2 * i];
    row[1] = 2.0 * static_cast<double>(line) - 2 + size * normal[2 * i + 1];
  }
}

// Draws each row from its own uniforms and normals.
using RowRule = void (*)(const double* uniform, const double* normal, double* row);
template <RowRule rule>
void by_row(Key key, const SyntheticSpec&, int64_t n, double* rows) {
  std::vector<double> uniform(static_cast<size_t>(3 * n)), normal(static_cast<size_t>(2 * n));
  fill_uniform(key.child("uniform"), 0, 3 * n, uniform.data());
  fill_normal(key.child("normal"), 0, 2 * n, normal.data());
  for (int64_t i = 0; i < n; ++i) rule(uniform.data() + 3 * i, normal.data() + 2 * i, rows + 2 * i);
}

// The eight dark squares of a 4 x 4 board on [-2,2]^2.
void checkerboard(const double* u, const double*, double* row) {
  const int square = static_cast<int>(8 * u[0]), x = square % 4, y = 2 * (square / 4) + x % 2;
  row[0] = x - 2 + u[1];
  row[1] = y - 2 + u[2];
}

// Two interleaved half circles of radius 1, scaled by 1.5 about the origin, noise 0.05.
void two_moons(const double* u, const double* z, double* row) {
  const double angle = M_PI * u[1];
  const bool upper = u[0] < 0.5;
  const double x = upper ? std::cos(angle) : 1 - std::cos(angle), y = upper ? std::sin(angle) : 0.5 - std::sin(angle);
  row[0] = 1.5 * (x - 0.5 + 0.05 * z[0]);
  row[1] = 1.5 * (y - 0.25 + 0.05 * z[1]);
}

// A spiral of one and a half turns with radius up to about 2.
void swiss_roll(const double* u, const double* z, double* row) {
  const double angle = 1.5 * M_PI * (1 + 2 * u[0]);
  row[0] = (angle * std::cos(angle) + 0.25 * z[0]) / 7;
  row[1] = (angle * std::sin(angle) + 0.25 * z[1]) / 7;
}

// Four concentric circles of radius 0.5, 1, 1.5, 2 with equal weight, noise 0.04.
void rings(const double* u, const double* z, double* row) {
  const double radius = 0.5 * (1 + static_cast<int>(4 * u[0])), angle = 2 * M_PI * u[1];
  row[0] = radius * std::cos(angle) + 0.04 * z[0];
  row[1] = radius * std::sin(angle) + 0.04 * z[1];
}

// Five interlocking circles of radius 0.75, three above and two below, noise 0.03.
void olympic_rings(const double* u, const double* z, double* row) {
  constexpr std::array<std::array<double, 2>, 5> centre{
      {{-1.7, 0.4}, {0, 0.4}, {1.7, 0.4}, {-0.85, -0.4}, {0.85, -0.4}}};
  const auto& c = centre[static_cast<size_t>(5 * u[0])];
  const double angle = 2 * M_PI * u[1];
  row[0] = c[0] + 0.75 * std::cos(angle) + 0.03 * z[0];
  row[1] = c[1] + 0.75 * std::sin(angle) + 0.03 * z[1];
}

// Rows of a Student-t law with the scatter s_i s_j correlation^|i-j|: an autoregression along the coordinates, divided
// by a common root.
struct Autoregression {
  double correlation;
  double row_scale(Key key, double nu, int64_t i) const {
    double log_gamma = 0;
    fill_log_gamma_draw(key.child("mixing"), nu / 2, static_cast<uint64_t>(i), 1, &log_gamma);
    return std::exp((std::log(nu / 2) - log_gamma) / 2);
  }
  void draw(const double* normal, int64_t dim, double scale, double* row) const {
    double state = normal[0];
    for (int64_t k = 0; k < dim; ++k) {
      if (k > 0) state = correlation * state + std::sqrt(1 - correlation * correlation) * normal[k];
      row[k] = scale * state;
    }
  }
};

void check_student(const SyntheticSpec& spec) {
  if (!(spec.nu > 0)) throw InputError("[data.nu] expected positive degrees of freedom, got {}", spec.nu);
}

// Student-t with correlated scatter: correlation 0.7 between neighbours, deviations from 0.5 to 2.
void student(Key key, const SyntheticSpec& spec, int64_t n, double* rows) {
  check_student(spec);
  const int64_t dim = spec.dim;
  const Autoregression law{0.7};
  parallel_ranges(n, 4096, [&](int64_t begin, int64_t end) {
    std::vector<double> normal(static_cast<size_t>(dim));
    for (int64_t i = begin; i < end; ++i) {
      fill_normal(key.child("normal"), static_cast<uint64_t>(i * dim), dim, normal.data());
      double* row = rows + i * dim;
      law.draw(normal.data(), dim, law.row_scale(key, spec.nu, i), row);
      for (int64_t k = 0; k < dim; ++k)
        row[k] *= 0.5 * std::pow(4.0, dim > 1 ? static_cast<double>(k) / static_cast<double>(dim - 1) : 0);
    }
  });
}

// Two Student-t clusters, seven rows of ten about -2 on every other axis with scale 1, three about +2 with scale 1/2.
void clusters(Key key, const SyntheticSpec& spec, int64_t n, double* rows) {
  check_student(spec);
  const int64_t dim = spec.dim;
  const Autoregression law{0.3};
  parallel_ranges(n, 4096, [&](int64_t begin, int64_t end) {
    std::vector<double> normal(static_cast<size_t>(dim));
    for (int64_t i = begin; i < end; ++i) {
      fill_normal(key.child("normal"), static_cast<uint64_t>(i * dim), dim, normal.data());
      const bool first = key.child("cluster").uniform(static_cast<uint64_t>(i)) < 0.7;
      double* row = rows + i * dim;
      law.draw(normal.data(), dim, (first ? 1 : 0.5) * law.row_scale(key, spec.nu, i), row);
      for (int64_t k = 0; k < dim; k += 2) row[k] += first ? -2 : 2;
    }
  });
}

}  // namespace

std::span<const SyntheticInfo> synthetic_sets() {
  static const std::vector<SyntheticInfo> sets{
      {"mixture2d", "nine imbalanced alpha-stable components on a 3 x 3 grid (data.alpha)", false, mixture2d},
      {"checkerboard", "uniform on the dark squares of a board", false, by_row<checkerboard>},
      {"two_moons", "two interleaved half circles", false, by_row<two_moons>},
      {"swiss_roll", "a spiral", false, by_row<swiss_roll>},
      {"rings", "four concentric circles", false, by_row<rings>},
      {"olympic_rings", "five interlocking circles", false, by_row<olympic_rings>},
      {"student", "Student-t with correlated scatter (data.dim, data.nu)", true, student},
      {"clusters", "two heavy-tailed clusters (data.dim, data.nu)", true, clusters},
  };
  return sets;
}

at::Tensor draw_synthetic(Key key, const SyntheticSpec& spec, int64_t n) {
  if (n < 1) throw InputError("[data.n] expected at least one row, got {}", n);
  const SyntheticInfo& set = find_named(synthetic_sets(), spec.name, "data.name");
  if (spec.dim < 1) throw InputError("[data.dim] expected at least one dimension, got {}", spec.dim);
  at::Tensor x = at::empty({n, set.any_dimension ? spec.dim : 2}, at::kDouble);
  set.draw(key, spec, n, x.mutable_data_ptr<double>());
  return x;
}

}  // namespace htfm
