#include "htfm/schedule/learned_schedule.h"

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/schedule/clock_schedule.h"

namespace htfm {

namespace {

constexpr int64_t kMostDegree = 12;
constexpr double kShare = 0.95;  // of what the control points could move before two of them meet

double factorial(int64_t n) { return n < 2 ? 1 : static_cast<double>(n) * factorial(n - 1); }

// A path and its derivatives in t.
struct Jet {
  double value, first, second;
};

// t (1-t) A(t).
Jet bent(double t, const double* a, int64_t size) {
  double v = 0, d = 0, dd = 0;
  for (int64_t k = size; k-- > 0;) dd = dd * t + 2 * d, d = d * t + v, v = v * t + a[k];
  const double w = t * (1 - t), dw = 1 - 2 * t;
  return {w * v, dw * v + w * d, -2 * v + 2 * dw * d + w * dd};
}

}  // namespace

LearnedSchedule::LearnedSchedule(const ScheduleSpec& s, bool warp) : degree_(s.learn_degree), curves_(warp ? 1 : 2) {
  if (s.coordinates != "normalised")
    throw InputError("[path.learn] expected path.coordinates = normalised, whose range is known, got '{}'",
                     s.coordinates);
  for (const auto& [key, text] : {std::pair{"path.a", s.a}, {"path.b", s.b}, {"path.c", s.c}})
    if (!text.empty())
      throw InputError("[{}] expected none with path.learn, which starts with the straight line, got '{}'", key, text);
  if (s.lambda != ScheduleSpec().lambda)
    throw InputError("[path.lambda] expected '0 1' with path.learn, got '{}'", s.lambda);
  if (degree_ < 2 || degree_ > kMostDegree)
    throw InputError("[path.learn_degree] expected a degree from 2 to {}, got {}", kMostDegree, degree_);
  std::string listed;
  for (const char letter : s.learn_words)
    listed += letter == ' ' || letter == ',' ? std::string(": 0;") : std::string(1, letter);
  for (const std::string& word : parse_curve("path.learn_words", listed + ": 0").words) {
    names_.push_back(word.empty() ? "1" : word);
    coordinate_.push_back(word.empty() ? -1 : static_cast<int64_t>(words_.size()));
    // All words with these letters add up to 1 / (n_t! n_c!), and none is negative for a clock that does not fall.
    const int64_t clock = std::count(word.begin(), word.end(), 'c'), time = static_cast<int64_t>(word.size()) - clock;
    zeta_scale_.push_back(2 * factorial(clock) * factorial(time));
    if (!word.empty()) words_.push_back(word);
  }
  for (int64_t k = 1; k < degree_; ++k) {
    TimePolynomial b({factorial(degree_) / factorial(k) / factorial(degree_ - k)});
    for (int64_t i = 1; i < k; ++i) b = b * TimePolynomial({0, 1});
    for (int64_t i = k + 1; i < degree_; ++i) b = b * TimePolynomial({1, -1});
    basis_.push_back(std::move(b));
  }
  set(std::vector<double>(static_cast<size_t>(size()), 0.0));
}

void LearnedSchedule::set(std::span<const double> theta) {
  if (static_cast<int64_t>(theta.size()) != size())
    throw Error("[path.learn] expected {} parameters of the curves, got {}", size(), theta.size());
  theta_.assign(theta.begin(), theta.end());
  v_ = theta_;
  const int64_t w = words_in_all();
  const double bound = kShare / (2 * static_cast<double>(degree_));
  for (int64_t row = 0; row < size() / w; ++row) {
    double square = 0;
    for (int64_t k = 0; k < w; ++k) square += theta_[row * w + k] * theta_[row * w + k];
    for (int64_t k = 0; k < w; ++k) v_[row * w + k] *= bound / std::sqrt(1 + static_cast<double>(w) * square);
  }
}

double LearnedSchedule::zeta(int64_t word, std::span<const double> coordinates) const {
  return coordinate_[word] < 0 ? 1 : zeta_scale_[word] * coordinates[coordinate_[word]] - 1;
}

void LearnedSchedule::curve_of(int64_t curve, std::span<const double> coordinates, double* a) const {
  const int64_t w = words_in_all(), rows = degree_ - 1;
  std::fill_n(a, rows, 0.0);
  const double* v = v_.data() + curve * rows * w;
  for (int64_t k = 0; k < rows; ++k) {
    double d = 0;
    for (int64_t i = 0; i < w; ++i) d += v[k * w + i] * zeta(i, coordinates);
    for (int64_t j = 0; j < rows; ++j) a[j] += d * basis_[k].coefficients()[j];
  }
}

Coefficients LearnedSchedule::at(double t, std::span<const double> coordinates) const {
  double a[kMostDegree];
  curve_of(0, coordinates, a);
  const Jet alpha = bent(t, a, degree_ - 1);
  if (curves_ == 1) return {t + alpha.value, 1 - t - alpha.value, 1 + alpha.first, -1 - alpha.first};
  curve_of(1, coordinates, a);
  const Jet beta = bent(t, a, degree_ - 1);
  return {t + alpha.value, 1 - t + beta.value, 1 + alpha.first, -1 + beta.first};
}

double LearnedSchedule::time_of(double ratio, std::span<const double> coordinates) const {
  return time_of_ratio(*this, ratio, coordinates);
}

void LearnedSchedule::add_speed_gradient(double weight, double t, std::span<const double> coordinates,
                                         std::span<double> sums) const {
  const int64_t w = words_in_all(), rows = degree_ - 1;
  double c[kMostDegree];
  curve_of(0, coordinates, c);
  const Jet da = bent(t, c, rows);
  Jet db{-da.value, -da.first, -da.second};
  if (curves_ == 2) {
    curve_of(1, coordinates, c);
    db = bent(t, c, rows);
  }
  const Jet a{t + da.value, 1 + da.first, da.second}, b{1 - t + db.value, -1 + db.first, db.second};
  // q = alpha/beta, q' = g / beta^2.
  const double g = a.first * b.value - a.value * b.first;
  const double rate = (a.second * b.value - a.value * b.second) / g - 2 * b.first / b.value;  // d log q' / dt
  for (int64_t k = 0; k < rows; ++k) {
    const Jet e = bent(t, basis_[k].coefficients().data(), rows);
    // At a fixed ratio the time moves by -(dq/dv) / q'.
    const double by_alpha = (e.first * b.value - e.value * b.first) / g - rate * e.value * b.value / g;
    const double by_beta =
        (a.first * e.value - a.value * e.first) / g - 2 * e.value / b.value + rate * a.value * e.value / g;
    for (int64_t i = 0; i < w; ++i) {
      const double z = weight * zeta(i, coordinates);
      sums[k * w + i] += z * (curves_ == 1 ? by_alpha - by_beta : by_alpha);
      if (curves_ == 2) sums[(rows + k) * w + i] += z * by_beta;
    }
  }
}

std::vector<double> LearnedSchedule::in_parameters(std::span<const double> sums) const {
  const int64_t w = words_in_all();
  const double bound = kShare / (2 * static_cast<double>(degree_));
  std::vector<double> out(static_cast<size_t>(size()));
  for (int64_t row = 0; row < size() / w; ++row) {
    const double *theta = theta_.data() + row * w, *g = sums.data() + row * w;
    double square = 0, along = 0;
    for (int64_t k = 0; k < w; ++k) square += theta[k] * theta[k], along += theta[k] * g[k];
    const double norm = 1 + static_cast<double>(w) * square;
    for (int64_t k = 0; k < w; ++k)
      out[row * w + k] = bound * (g[k] - static_cast<double>(w) * theta[k] * along / norm) / std::sqrt(norm);
  }
  return out;
}

std::string LearnedSchedule::text(int64_t curve) const {
  const int64_t w = words_in_all(), rows = degree_ - 1;
  std::vector<TimePolynomial> own(static_cast<size_t>(w));
  TimePolynomial constant;
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t i = 0; i < w; ++i) {
      const TimePolynomial part = v_[(curve * rows + k) * w + i] * basis_[k];
      if (coordinate_[i] < 0) {
        constant = constant + part;
        continue;
      }
      own[i] = own[i] + zeta_scale_[i] * part;
      constant = constant + -1.0 * part;
    }
  const auto written = [](const std::string& name, const TimePolynomial& p) {
    std::string out = name + ":";
    for (const double c : p.coefficients()) out += fmt::format(" {}", c);
    return out;
  };
  std::string out = written("1", constant);
  for (int64_t i = 0; i < w; ++i)
    if (coordinate_[i] >= 0) out += "; " + written(names_[i], own[i]);
  return out;
}

}  // namespace htfm
