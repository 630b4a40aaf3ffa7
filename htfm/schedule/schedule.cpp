#include "htfm/schedule/schedule.h"

#include "htfm/base/registry.h"
#include "htfm/schedule/clock_schedule.h"
#include "htfm/schedule/learned_schedule.h"

namespace htfm {

namespace {

// alpha = t, beta = 1 - t.
class Straight final : public Schedule {
 public:
  Coefficients at(double t, std::span<const double>) const override { return {t, 1 - t, 1, -1}; }
  double time_of(double ratio, std::span<const double>) const override { return 1 - 1 / (1 + ratio); }
};

// alpha = sin(pi t/2), beta = sqrt(1 - alpha^2): of all variance-preserving paths the one of constant speed.
class VariancePreserving final : public Schedule {
 public:
  Coefficients at(double t, std::span<const double>) const override {
    const double w = M_PI / 2, s = std::sin(w * t), c = std::cos(w * t);
    return {s, t == 1 ? 0 : c, w * c, -w * s};
  }
  double time_of(double ratio, std::span<const double>) const override { return std::atan(ratio) / (M_PI / 2); }
};

// alpha = 1 - sigma, beta = sigma with the geometric noise levels of variance-exploding diffusions, shifted to end at
// zero.
class VarianceExploding final : public Schedule {
 public:
  explicit VarianceExploding(double ratio) : log_ratio_(std::log(ratio)), range_(ratio - 1) {}
  Coefficients at(double t, std::span<const double>) const override {
    const double sigma = std::expm1((1 - t) * log_ratio_) / range_,
                 slope = -log_ratio_ * std::exp((1 - t) * log_ratio_) / range_;
    return {1 - sigma, sigma, -slope, slope};
  }
  double time_of(double ratio, std::span<const double>) const override {
    return 1 - std::log1p(range_ / (1 + ratio)) / log_ratio_;
  }

 private:
  double log_ratio_, range_;
};

// alpha = 1 - sigma, beta = sigma = (1-t)^gamma. Below gamma = 1 the velocity grows without bound towards t = 1, and up
// to 1/2 so fast that the loss at uniform times is infinite.
class Polynomial final : public Schedule {
 public:
  explicit Polynomial(double gamma) : gamma_(gamma) {}
  Coefficients at(double t, std::span<const double>) const override {
    const double sigma = std::pow(1 - t, gamma_), slope = -gamma_ * std::pow(1 - t, gamma_ - 1);
    return {1 - sigma, sigma, -slope, slope};
  }
  double time_of(double ratio, std::span<const double>) const override { return 1 - std::pow(1 + ratio, -1 / gamma_); }

 private:
  double gamma_;
};

Registry<ScheduleInfo>& schedule_registry() {
  static Registry<ScheduleInfo> registry({
      {"straight", "alpha = t, beta = 1 - t", [](const ScheduleSpec&) { return std::make_unique<Straight>(); }},
      {"vp", "alpha = sin(pi t/2), beta = cos(pi t/2)",
       [](const ScheduleSpec&) { return std::make_unique<VariancePreserving>(); }},
      {"ve", "beta geometric in t (path.ratio), alpha = 1 - beta",
       [](const ScheduleSpec& s) {
         if (!(s.ratio > 1 && s.ratio <= 1e6))
           throw InputError("[path.ratio] expected a ratio of noise levels in (1, 1e6], got {}", s.ratio);
         return std::make_unique<VarianceExploding>(s.ratio);
       }},
      {"polynomial", "beta = (1-t)^gamma (path.gamma), alpha = 1 - beta",
       [](const ScheduleSpec& s) {
         // Below 1 the velocity is infinite at t = 1, where solvers evaluate it.
         if (!(s.gamma >= 1 && s.gamma <= 16))
           throw InputError("[path.gamma] expected a power in [1, 16], below which the velocity has no end, got {}",
                            s.gamma);
         return std::make_unique<Polynomial>(s.gamma);
       }},
      {"ve-signature", "alpha and beta of the line bent by the clock's shape R (path.lambda_alpha, path.lambda_beta)",
       make_ve_signature},
      {"signature-linear", "alpha = <a(t), phi(T)>, beta = <b(t), phi(T)> (path.a, path.b)", make_signature_linear},
      {"near-linear", "alpha = t + lambda_t (1-t) <a(t), eta>, beta = (1-t)(1 + lambda_t <b(t), eta>)",
       make_near_linear},
      {"time-warp", "alpha = t + lambda_t (1-t) <c(t), eta>, beta = 1 - alpha", make_time_warp},
  });
  return registry;
}

}  // namespace

EntryList<ScheduleInfo> schedules() { return schedule_registry().list(); }

void register_schedule(ScheduleInfo schedule) {
  if (!schedule.make)
    throw InputError("[register_schedule] {}: expected a function that makes the schedule, got none", schedule.name);
  check_options(schedule.options, "schedule", schedule.name);
  schedule_registry().add(std::move(schedule), "schedule");
}

double Schedule::time_of(double ratio, std::span<const double> coordinates) const {
  return time_of_ratio(*this, ratio, coordinates);
}

const std::vector<std::string>& Schedule::words() const {
  static const std::vector<std::string> none;
  return none;
}

std::string Schedule::violation(std::span<const double>, bool) const { return {}; }

std::unique_ptr<Schedule> make_schedule(const ScheduleSpec& spec) {
  const ScheduleInfo& info = find_named(schedules(), spec.name, "path.schedule");
  ScheduleSpec own = spec;
  own.options = own_options(info.options, spec.options, "path", info.name);
  std::unique_ptr<Schedule> out = info.make(own);
  if (!out) throw Error("[path.schedule] expected {} to make a schedule, got none", info.name);
  if (!out->depends_on_clock()) {
    const Coefficients from = out->at(0), to = out->at(1);
    constexpr double kRounding = 1e-6;
    if (!(std::abs(from.alpha) < kRounding && std::abs(from.beta - 1) < kRounding &&
          std::abs(to.alpha - 1) < kRounding && std::abs(to.beta) < kRounding))
      throw InputError(
          "[path.schedule] {}: expected alpha = 0, beta = 1 at t = 0 and alpha = 1, beta = 0 at t = 1, got {}, {} and "
          "{}, {}",
          info.name, from.alpha, from.beta, to.alpha, to.beta);
  }
  if (spec.learn && !out->learned())
    throw InputError("[path.learn] expected path.schedule = near-linear or time-warp, got {}", spec.name);
  return out;
}

}  // namespace htfm
