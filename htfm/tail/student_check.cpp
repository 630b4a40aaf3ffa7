#include "htfm/tail/student_check.h"

#include <algorithm>
#include <cmath>

#include "htfm/base/parallel.h"
#include "htfm/stat/directions.h"
#include "htfm/stat/maximise.h"

namespace htfm {

namespace {

constexpr int64_t kMostTested = 2000;  // rows that the test looks at: more would reject laws that are as good as right
constexpr int64_t kDraws = 59;

double radial_likelihood(double nu, double log_scale, const std::vector<double>& squares, int64_t dim) {
  const double d = static_cast<double>(dim), n = static_cast<double>(squares.size()),
               inverse = std::exp(-log_scale) / nu;
  double sum = 0;
  for (const double s : squares) sum += std::log1p(s * inverse);
  return n * (std::lgamma((nu + d) / 2) - std::lgamma(nu / 2) - d / 2 * (std::log(nu) + log_scale)) -
         (nu + d) / 2 * sum;
}

double best_log_scale(double nu, const std::vector<double>& squares, int64_t dim, double tolerance) {
  return maximise([&](double s) { return radial_likelihood(nu, s, squares, dim); }, -1.5, 1.5, tolerance);
}

// Freedom and scale with the largest likelihood of squared distances.
struct Radial {
  double nu, log_scale;
};
Radial fit_radial(const std::vector<double>& squares, int64_t dim, double tolerance) {
  const auto profile = [&](double log_nu) {
    const double nu = std::exp(log_nu);
    return radial_likelihood(nu, best_log_scale(nu, squares, dim, tolerance), squares, dim);
  };
  const double nu =
      std::exp(maximise(profile, std::log(StudentT::kLeastFreedom), std::log(StudentT::kMostFreedom), tolerance));
  return {nu, best_log_scale(nu, squares, dim, tolerance)};
}

double anderson_darling(std::vector<double> squares, const Radial& law, int64_t dim) {
  const double unit = law.nu * std::exp(law.log_scale), a = static_cast<double>(dim) / 2, b = law.nu / 2;
  std::sort(squares.begin(), squares.end());
  const size_t n = squares.size();
  double sum = 0;
  std::vector<double> lower(n), upper(n);
  for (size_t i = 0; i < n; ++i) {
    const double x = squares[i] / (unit + squares[i]), y = unit / (unit + squares[i]);
    lower[i] = std::log(std::max(beta_distribution(x, a, b), 1e-300));
    upper[i] = std::log(std::max(beta_distribution(y, b, a), 1e-300));  // the other tail, with all its digits
  }
  for (size_t i = 0; i < n; ++i) sum += (2 * static_cast<double>(i) + 1) * (lower[i] + upper[n - 1 - i]);
  return -static_cast<double>(n) - sum / static_cast<double>(n);
}

// The nu at which the profile likelihood has lost 1.92, between the best one and `end`.
double interval_end(const std::vector<double>& squares, int64_t dim, const Radial& best, double end) {
  const double top = radial_likelihood(best.nu, best.log_scale, squares, dim) - 1.9207;
  double inside = std::log(best.nu), outside = std::log(end);
  for (int round = 0; round < 12; ++round) {
    const double middle = (inside + outside) / 2, nu = std::exp(middle);
    (radial_likelihood(nu, best_log_scale(nu, squares, dim, 1e-3), squares, dim) > top ? inside : outside) = middle;
  }
  return std::exp((inside + outside) / 2);
}

// The directions of the farthest tenth of the rows, in units of the law's scatter.
std::vector<double> far_directions(const double* rows, int64_t n, const StudentT& law) {
  const int64_t dim = law.dim(), k = std::min(n, std::max<int64_t>(50, n / 10));
  std::vector<std::pair<double, int64_t>> order(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) order[i] = {-law.squared_distance(rows + i * dim), i};
  std::partial_sort(order.begin(), order.begin() + k, order.end());
  std::vector<double> out(static_cast<size_t>(k * dim));
  for (int64_t i = 0; i < k; ++i) {
    double* u = out.data() + i * dim;
    const double length = std::sqrt(law.whiten(rows + order[i].second * dim, u));
    for (int64_t j = 0; j < dim && length > 0; ++j) u[j] /= length;
  }
  return out;
}

}  // namespace

double beta_distribution(double x, double a, double b) {
  if (!(x > 0)) return 0;
  if (!(x < 1)) return 1;
  // The fraction converges fast below the mean.
  if (x > (a + 1) / (a + b + 2)) return 1 - beta_distribution(1 - x, b, a);
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x)) / a;
  constexpr double tiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < tiny ? tiny : d);
  double fraction = d;
  for (int m = 1; m < 500; ++m) {
    const double k = m;
    const auto step = [&](double term) {
      d = 1 + term * d, c = 1 + term / c;
      if (std::abs(d) < tiny) d = tiny;
      if (std::abs(c) < tiny) c = tiny;
      d = 1 / d;
      fraction *= d * c;
      return std::abs(d * c - 1);
    };
    step(k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k)));
    if (step(-(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))) < 1e-14) break;
  }
  return front * fraction;
}

StudentCheck check_student_t(const at::Tensor& rows, Key key) {
  const int64_t dim = rows.size(1), n = std::min(rows.size(0), kMostTested);
  const at::Tensor all = rows.to(at::kDouble).contiguous();
  StudentCheck out;
  out.law = fit_student_t(all);
  out.even = evenly_spread(far_directions(all.const_data_ptr<double>(), rows.size(0), out.law), dim);
  std::vector<double> squares;
  for (int64_t i = 0; i < n; ++i)
    squares.push_back(out.law.squared_distance(all.const_data_ptr<double>() + i * rows.size(0) / n * dim));
  const Radial best = fit_radial(squares, dim, 1e-3);
  out.freedom = {interval_end(squares, dim, best, StudentT::kLeastFreedom),
                 interval_end(squares, dim, best, StudentT::kMostFreedom)};
  const double statistic = anderson_darling(squares, best, dim);
  std::vector<char> larger(kDraws, 0);
  parallel_for(kDraws, [&](int64_t draw) {
    std::vector<double> own(static_cast<size_t>(n)), chi(static_cast<size_t>(n)), mixing(static_cast<size_t>(n));
    const Key k = key.child(static_cast<uint64_t>(draw));
    fill_log_gamma_draw(k.child("radius"), static_cast<double>(dim) / 2, 0, n, chi.data());
    fill_log_gamma_draw(k.child("mixing"), best.nu / 2, 0, n, mixing.data());
    for (int64_t i = 0; i < n; ++i) own[i] = best.nu * std::exp(chi[i] - mixing[i]);
    larger[draw] = anderson_darling(own, fit_radial(own, dim, 0.02), dim) >= statistic;
  });
  out.p_value =
      (1 + static_cast<double>(std::count(larger.begin(), larger.end(), 1))) / static_cast<double>(kDraws + 1);
  return out;
}

}  // namespace htfm
