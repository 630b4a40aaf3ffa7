#include "htfm/sample/fitted.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace htfm {

namespace {

constexpr int64_t kFine = 128;    // steps of the fine integration
constexpr double kFinePower = 2;  // its grid is finer near the data
constexpr double kRidge = 1e-3;   // draws the weights towards Adams and Bashforth's where the trajectories do not decide

// Fine trajectories of some rows: positions and velocities, with cubic Hermite interpolation between.
class Trajectories {
 public:
  Trajectories(const Velocity& v, int64_t rows, int64_t dim, const double* y0) : rows_(rows), size_(rows * dim), time_(rows) {
    position_.assign(1, {y0, y0 + size_});
    std::vector<double> slope(static_cast<size_t>(size_)), middle(slope), y(slope);
    for (int64_t i = 0;; ++i) {
      at(v, position_.back().data(), fine_time(i), slope.data());
      velocity_.push_back(slope);
      if (i == kFine) break;
      const double h = fine_time(i + 1) - fine_time(i);
      for (int64_t k = 0; k < size_; ++k) y[k] = position_.back()[k] + h / 2 * slope[k];
      at(v, y.data(), fine_time(i) + h / 2, middle.data());
      for (int64_t k = 0; k < size_; ++k) y[k] = position_.back()[k] + h * middle[k];
      position_.push_back(y);
    }
  }
  const std::vector<double>& end() const { return position_.back(); }
  void position(double u, std::vector<double>& out) const {
    const double s = static_cast<double>(kFine) * (1 - std::pow(1 - u, 1 / kFinePower));
    const auto i = std::min<int64_t>(static_cast<int64_t>(s), kFine - 1);
    const double h = fine_time(i + 1) - fine_time(i), x = std::clamp((u - fine_time(i)) / h, 0.0, 1.0);
    const double a = (1 + 2 * x) * (1 - x) * (1 - x), b = x * (1 - x) * (1 - x) * h, c = x * x * (3 - 2 * x), d = x * x * (x - 1) * h;
    out.resize(static_cast<size_t>(size_));
    for (int64_t k = 0; k < size_; ++k)
      out[k] = a * position_[i][k] + b * velocity_[i][k] + c * position_[i + 1][k] + d * velocity_[i + 1][k];
  }
  void at(const Velocity& v, const double* y, double u, double* out) {
    std::fill(time_.begin(), time_.end(), u);
    v(y, time_.data(), out);
  }

 private:
  static double fine_time(int64_t i) { return i == kFine ? 1 : 1 - std::pow(1 - static_cast<double>(i) / kFine, kFinePower); }
  int64_t rows_, size_;
  std::vector<double> time_;
  std::vector<std::vector<double>> position_, velocity_;
};

// Adams and Bashforth's weights for the step from u[n] to u[n+1]: the integral of the polynomial through the last `order` slopes.
std::vector<double> adams_weights(const std::vector<double>& u, int64_t n, int64_t order) {
  const double h = u[n + 1] - u[n];
  if (order == 1) return {h};
  const double p = u[n] - u[n - 1];
  if (order == 2) return {h + h * h / (2 * p), -h * h / (2 * p)};
  const double q = u[n] - u[n - 2];
  // Lagrange polynomials in s = u - u[n] through 0, -p, -q, integrated over [0, h].
  const double i1 = h * h / 2, i2 = h * h * h / 3;
  return {(i2 + (p + q) * i1 + p * q * h) / (p * q), (i2 + q * i1) / (-p * (q - p)), (i2 + p * i1) / (q * (q - p))};
}

// The least-squares weights of `slopes` for `target`, drawn towards `prior`.
std::vector<double> fit_weights(const std::vector<const std::vector<double>*>& slopes, const std::vector<double>& target,
                                const std::vector<double>& prior) {
  const size_t m = slopes.size();
  std::array<std::array<double, kMultistepOrder + 1>, kMultistepOrder> a{};
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < m; ++j)
      for (size_t k = 0; k < target.size(); ++k) a[i][j] += (*slopes[i])[k] * (*slopes[j])[k];
    for (size_t k = 0; k < target.size(); ++k) a[i][m] += (*slopes[i])[k] * target[k];
  }
  for (size_t i = 0; i < m; ++i) {
    const double ridge = kRidge * a[i][i] + 1e-300;
    a[i][i] += ridge;
    a[i][m] += ridge * prior[i];
  }
  for (size_t i = 0; i < m; ++i)  // Gauss; the ridge keeps the pivots positive
    for (size_t r = i + 1; r < m; ++r) {
      const double f = a[r][i] / a[i][i];
      for (size_t c = i; c <= m; ++c) a[r][c] -= f * a[i][c];
    }
  std::vector<double> w(m);
  for (size_t i = m; i-- > 0;) {
    w[i] = a[i][m];
    for (size_t c = i + 1; c < m; ++c) w[i] -= a[i][c] * w[c];
    w[i] /= a[i][i];
  }
  return w;
}

// Runs a grid over the trajectories with weights fitted step by step to where the fine ones are, each step from where this
// solver has come to; returns the mean distance at the end.
double follow(Trajectories& fine, const Velocity& v, const double* y0, std::vector<double>& y, MultistepPlan& plan, bool fit) {
  const auto steps = static_cast<int64_t>(plan.times.size()) - 1;
  y.assign(y0, y0 + fine.end().size());
  std::vector<std::vector<double>> slopes(static_cast<size_t>(kMultistepOrder), std::vector<double>(y.size()));
  std::vector<double> target;
  plan.weights.clear();
  for (int64_t n = 0; n < steps; ++n) {
    std::rotate(slopes.rbegin(), slopes.rbegin() + 1, slopes.rend());
    fine.at(v, y.data(), plan.times[n], slopes[0].data());
    const int64_t order = std::min(n + 1, fit ? kMultistepOrder : int64_t{2});
    std::vector<double> w = adams_weights(plan.times, n, std::min<int64_t>(order, 2));
    w.resize(static_cast<size_t>(order), 0.0);
    if (fit) {
      fine.position(plan.times[n + 1], target);
      for (size_t k = 0; k < y.size(); ++k) target[k] -= y[k];
      std::vector<const std::vector<double>*> newest;
      for (int64_t j = 0; j < order; ++j) newest.push_back(&slopes[j]);
      w = fit_weights(newest, target, w);
    }
    for (int64_t j = 0; j < order; ++j)
      for (size_t k = 0; k < y.size(); ++k) y[k] += w[j] * slopes[j][k];
    plan.weights.push_back(std::move(w));
  }
  double sum = 0;
  for (size_t k = 0; k < y.size(); ++k) sum += std::abs(y[k] - fine.end()[k]);
  return sum / static_cast<double>(y.size());
}

std::vector<double> power_grid(int64_t steps, double power) {
  std::vector<double> u(static_cast<size_t>(steps + 1));
  for (int64_t i = 0; i <= steps; ++i) u[i] = i == steps ? 1 : 1 - std::pow(1 - static_cast<double>(i) / static_cast<double>(steps), power);
  return u;
}

}  // namespace

MultistepPlan fit_multistep(const Velocity& velocity, int64_t rows, int64_t dim, const double* y0, int64_t steps) {
  Trajectories fine(velocity, rows, dim, y0);
  std::vector<double> y;
  MultistepPlan best;
  best.error = best.plain_error = INFINITY;
  for (const double power : {1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0}) {
    MultistepPlan plan;
    plan.times = power_grid(steps, power);
    best.plain_error = std::min(best.plain_error, follow(fine, velocity, y0, y, plan, false));
    plan.error = follow(fine, velocity, y0, y, plan, true);
    const double plain = best.plain_error;
    if (plan.error < best.error) best = plan;
    best.plain_error = plain;
  }
  // Each inner time moves as long as that helps, in ever smaller shares of its gaps.
  for (double share = 0.3; share > 0.05; share /= 2)
    for (int64_t n = 1; n < steps; ++n)
      for (const double side : {-1.0, 1.0}) {
        MultistepPlan plan;
        plan.times = best.times;
        const double gap = side < 0 ? best.times[n] - best.times[n - 1] : best.times[n + 1] - best.times[n];
        plan.times[n] += side * share * gap;
        plan.error = follow(fine, velocity, y0, y, plan, true);
        plan.plain_error = best.plain_error;
        if (plan.error < best.error) {
          best = std::move(plan);
          break;
        }
      }
  return best;
}

SolverRun run_multistep(const MultistepPlan& plan, const Velocity& velocity, int64_t rows, int64_t dim, double* y) {
  const auto steps = static_cast<int64_t>(plan.weights.size()), size = rows * dim;
  std::vector<std::vector<double>> slopes(static_cast<size_t>(kMultistepOrder), std::vector<double>(static_cast<size_t>(size)));
  std::vector<double> time(static_cast<size_t>(rows));
  for (int64_t n = 0; n < steps; ++n) {
    std::rotate(slopes.rbegin(), slopes.rbegin() + 1, slopes.rend());
    std::fill(time.begin(), time.end(), plan.times[n]);
    velocity(y, time.data(), slopes[0].data());
    for (size_t j = 0; j < plan.weights[n].size(); ++j)
      for (int64_t k = 0; k < size; ++k) y[k] += plan.weights[n][j] * slopes[j][k];
  }
  return {steps, steps};
}

}  // namespace htfm
