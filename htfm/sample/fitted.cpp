#include "htfm/sample/fitted.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "htfm/base/parallel.h"
#include "htfm/base/random.h"
#include "htfm/stat/triangular.h"

namespace htfm {

namespace {

constexpr int64_t kFine = 128;        // steps of the fine integration
constexpr double kFinePower = 2;      // its grid is finer near the data
constexpr int64_t kMostRefined = 24;  // steps of a plan whose times and weights are refined together
constexpr double kDifference = 1e-4;  // of the derivatives
constexpr double kRidge = 1e-5;  // draws the weights towards Adams and Bashforth's where the trajectories do not decide

// Fine trajectories of some rows: positions and velocities, with cubic Hermite interpolation between.
class Trajectories {
 public:
  Trajectories(const Velocity& v, int64_t rows, int64_t dim, const double* y0)
      : rows_(rows), size_(rows * dim), time_(rows) {
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
    const double a = (1 + 2 * x) * (1 - x) * (1 - x), b = x * (1 - x) * (1 - x) * h, c = x * x * (3 - 2 * x),
                 d = x * x * (x - 1) * h;
    out.resize(static_cast<size_t>(size_));
    for (int64_t k = 0; k < size_; ++k)
      out[k] = a * position_[i][k] + b * velocity_[i][k] + c * position_[i + 1][k] + d * velocity_[i + 1][k];
  }
  void at(const Velocity& v, const double* y, double u, double* out) {
    std::fill(time_.begin(), time_.end(), u);
    v(y, time_.data(), out);
  }

 private:
  static double fine_time(int64_t i) {
    return i == kFine ? 1 : 1 - std::pow(1 - static_cast<double>(i) / kFine, kFinePower);
  }
  int64_t rows_, size_;
  std::vector<double> time_;
  std::vector<std::vector<double>> position_, velocity_;
};

// How far the law of the end points is from that of the fine ones, at scales from the whole set down to 1/30 of it: the
// mean squared difference of their characteristic functions over random frequencies. Both start from the same points,
// so their own scatter cancels. A law is what a sampler owes; single trajectories near a border between two modes may
// end in either.
class Criterion {
 public:
  Criterion(int64_t rows, int64_t dim, const double* scale, const std::vector<double>& fine)
      : rows_(rows), dim_(dim), scale_(scale, scale + rows) {
    const Key key = Key(0).child("frequencies");
    frequency_.resize(static_cast<size_t>(kFrequencies * dim));
    fill_normal(key, 0, kFrequencies * dim, frequency_.data());
    for (int64_t f = 0; f < kFrequencies; ++f) {
      double square = 0;
      for (int64_t k = 0; k < dim; ++k) square += frequency_[f * dim + k] * frequency_[f * dim + k];
      const double size = std::pow(kHighest, key.child("size").uniform(static_cast<uint64_t>(f))) / std::sqrt(square);
      for (int64_t k = 0; k < dim; ++k) frequency_[f * dim + k] *= size;
    }
    fine_ = transform(fine);
  }
  /// The differences, one for each real and imaginary part.
  std::vector<double> operator()(const std::vector<double>& y) const {
    std::vector<double> out = transform(y);
    for (size_t i = 0; i < out.size(); ++i) out[i] -= fine_[i];
    return out;
  }

 private:
  static constexpr int64_t kFrequencies = 256;
  static constexpr double kHighest = 30;
  std::vector<double> transform(const std::vector<double>& y) const {
    std::vector<double> out(static_cast<size_t>(2 * kFrequencies), 0.0);
    parallel_for(kFrequencies, [&](int64_t f) {
      for (int64_t i = 0; i < rows_; ++i) {
        double phase = 0;
        for (int64_t k = 0; k < dim_; ++k) phase += frequency_[f * dim_ + k] * y[i * dim_ + k];
        phase *= scale_[i];
        out[2 * f] += std::cos(phase) / static_cast<double>(rows_);
        out[2 * f + 1] += std::sin(phase) / static_cast<double>(rows_);
      }
    });
    return out;
  }
  int64_t rows_, dim_;
  std::vector<double> scale_, frequency_, fine_;
};

// Adams and Bashforth's weights of order 2 for the step from u[n] to u[n+1]; Euler's for the first.
std::vector<double> adams_weights(const std::vector<double>& u, int64_t n) {
  const double h = u[n + 1] - u[n];
  if (n == 0) return {h};
  const double p = u[n] - u[n - 1];
  return {h + h * h / (2 * p), -h * h / (2 * p)};
}

// The least-squares weights of `slopes` for `target`, drawn towards `prior`.
std::vector<double> fit_weights(const std::vector<const std::vector<double>*>& slopes,
                                const std::vector<double>& target, const std::vector<double>& prior) {
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

double root_mean_square(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum / static_cast<double>(v.size()));
}

// What the plans are tried on.
class Trial {
 public:
  Trial(const Velocity& v, int64_t rows, int64_t dim, const double* y0, const double* scale)
      : v_(v),
        rows_(rows),
        dim_(dim),
        y0_(y0, y0 + rows * dim),
        fine_(v, rows, dim, y0),
        criterion_(rows, dim, scale, fine_.end()) {}

  // The differences of the laws under a plan.
  std::vector<double> residual(const MultistepPlan& plan) {
    y_ = y0_;
    run_multistep(plan, v_, rows_, dim_, y_.data());
    return criterion_(y_);
  }

  // Runs a grid with weights fitted step by step to where the fine trajectories are, each step from where this solver
  // has come to; or with Adams and Bashforth's.
  void set_weights(MultistepPlan& plan, bool fit) {
    const auto steps = static_cast<int64_t>(plan.times.size()) - 1;
    y_ = y0_;
    std::vector<std::vector<double>> slopes(static_cast<size_t>(kMultistepOrder), std::vector<double>(y_.size()));
    std::vector<double> target;
    plan.weights.clear();
    for (int64_t n = 0; n < steps; ++n) {
      std::rotate(slopes.rbegin(), slopes.rbegin() + 1, slopes.rend());
      fine_.at(v_, y_.data(), plan.times[n], slopes[0].data());
      const int64_t order = std::min(n + 1, kMultistepOrder);
      std::vector<double> w = adams_weights(plan.times, n);
      w.resize(static_cast<size_t>(order), 0.0);
      if (fit) {
        fine_.position(plan.times[n + 1], target);
        for (size_t k = 0; k < y_.size(); ++k) target[k] -= y_[k];
        std::vector<const std::vector<double>*> newest;
        for (int64_t j = 0; j < order; ++j) newest.push_back(&slopes[j]);
        w = fit_weights(newest, target, w);
      }
      for (int64_t j = 0; j < order; ++j)
        for (size_t k = 0; k < y_.size(); ++k) y_[k] += w[j] * slopes[j][k];
      plan.weights.push_back(std::move(w));
    }
    plan.error = root_mean_square(criterion_(y_));
  }

 private:
  const Velocity& v_;
  int64_t rows_, dim_;
  std::vector<double> y0_, y_;
  Trajectories fine_;
  Criterion criterion_;
};

// A plan as one vector: inner times, then all weights.
std::vector<double> parameters(const MultistepPlan& plan) {
  std::vector<double> p(plan.times.begin() + 1, plan.times.end() - 1);
  for (const auto& w : plan.weights) p.insert(p.end(), w.begin(), w.end());
  return p;
}

MultistepPlan with_parameters(MultistepPlan plan, const std::vector<double>& p) {
  size_t at = 0;
  for (size_t n = 1; n + 1 < plan.times.size(); ++n) plan.times[n] = p[at++];
  for (auto& w : plan.weights)
    for (double& x : w) x = p[at++];
  return plan;
}

bool ascending(const std::vector<double>& times) {
  for (size_t n = 1; n < times.size(); ++n)
    if (!(times[n] - times[n - 1] > 1e-4)) return false;
  return true;
}

// In an order of its own: a library of matrices chooses one by the processor, and samples would depend on it.
double product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

// Levenberg and Marquardt on times and weights, derivatives by differences.
void refine(Trial& trial, MultistepPlan& plan, int rounds) {
  double damping = 1e-2;
  std::vector<double> p = parameters(plan), r = trial.residual(plan);
  plan.error = root_mean_square(r);
  const auto m = static_cast<int64_t>(p.size());
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::vector<double>> jacobian;  // a row for each parameter
    for (int64_t i = 0; i < m; ++i) {
      std::vector<double> q = p;
      q[i] += kDifference;
      std::vector<double> moved = trial.residual(with_parameters(plan, q));
      for (size_t k = 0; k < r.size(); ++k) moved[k] = (moved[k] - r[k]) / kDifference;
      jacobian.push_back(std::move(moved));
    }
    std::vector<double> normal(static_cast<size_t>(m * m)), gradient(static_cast<size_t>(m));
    double mean_square = 0;  // of the diagonal
    for (int64_t i = 0; i < m; ++i) {
      gradient[i] = product(jacobian[i], r);
      for (int64_t j = 0; j <= i; ++j) normal[i * m + j] = product(jacobian[i], jacobian[j]);
      mean_square += normal[i * m + i] / static_cast<double>(m);
    }
    bool better = false;
    for (int attempt = 0; attempt < 6 && !better; ++attempt, damping *= better ? 1 : 4) {
      std::vector<double> system = normal, root, step = gradient;
      for (int64_t i = 0; i < m; ++i) system[i * m + i] += damping * mean_square;
      if (!cholesky(system, m, root)) continue;
      solve_lower(root, m, step.data(), step.data());
      solve_upper(root, m, step.data(), step.data());
      std::vector<double> q = p;
      for (int64_t i = 0; i < m; ++i) q[i] -= step[i];
      MultistepPlan next = with_parameters(plan, q);
      if (!ascending(next.times)) continue;
      const std::vector<double> moved = trial.residual(next);
      next.error = root_mean_square(moved);
      if (!(next.error < plan.error)) continue;
      better = true;
      damping = std::max(damping / 4, 1e-6);
      plan = std::move(next), p = q, r = moved;
    }
    if (!better) break;
  }
}

std::vector<double> power_grid(int64_t steps, double power) {
  std::vector<double> u(static_cast<size_t>(steps + 1));
  for (int64_t i = 0; i <= steps; ++i)
    u[i] = i == steps ? 1 : 1 - std::pow(1 - static_cast<double>(i) / static_cast<double>(steps), power);
  return u;
}

}  // namespace

MultistepPlan fit_multistep(const Velocity& velocity, int64_t rows, int64_t dim, const double* y0, const double* scale,
                            int64_t steps) {
  Trial trial(velocity, rows, dim, y0, scale);
  MultistepPlan best;
  best.error = INFINITY;
  double plain_error = INFINITY;
  for (const double power : {1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0}) {
    MultistepPlan plan;
    plan.times = power_grid(steps, power);
    trial.set_weights(plan, false);
    plain_error = std::min(plain_error, plan.error);
    trial.set_weights(plan, true);
    if (plan.error < best.error) best = std::move(plan);
  }
  // With many steps a power grid is good enough.
  if (steps > 1 && steps <= kMostRefined) refine(trial, best, steps <= 12 ? 8 : 3);
  best.plain_error = plain_error;
  return best;
}

SolverRun run_multistep(const MultistepPlan& plan, States& states) {
  const auto steps = static_cast<int64_t>(plan.weights.size());
  std::vector<int> slopes;
  for (int64_t j = 0; j < kMultistepOrder; ++j) slopes.push_back(states.add());
  std::vector<double> time(static_cast<size_t>(states.rows()));
  for (int64_t n = 0; n < steps; ++n) {
    std::rotate(slopes.rbegin(), slopes.rbegin() + 1, slopes.rend());
    std::fill(time.begin(), time.end(), plan.times[n]);
    states.evaluate(0, time.data(), slopes[0]);
    std::vector<States::Term> terms{{0}};
    for (size_t j = 0; j < plan.weights[n].size(); ++j) terms.push_back({slopes[j], plan.weights[n][j]});
    states.combine(0, terms);
  }
  return {steps, steps};
}

SolverRun run_multistep(const MultistepPlan& plan, const Velocity& velocity, int64_t rows, int64_t dim, double* y) {
  HostStates states(velocity, rows, dim, y);
  return run_multistep(plan, states);
}

}  // namespace htfm
