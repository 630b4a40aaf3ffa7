// LIM: the reverse equation of a process driven by isotropic stable noise, in continuous time. The network learns the
// fractional score.
#include <array>

#include "htfm/method/methods.h"

namespace htfm {

namespace {

constexpr double kFirst = 1e-5, kLast = 0.9946;  // times

class Lim final : public Baseline {
 public:
  Lim(const ClockSpec& clock, const MethodOptions& o, DataScale scale)
      : Baseline(stable_noise(clock, "lim"), o, std::move(scale), LossKind::smooth_l1), alpha_(stable_index(clock)) {
    samplers_ = {{"sde", "stochastic", 1, [this](States& s, const SampleRequest& q) { return run(s, q, true); }},
                 {"ode", "its equation without noise", 1,
                  [this](States& s, const SampleRequest& q) { return run(s, q, false); }}};
  }

 protected:
  PairCoefficients row(double u) const override {
    const double t = kFirst + u * (kLast - kFirst);
    return {t, mean(t), noise(t), 0, -1 / alpha_};
  }

 private:
  static double mean(double t) {
    const double shift = 0.008, unit = M_PI / 2 / (1 + shift);
    return std::cos((t + shift) * unit) / std::cos(shift * unit);
  }
  double noise(double t) const { return std::pow(1 - std::pow(mean(t), alpha_), 1 / alpha_); }

  SolverRun run(States& states, const SampleRequest& q, bool stochastic) const {
    const int64_t steps = q.nfe;
    const int output = states.add(), z = states.add();
    std::vector<double> time(static_cast<size_t>(states.rows()));
    draw_noise(states, 0, q.key, q.first, q.area);
    const auto at = [&](int64_t i) {
      return kLast + static_cast<double>(i) / static_cast<double>(steps) * (kFirst - kLast);
    };
    for (int64_t i = 0; i < steps; ++i) {
      const double s = at(i), growth = mean(at(i + 1)) / mean(s), score = std::pow(noise(s), 1 - alpha_);
      std::fill(time.begin(), time.end(), s);
      states.evaluate(0, time.data(), output);
      const States::Term kept{0, growth}, drift{output, (stochastic ? alpha_ * alpha_ : alpha_) * (growth - 1) * score};
      if (!stochastic) {
        states.combine(0, std::array{kept, drift});
        continue;
      }
      draw_noise(states, z, q.key.child("step").child(static_cast<uint64_t>(i)), q.first);
      states.combine(0, std::array{kept, drift, States::Term{z, std::pow(std::pow(growth, alpha_) - 1, 1 / alpha_)}});
    }
    return {steps, steps};
  }

  double alpha_;
};

}  // namespace

MethodInfo lim_method() {
  return {"lim", "score matching with stable noise (LIM)",
          [](const FlowMatchingSpec& flow, const MethodOptions& o, DataScale scale) {
            return std::make_unique<Lim>(flow.clock, o, std::move(scale));
          }};
}

}  // namespace htfm
