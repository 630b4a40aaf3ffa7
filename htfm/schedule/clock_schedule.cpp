#include "htfm/schedule/clock_schedule.h"

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/schedule/learned_schedule.h"
#include "htfm/schedule/time_polynomial.h"

namespace htfm {

namespace {

// A linear functional of a signature whose coefficients are polynomials in t: <a(t), phi>.
class Functional {
 public:
  // Words that are not yet in `words` are added to it.
  Functional(const CoefficientCurve& curve, std::vector<std::string>& words) {
    for (size_t i = 0; i < curve.words.size(); ++i) {
      if (curve.words[i].empty()) {
        constant_ = curve.curves[i];
        continue;
      }
      auto at = std::find(words.begin(), words.end(), curve.words[i]);
      if (at == words.end()) at = words.insert(words.end(), curve.words[i]);
      terms_.push_back({static_cast<size_t>(at - words.begin()), curve.curves[i]});
    }
  }
  double operator()(double t, std::span<const double> coordinates) const {
    double v = constant_(t);
    for (const Term& k : terms_) v += coordinates[k.coordinate] * k.curve(t);
    return v;
  }
  double derivative(double t, std::span<const double> coordinates) const {
    double v = constant_.derivative(t);
    for (const Term& k : terms_) v += coordinates[k.coordinate] * k.curve.derivative(t);
    return v;
  }
  TimePolynomial of(std::span<const double> coordinates) const {
    TimePolynomial p = constant_;
    for (const Term& k : terms_) p = p + coordinates[k.coordinate] * k.curve;
    return p;
  }
  // Whether it has this value at t for every clock.
  bool is(double t, double value) const {
    constexpr double rounding = 1e-12;
    return std::abs(constant_(t) - value) < rounding &&
           std::all_of(terms_.begin(), terms_.end(), [&](const Term& k) { return std::abs(k.curve(t)) < rounding; });
  }
  Functional negated() const {
    Functional out = *this;
    out.constant_ = -1.0 * out.constant_;
    for (Term& k : out.terms_) k.curve = -1.0 * k.curve;
    return out;
  }

 private:
  struct Term {
    size_t coordinate;  // of coordinates
    TimePolynomial curve;
  };
  TimePolynomial constant_;
  std::vector<Term> terms_;
};

// Given the clock, alpha and beta are polynomials in t.
class ClockSchedule : public Schedule {
 public:
  const std::vector<std::string>& words() const override { return words_; }
  bool normalised() const override { return normalised_; }

  std::string violation(std::span<const double> coordinates, bool rising) const override {
    // beta_t / (1 - t), beta_1 being zero.
    const TimePolynomial a = alpha(coordinates), b = beta(coordinates);
    std::vector<double> quotient;
    double sum = 0;
    for (size_t k = 0; k + 1 < b.coefficients().size(); ++k) quotient.push_back(sum += b.coefficients()[k]);
    if (quotient.empty()) quotient.push_back(0);
    const TimePolynomial positive(std::move(quotient));
    if (const auto t = not_positive(positive, {.at_1 = true}))
      return fmt::format("beta_t / (1-t) > 0 on [0,1), got {:.4g} at t = {:.4g}", positive(*t), *t);
    if (!rising) return {};
    const TimePolynomial growth = a.derivative() * b + -1.0 * (a * b.derivative());
    if (const auto t = not_positive(growth, {.at_0 = true, .at_1 = true}))
      return fmt::format(
          "alpha_t / beta_t to rise (needed by precondition.enabled), got alpha' beta - alpha beta' = {:.4g} at t = "
          "{:.4g}",
          growth(*t), *t);
    return {};
  }

  double time_of(double ratio, std::span<const double> coordinates) const override {
    return time_of_ratio(*this, ratio, coordinates);
  }

 protected:
  explicit ClockSchedule(const ScheduleSpec& spec) : normalised_(spec.coordinates == "normalised") {
    if (!normalised_ && spec.coordinates != "raw")
      throw InputError("[path.coordinates] expected normalised or raw, got '{}'", spec.coordinates);
  }
  virtual TimePolynomial alpha(std::span<const double> coordinates) const = 0;
  virtual TimePolynomial beta(std::span<const double> coordinates) const = 0;
  std::vector<std::string> words_;

 private:
  bool normalised_;
};

// alpha = t + lambda_alpha t (1-t) R, beta = (1-t)(1 + lambda_beta t R) (eq. ve-signature-linear-schedule).
class VeSignature final : public ClockSchedule {
 public:
  explicit VeSignature(const ScheduleSpec& s) : ClockSchedule(s), la_(s.lambda_alpha), lb_(s.lambda_beta) {
    // R is bounded by 1, so that this makes every path admissible.
    if (!(std::abs(lb_) < 1)) throw InputError("[path.lambda_beta] expected a number between -1 and 1, got {}", lb_);
    if (!normalised())
      throw InputError("[path.coordinates] expected normalised for ve-signature, got '{}'", s.coordinates);
    words_ = {"ct", "tc"};
  }
  Coefficients at(double t, std::span<const double> coordinates) const override {
    const double r = clock_shape(coordinates);
    return {t + la_ * t * (1 - t) * r, (1 - t) * (1 + lb_ * t * r), 1 + la_ * (1 - 2 * t) * r,
            -1 + lb_ * (1 - 2 * t) * r};
  }
  double time_of(double ratio, std::span<const double> coordinates) const override {
    const double r = clock_shape(coordinates);
    return la_ * r == 0 && lb_ * r == 0 ? 1 - 1 / (1 + ratio) : ClockSchedule::time_of(ratio, coordinates);
  }
  std::string violation(std::span<const double> coordinates, bool rising) const override {
    // With alpha' > 0 and beta' < 0 the ratio rises.
    return std::abs(la_) < 1 ? std::string() : ClockSchedule::violation(coordinates, rising);
  }

 protected:
  TimePolynomial alpha(std::span<const double> coordinates) const override {
    const double bend = la_ * clock_shape(coordinates);
    return TimePolynomial({0, 1 + bend, -bend});
  }
  TimePolynomial beta(std::span<const double> coordinates) const override {
    const double bend = lb_ * clock_shape(coordinates);
    return TimePolynomial({1, -1 + bend, -bend});
  }

 private:
  double la_, lb_;
};

// The direct form: alpha = <a(t), phi>, beta = <b(t), phi> (eq. signature-linear-schedules).
class SignatureLinear final : public ClockSchedule {
 public:
  explicit SignatureLinear(const ScheduleSpec& s)
      : ClockSchedule(s),
        a_(curve("path.a", s.a, "1: 0 1; ct: 0 0.25 -0.25; tc: 0 -0.25 0.25"), words_),
        b_(curve("path.b", s.b, "1: 1 -1; ct: 0 0.25 -0.25; tc: 0 -0.25 0.25"), words_) {
    check("path.a", a_, 0, 1, s.a);
    check("path.b", b_, 1, 0, s.b);
  }
  Coefficients at(double t, std::span<const double> coordinates) const override {
    const double da = a_.derivative(t, coordinates), db = b_.derivative(t, coordinates);
    if (t == 0) return {0, 1, da, db};
    if (t == 1) return {1, 0, da, db};
    return {a_(t, coordinates), b_(t, coordinates), da, db};
  }

 protected:
  TimePolynomial alpha(std::span<const double> coordinates) const override { return a_.of(coordinates); }
  TimePolynomial beta(std::span<const double> coordinates) const override { return b_.of(coordinates); }

 private:
  static CoefficientCurve curve(const char* key, const std::string& text, const char* own) {
    return parse_curve(key, text.empty() ? own : text);
  }
  static void check(const char* key, const Functional& f, double at_0, double at_1, const std::string& text) {
    if (!f.is(0, at_0) || !f.is(1, at_1))
      throw InputError(
          "[{}] expected the word 1 to have the values {} and {} at t = 0 and 1, and other words 0 at both; got {}",
          key, at_0, at_1, text);
  }
  Functional a_, b_;
};

// alpha = t + lambda_t (1-t) A_t, beta = (1-t)(1 + lambda_t B_t), A = <a(t), eta>, B = <b(t), eta> (eq.
// near-linear-independent-schedule). With b = -a it is the symmetric time warp (eq. near-linear-warp-schedule).
class NearLinear final : public ClockSchedule {
 public:
  NearLinear(const ScheduleSpec& s, bool warp)
      : ClockSchedule(s),
        lambda_(parse_polynomial("path.lambda", s.lambda)),
        a_(parse_curve(warp ? "path.c" : "path.a", either(warp ? s.c : s.a)), words_),
        b_(warp ? a_.negated() : Functional(parse_curve("path.b", either(s.b)), words_)) {
    if (lambda_(0) != 0) throw InputError("[path.lambda] expected lambda_0 = 0, got {}", lambda_(0));
  }
  Coefficients at(double t, std::span<const double> coordinates) const override {
    const double l = lambda_(t), dl = lambda_.derivative(t), rest = 1 - t;
    const double a = a_(t, coordinates), da = a_.derivative(t, coordinates), b = b_(t, coordinates),
                 db = b_.derivative(t, coordinates);
    return {t + l * rest * a, rest * (1 + l * b), 1 + (dl * rest - l) * a + l * rest * da,
            -(1 + l * b) + rest * (dl * b + l * db)};
  }

 protected:
  TimePolynomial alpha(std::span<const double> coordinates) const override {
    return TimePolynomial({0, 1}) + rest() * lambda_ * a_.of(coordinates);
  }
  TimePolynomial beta(std::span<const double> coordinates) const override {
    return rest() + rest() * lambda_ * b_.of(coordinates);
  }

 private:
  static TimePolynomial rest() { return TimePolynomial({1, -1}); }
  static std::string either(const std::string& text) { return text.empty() ? "ct: 0.25; tc: -0.25" : text; }
  TimePolynomial lambda_;
  Functional a_, b_;
};

}  // namespace

double clock_shape(std::span<const double> coordinates) { return coordinates[0] - coordinates[1]; }

// Newton's method on (alpha - ratio beta) / (1 + ratio), which rises from below 0 to above, kept inside a bracket.
double time_of_ratio(const Schedule& schedule, double ratio, std::span<const double> coordinates) {
  if (!(ratio > 0)) return 0;
  if (ratio > 1e300) return 1;
  const double wa = 1 / (1 + ratio), wb = ratio / (1 + ratio);
  double from = 0, to = 1, t = wb;
  for (int round = 0; round < 100; ++round) {
    const Coefficients c = schedule.at(t, coordinates);
    const double value = wa * c.alpha - wb * c.beta, slope = wa * c.dalpha - wb * c.dbeta;
    (value < 0 ? from : to) = t;
    double next = t - value / slope;
    if (!(next >= from && next <= to)) next = (from + to) / 2;
    if (std::abs(next - t) <= 4e-16 * t) return next;
    t = next;
  }
  return t;
}

std::unique_ptr<Schedule> make_ve_signature(const ScheduleSpec& s) { return std::make_unique<VeSignature>(s); }
std::unique_ptr<Schedule> make_signature_linear(const ScheduleSpec& s) { return std::make_unique<SignatureLinear>(s); }
std::unique_ptr<Schedule> make_near_linear(const ScheduleSpec& s) {
  if (s.learn) return std::make_unique<LearnedSchedule>(s, false);
  return std::make_unique<NearLinear>(s, false);
}
std::unique_ptr<Schedule> make_time_warp(const ScheduleSpec& s) {
  if (s.learn) return std::make_unique<LearnedSchedule>(s, true);
  return std::make_unique<NearLinear>(s, true);
}

}  // namespace htfm
