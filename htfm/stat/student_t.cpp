#include "htfm/stat/student_t.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/stat/maximise.h"
#include "htfm/stat/triangular.h"

namespace htfm {

namespace {

constexpr int64_t kMostStudentRows = 50000;
constexpr int64_t kMostRounds = 500;

// |root^-1 (x - centre)|^2.
double squared_distance(const double* x, const std::vector<double>& centre, const std::vector<double>& root,
                        double* scratch) {
  const auto dim = static_cast<int64_t>(centre.size());
  for (int64_t i = 0; i < dim; ++i) scratch[i] = x[i] - centre[i];
  return solve_lower(root, dim, scratch, scratch);
}

// Log-likelihood of n rows with these squared distances, without the determinant.
double log_likelihood(double nu, const std::vector<double>& squares, int64_t dim) {
  const double d = static_cast<double>(dim), n = static_cast<double>(squares.size());
  double sum = 0;
  for (const double s : squares) sum += std::log1p(s / nu);
  return n * (std::lgamma((nu + d) / 2) - std::lgamma(nu / 2) - d / 2 * std::log(nu * M_PI)) - (nu + d) / 2 * sum;
}

// The freedom with the largest likelihood.
double best_freedom(const std::vector<double>& squares, int64_t dim) {
  return std::exp(maximise([&](double log_nu) { return log_likelihood(std::exp(log_nu), squares, dim); },
                           std::log(StudentT::kLeastFreedom), std::log(StudentT::kMostFreedom), 1e-7));
}

double median_of(std::vector<double>& v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// Rows in units of each column's median and median distance, so that the iteration starts near its end and columns
// weigh alike.
struct Standardised {
  std::vector<double> x, centre, scale;
  int64_t n, dim;
};

Standardised standardise(const at::Tensor& rows) {
  Standardised s;
  s.n = std::min(rows.size(0), kMostStudentRows), s.dim = rows.size(1);
  s.x.resize(static_cast<size_t>(s.n * s.dim));
  const double* from = rows.const_data_ptr<double>();
  for (int64_t i = 0; i < s.n; ++i) std::copy_n(from + i * rows.size(0) / s.n * s.dim, s.dim, s.x.begin() + i * s.dim);
  std::vector<double> column(static_cast<size_t>(s.n));
  for (int64_t k = 0; k < s.dim; ++k) {
    for (int64_t i = 0; i < s.n; ++i) column[i] = s.x[i * s.dim + k];
    const double centre = median_of(column);
    double largest = 0;
    for (double& v : column) v = std::abs(v - centre), largest = std::max(largest, v);
    const double middle = median_of(column), scale = middle > 0 ? middle : largest > 0 ? largest : 1;
    s.centre.push_back(centre), s.scale.push_back(scale);
    for (int64_t i = 0; i < s.n; ++i) s.x[i * s.dim + k] = (s.x[i * s.dim + k] - centre) / scale;
  }
  return s;
}

}  // namespace

std::vector<double> StudentT::scatter() const {
  const int64_t d = dim();
  std::vector<double> out(root.size());
  for (int64_t i = 0; i < d; ++i)
    for (int64_t j = 0; j < d; ++j)
      for (int64_t k = 0; k <= std::min(i, j); ++k) out[i * d + j] += root[i * d + k] * root[j * d + k];
  return out;
}

double StudentT::squared_distance(const double* row) const {
  std::vector<double> scratch(location.size());
  return htfm::squared_distance(row, location, root, scratch.data());
}

double StudentT::whiten(const double* row, double* out) const {
  return htfm::squared_distance(row, location, root, out);
}

double StudentT::log_density(const double* row) const {
  return htfm::log_likelihood(nu, {squared_distance(row)}, dim()) - log_determinant(root, dim());
}

at::Tensor StudentT::sample(Key key, int64_t n) const {
  const int64_t d = dim();
  at::Tensor out = at::empty({n, d}, at::kDouble);
  double* x = out.mutable_data_ptr<double>();
  parallel_ranges(n, 8192, [&](int64_t first, int64_t last) {
    std::vector<double> z(static_cast<size_t>((last - first) * d)), mixing(static_cast<size_t>(last - first));
    fill_normal(key.child("normal"), static_cast<uint64_t>(first * d), (last - first) * d, z.data());
    fill_log_gamma_draw(key.child("mixing"), nu / 2, static_cast<uint64_t>(first), last - first, mixing.data());
    for (int64_t i = 0; i < last - first; ++i) {
      const double factor = std::exp((std::log(nu / 2) - mixing[i]) / 2);  // sqrt(nu / chi^2)
      for (int64_t k = 0; k < d; ++k) {
        double sum = 0;
        for (int64_t j = 0; j <= k; ++j) sum += root[k * d + j] * z[i * d + j];
        x[(first + i) * d + k] = location[k] + factor * sum;
      }
    }
  });
  return out;
}

StudentT fit_student_t(const at::Tensor& rows) {
  if (rows.dim() != 2 || rows.scalar_type() != at::kDouble || rows.size(0) <= rows.size(1))
    throw InputError("[student-t] expected more rows than columns in float64, got {} x {}", rows.size(0),
                     rows.dim() > 1 ? rows.size(1) : 1);
  const Standardised s = standardise(rows.contiguous());
  const int64_t n = s.n, dim = s.dim;
  StudentT law;
  law.nu = 3;
  law.location.assign(static_cast<size_t>(dim), 0.0);
  law.root.assign(static_cast<size_t>(dim * dim), 0.0);
  for (int64_t k = 0; k < dim; ++k) law.root[k * dim + k] = 1;
  std::vector<double> squares(static_cast<size_t>(n)), scratch(static_cast<size_t>(dim)), scatter;
  double before = -std::numeric_limits<double>::infinity();
  for (; law.rounds < kMostRounds; ++law.rounds) {
    for (int64_t i = 0; i < n; ++i)
      squares[i] = squared_distance(s.x.data() + i * dim, law.location, law.root, scratch.data());
    if (law.rounds > 0) law.nu = best_freedom(squares, dim);
    law.log_likelihood = log_likelihood(law.nu, squares, dim) - static_cast<double>(n) * log_determinant(law.root, dim);
    if (std::abs(law.log_likelihood - before) < 1e-9 * (1 + std::abs(law.log_likelihood))) {
      law.converged = true;
      break;
    }
    before = law.log_likelihood;
    double total = 0;
    std::fill(law.location.begin(), law.location.end(), 0.0);
    for (int64_t i = 0; i < n; ++i) {
      squares[i] = (law.nu + static_cast<double>(dim)) / (law.nu + squares[i]);  // the row's weight
      total += squares[i];
      for (int64_t k = 0; k < dim; ++k) law.location[k] += squares[i] * s.x[i * dim + k];
    }
    for (double& v : law.location) v /= total;
    scatter.assign(static_cast<size_t>(dim * dim), 0.0);
    for (int64_t i = 0; i < n; ++i) {
      const double* x = s.x.data() + i * dim;
      for (int64_t k = 0; k < dim; ++k) {
        const double w = squares[i] * (x[k] - law.location[k]);
        for (int64_t j = 0; j <= k; ++j) scatter[k * dim + j] += w * (x[j] - law.location[j]);
      }
    }
    // Divided by the sum of weights instead of n: the same fixed point, reached sooner (Kent, Tyler and Vardi).
    for (double& v : scatter) v /= total;
    lifted_cholesky(scatter, dim, law.root);
  }
  law.log_likelihood *= static_cast<double>(rows.size(0)) / static_cast<double>(n);
  for (int64_t k = 0; k < dim; ++k) {
    law.log_likelihood -= static_cast<double>(rows.size(0)) * std::log(s.scale[k]);
    law.location[k] = s.centre[k] + s.scale[k] * law.location[k];
    for (int64_t j = 0; j <= k; ++j) law.root[k * dim + j] *= s.scale[k];
  }
  return law;
}

}  // namespace htfm
