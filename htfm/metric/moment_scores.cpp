#include "htfm/metric/moment_scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "htfm/base/nan.h"
#include "htfm/base/parallel.h"
#include "htfm/metric/tails.h"

namespace htfm {
namespace {

constexpr int64_t kLargest = 2000;   // rows drawn one by one; they carry the noise of high moments
using Sums = std::array<double, 4>;  // of the powers 1 to 4

/// Values of a column about its median, in units of the largest: powers neither overflow nor cancel.
class Column {
 public:
  Column(const Points& points, int64_t column) : n_(points.n) {
    std::vector<double> x(static_cast<size_t>(n_));
    for (int64_t i = 0; i < n_; ++i) x[static_cast<size_t>(i)] = points.row(i)[column];
    std::vector<double> ordered = x;
    std::nth_element(ordered.begin(), ordered.begin() + n_ / 2, ordered.end());
    const double centre = ordered[static_cast<size_t>(n_ / 2)];
    double largest = 0;
    for (double& v : x) v -= centre, largest = std::max(largest, std::abs(v));
    if (largest > 0)
      for (double& v : x) v /= largest;
    const int64_t count = std::min(n_, kLargest);
    std::nth_element(x.begin(), x.begin() + (count - 1), x.end(),
                     [](double a, double b) { return std::abs(a) > std::abs(b); });
    largest_.assign(x.begin(), x.begin() + count);
    sum_rest(std::vector<double>(x.begin() + count, x.end()));
    for (size_t p = 0; p < 4; ++p) sums_[p] = static_cast<double>(n_ - count) * rest_mean_[p];
    for (const double v : largest_) add(sums_, v);
  }

  MomentShape sample() const { return moment_shape(sums_, static_cast<double>(n_)); }

  /// A resample. The same key gives the same ranks in every column.
  MomentShape round(Key key) const {
    double z[5];
    fill_normal(key, 0, 5, z);
    const auto count = static_cast<int64_t>(largest_.size());
    const int64_t drawn = binomial_quantile(n_, static_cast<double>(count) / static_cast<double>(n_), z[4]);
    Sums sums{};
    const Key rows = key.child("rows");
    for (int64_t i = 0; i < drawn; ++i)
      add(sums, largest_[rows.below(static_cast<uint64_t>(count), static_cast<uint64_t>(i))]);
    const auto rest = static_cast<double>(n_ - drawn);
    for (size_t p = 0; p < 4; ++p) {
      double noise = 0;
      for (size_t q = 0; q <= p; ++q) noise += root_[p][q] * z[q];
      sums[p] += rest * rest_mean_[p] + std::sqrt(rest) * noise;
    }
    return moment_shape(sums, static_cast<double>(n_));
  }

 private:
  static void add(Sums& sums, double v) {
    const double square = v * v;
    sums[0] += v, sums[1] += square, sums[2] += square * v, sums[3] += square * square;
  }

  /// Means of the powers of the other rows, and the root of their covariance.
  void sum_rest(const std::vector<double>& rest) {
    if (rest.empty()) return;
    double scale = 0;
    for (const double v : rest) scale = std::max(scale, std::abs(v));
    if (!(scale > 0)) return;
    std::array<double, 8> mean{};
    for (const double v : rest) {
      double power = 1;
      for (double& m : mean) m += power *= v / scale;
    }
    for (double& m : mean) m /= static_cast<double>(rest.size());
    for (size_t p = 0; p < 4; ++p) {
      rest_mean_[p] = mean[p] * std::pow(scale, static_cast<double>(p + 1));
      for (size_t q = 0; q <= p; ++q) {  // Cholesky; powers of two values are linearly dependent
        double c = mean[p + q + 1] - mean[p] * mean[q];
        for (size_t k = 0; k < q; ++k) c -= root_[p][k] * root_[q][k];
        root_[p][q] = p == q ? std::sqrt(std::max(c, 0.0)) : root_[q][q] > 1e-9 ? c / root_[q][q] : 0.0;
      }
    }
    for (size_t p = 0; p < 4; ++p)
      for (size_t q = 0; q <= p; ++q) root_[p][q] *= std::pow(scale, static_cast<double>(p + 1));
  }

  int64_t n_;
  std::vector<double> largest_;
  Sums sums_{}, rest_mean_{};
  std::array<std::array<double, 4>, 4> root_{};
};

Scored distance_from_one(const Scored& ratio) { return magnitude({ratio.value - 1, ratio.low - 1, ratio.high - 1}); }

MomentScore score_column(const Points& real, const Points& fake, int64_t column, const BootstrapOptions& options,
                         Key key) {
  const Column a(real, column), b(fake, column);
  std::vector<double> values[6];
  const auto add = [&](const MomentShape& r, const MomentShape& f) {
    const double row[6] = {
        r.kurtosis, f.kurtosis, r.skewness, f.skewness, f.kurtosis / r.kurtosis, f.skewness / r.skewness};
    for (size_t i = 0; i < 6; ++i) values[i].push_back(row[i]);
  };
  for (int64_t r = 0; r < options.rounds; ++r) {
    const Key own = key.child(static_cast<uint64_t>(r));
    add(a.round(own.child("real")), b.round(own.child("fake")));
  }
  add(a.sample(), b.sample());
  Scored s[6];
  for (size_t i = 0; i < 6; ++i) {
    const double value = values[i].back();
    values[i].pop_back();
    s[i] = percentile_interval(std::isfinite(value) ? value : kNan, std::move(values[i]), options.level);
  }
  return {s[0], s[1], s[2], s[3], distance_from_one(s[4]), distance_from_one(s[5])};
}

}  // namespace

MomentShape moment_shape(const std::array<double, 4>& sums, double n) {
  const double m = sums[0] / n, a2 = sums[1] / n, a3 = sums[2] / n, a4 = sums[3] / n;
  const double m2 = a2 - m * m, m3 = a3 - 3 * m * a2 + 2 * m * m * m,
               m4 = a4 - 4 * m * a3 + 6 * m * m * a2 - 3 * m * m * m * m;
  if (!(m2 > 1e-14 * a2)) return {};  // without spread but for rounding
  return {m3 / (m2 * std::sqrt(m2)), m4 / (m2 * m2)};
}

MomentScores moment_scores(const Points& real, const Points& fake, const BootstrapOptions& options) {
  check_same_dimension(real, fake, "moment_scores");
  check_options(options);
  MomentScores out;
  out.columns.resize(static_cast<size_t>(real.dim));
  const Key key = Key(options.seed).child("moment_scores");
  parallel_for(real.dim,
               [&](int64_t k) { out.columns[static_cast<size_t>(k)] = score_column(real, fake, k, options, key); });
  std::vector<Scored> kr, sr;
  for (const MomentScore& c : out.columns) kr.push_back(c.kr), sr.push_back(c.sr);
  out.kr = mean_of(kr), out.sr = mean_of(sr);
  return out;
}

}  // namespace htfm
