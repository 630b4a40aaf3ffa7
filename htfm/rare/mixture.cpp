#include "htfm/rare/mixture.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_cholesky.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/matmul.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "htfm/base/parallel.h"

namespace htfm {

namespace {

constexpr int kIterations = 30;
constexpr int64_t kTask = 1 << 20;    // additions that are worth a thread
constexpr double kRidge = 1e-3;       // of covariances while they are fitted
constexpr double kLeastEigen = 0.01;  // of those that are given back

// Weighted points with what a fit needs of each part.
struct Points {
  const double* x;
  const double* w;  // of sum 1
  int64_t n, dim;
  double effective;

  const double* row(int64_t i) const { return x + i * dim; }
};

// A part out of the mean and covariance (dim x dim), whose eigenvalues `change` may alter.
NormalPart make_part(double share, std::vector<double> mean, const at::Tensor& covariance,
                     const std::function<double(double)>& change) {
  const auto dim = static_cast<int64_t>(mean.size());
  at::Tensor matrix = covariance;
  if (change) {
    auto [values, vectors] = at::linalg_eigh(covariance);
    double* v = values.mutable_data_ptr<double>();
    for (int64_t k = 0; k < dim; ++k) v[k] = change(v[k]);
    matrix = at::matmul(vectors * values, vectors.t());
  }
  const at::Tensor root = at::linalg_cholesky(matrix).contiguous();
  const double* r = root.const_data_ptr<double>();
  NormalPart out{share, std::move(mean), {r, r + dim * dim}, 0};
  for (int64_t k = 0; k < dim; ++k) out.log_root += std::log(out.root[static_cast<size_t>(k * dim + k)]);
  return out;
}

// Weighted mean and covariance, point i counting resp[i] times.
NormalPart moments(const Points& p, const std::vector<double>& resp, const std::function<double(double)>& change) {
  double total = 0;
  std::vector<double> mean(static_cast<size_t>(p.dim));
  for (int64_t i = 0; i < p.n; ++i) {
    total += resp[static_cast<size_t>(i)];
    for (int64_t k = 0; k < p.dim; ++k) mean[k] += resp[i] * p.row(i)[k];
  }
  for (double& m : mean) m /= total;
  at::Tensor covariance = at::empty({p.dim, p.dim}, at::kDouble);
  double* c = covariance.mutable_data_ptr<double>();
  const int64_t grain = std::max<int64_t>(1, kTask / (p.n * p.dim));
  parallel_ranges(p.dim, grain, [&](int64_t begin, int64_t end) {
    for (int64_t a = begin; a < end; ++a)
      for (int64_t b = 0; b <= a; ++b) {
        double sum = 0;
        for (int64_t i = 0; i < p.n; ++i) sum += resp[i] * (p.row(i)[a] - mean[a]) * (p.row(i)[b] - mean[b]);
        c[a * p.dim + b] = sum / total + (a == b ? kRidge : 0);
      }
  });
  for (int64_t a = 0; a < p.dim; ++a)
    for (int64_t b = 0; b < a; ++b) c[b * p.dim + a] = c[a * p.dim + b];
  return make_part(total, std::move(mean), covariance, change);
}

double log_density(const NormalPart& part, const double* x, std::vector<double>& scratch) {
  part.whiten(x, scratch.data());
  double square = 0;
  for (const double u : scratch) square += u * u;
  return -square / 2 - part.log_root - 0.5 * std::log(2 * M_PI) * static_cast<double>(scratch.size());
}

// Places far from each other, as k-means++ picks them; each point then belongs to the nearest.
std::vector<std::vector<double>> first_shares(const Points& p, int64_t parts, Key key) {
  std::vector<double> nearest(static_cast<size_t>(p.n), std::numeric_limits<double>::infinity());
  std::vector<int64_t> belongs(static_cast<size_t>(p.n));
  for (int64_t k = 0; k < parts; ++k) {
    double sum = 0;
    const auto worth = [&](int64_t i) { return p.w[i] * (k == 0 ? 1 : nearest[i]); };
    for (int64_t i = 0; i < p.n; ++i) sum += worth(i);
    double left = key.uniform(static_cast<uint64_t>(k)) * sum;
    int64_t seed = 0;
    for (; seed < p.n - 1 && (left -= worth(seed)) > 0; ++seed) {
    }
    for (int64_t i = 0; i < p.n; ++i) {
      double square = 0;
      for (int64_t d = 0; d < p.dim; ++d) square += std::pow(p.row(i)[d] - p.row(seed)[d], 2);
      if (square < nearest[i]) nearest[i] = square, belongs[i] = k;
    }
  }
  std::vector<std::vector<double>> out(static_cast<size_t>(parts), std::vector<double>(static_cast<size_t>(p.n)));
  for (int64_t i = 0; i < p.n; ++i) out[belongs[i]][i] = p.w[i];
  return out;
}

struct Fit {
  std::vector<std::vector<double>> shares;  // of every point in every part, times its weight
  double log_likelihood = -std::numeric_limits<double>::infinity();
};

// Parts of fewer effective points than this are given up.
double fewest(const Points& p) { return static_cast<double>(p.dim) + 5; }

void drop_small(const Points& p, Fit& fit) {
  std::erase_if(fit.shares, [&](const std::vector<double>& share) {
    double sum = 0;
    for (const double s : share) sum += s;
    return sum * p.effective < fewest(p) && fit.shares.size() > 1;
  });
}

Fit expectation_maximisation(const Points& p, int64_t parts, Key key) {
  Fit fit{first_shares(p, parts, key), -std::numeric_limits<double>::infinity()};
  drop_small(p, fit);
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    std::vector<NormalPart> now;
    for (const std::vector<double>& share : fit.shares) now.push_back(moments(p, share, {}));
    std::vector<double> gain(static_cast<size_t>(p.n));
    const auto cost = static_cast<int64_t>(now.size()) * p.dim * p.dim;
    parallel_ranges(p.n, std::max<int64_t>(64, kTask / cost), [&](int64_t begin, int64_t end) {
      std::vector<double> scratch(static_cast<size_t>(p.dim)), l(now.size());
      for (int64_t i = begin; i < end; ++i) {
        double most = -std::numeric_limits<double>::infinity(), sum = 0;
        for (size_t k = 0; k < now.size(); ++k)
          most = std::max(most, l[k] = std::log(now[k].share) + log_density(now[k], p.row(i), scratch));
        for (size_t k = 0; k < now.size(); ++k) sum += std::exp(l[k] - most);
        gain[i] = most + std::log(sum);
        for (size_t k = 0; k < now.size(); ++k) fit.shares[k][i] = p.w[i] * std::exp(l[k] - gain[i]);
      }
    });
    double likelihood = 0;
    for (int64_t i = 0; i < p.n; ++i) likelihood += p.w[i] * gain[i];
    const bool done = likelihood - fit.log_likelihood < 1e-3;
    fit.log_likelihood = likelihood;
    const size_t before = fit.shares.size();
    drop_small(p, fit);
    if (done && fit.shares.size() == before) break;
  }
  return fit;
}

}  // namespace

void NormalPart::whiten(const double* x, double* out) const {
  const auto dim = static_cast<int64_t>(mean.size());
  for (int64_t a = 0; a < dim; ++a) {
    double sum = x[a] - mean[a];
    for (int64_t b = 0; b < a; ++b) sum -= root[a * dim + b] * out[b];
    out[a] = sum / root[a * dim + a];
  }
}

std::vector<NormalPart> fit_mixture(std::span<const double> points, std::span<const double> weights, int64_t dim,
                                    int64_t most, Key key) {
  double total = 0;
  for (const double w : weights) total += w;
  std::vector<double> w(weights.begin(), weights.end());
  for (double& v : w) v /= total;
  const Points p{points.data(), w.data(), static_cast<int64_t>(w.size()), dim, total};
  Fit best;
  double best_score = -std::numeric_limits<double>::infinity();
  const auto numbers = static_cast<double>(dim + dim * (dim + 1) / 2 + 1);
  for (int64_t parts = 1; parts <= most; parts *= 2)
    for (uint64_t attempt = 0; attempt < (parts == 1 || parts > 4 ? 1 : 2); ++attempt) {
      Fit fit = expectation_maximisation(p, parts, key.child(static_cast<uint64_t>(parts)).child(attempt));
      const double score = p.effective * fit.log_likelihood -
                           0.5 * static_cast<double>(fit.shares.size()) * numbers * std::log(p.effective);
      if (score > best_score) best = std::move(fit), best_score = score;
    }
  std::vector<NormalPart> out;
  double kept = 0;
  for (const std::vector<double>& share : best.shares) {
    double sum = 0;
    for (const double s : share) sum += s;
    // Marchenko and Pastur: between these, eigenvalues of so many points may be 1.
    const double ratio = std::sqrt(static_cast<double>(dim) / std::max(1.0, sum * p.effective)),
                 low = ratio < 1 ? (1 - ratio) * (1 - ratio) : 0, high = (1 + ratio) * (1 + ratio);
    out.push_back(moments(p, share, [=](double v) { return v > low && v < high ? 1.0 : std::max(v, kLeastEigen); }));
    kept += out.back().share;
  }
  for (NormalPart& part : out) part.share /= kept;
  return out;
}

NormalPart round_part(int64_t dim, double square) {
  NormalPart out{1, std::vector<double>(static_cast<size_t>(dim)), std::vector<double>(static_cast<size_t>(dim * dim)),
                 0.5 * static_cast<double>(dim) * std::log(square)};
  for (int64_t k = 0; k < dim; ++k) out.root[static_cast<size_t>(k * dim + k)] = std::sqrt(square);
  return out;
}

NormalPart at_least_unit(const NormalPart& part) {
  const auto dim = static_cast<int64_t>(part.mean.size());
  at::Tensor root = at::empty({dim, dim}, at::kDouble);
  std::copy(part.root.begin(), part.root.end(), root.mutable_data_ptr<double>());
  return make_part(part.share, part.mean, at::matmul(root, root.t()), [](double v) { return std::max(v, 1.0); });
}

}  // namespace htfm
