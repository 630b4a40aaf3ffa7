// t-EDM: diffusion with Student noise, preconditioned at the noise's deviation.
#include <fmt/format.h>

#include <array>

#include "htfm/method/methods.h"
#include "htfm/stat/estimators.h"

namespace htfm {

namespace {

constexpr double kLogMean = -1.2, kLogDeviation = 1.2;  // of the noise level in training
constexpr double kLargest = 80, kSmallest = 0.002, kPower = 7;

class TEdm final : public Baseline {
 public:
  TEdm(const ClockSpec& clock, const MethodOptions& o, DataScale scale)
      : Baseline(student_noise(clock, "tedm"), o, std::move(scale), LossKind::squared) {
    const double nu = clock.parameters.at("nu");
    deviation_ = clock.scale * std::sqrt(nu / (nu - 2));
    samplers_ = {{"heun", "order 2, two evaluations a step", 1,
                  [this](States& s, const SampleRequest& q) { return run(s, q, true); }},
                 {"euler", "order 1, one evaluation a step", 1,
                  [this](States& s, const SampleRequest& q) { return run(s, q, false); }}};
  }
  std::string describe() const override {
    return fmt::format("data scale {:.4g}, {}", data_scale().typical(), Baseline::describe());
  }

 protected:
  // The denoiser is c_skip x + c_out F(c_in x, c_noise): its weighted loss is the plain one of F.
  PairCoefficients row(double u) const override {
    const double sigma = std::exp(kLogMean + kLogDeviation * normal_quantile(u));
    const Level c = at(sigma);
    return {c.time, c.in, c.in * sigma, (1 - c.skip) / c.out, -c.skip * sigma / c.out};
  }

 private:
  struct Level {
    double skip, out, in, time;
  };
  Level at(double sigma) const {
    const double noise = sigma * deviation_, data = data_scale().typical(), norm = std::hypot(noise, data);
    return {data * data / (norm * norm), noise * data / norm, 1 / norm, std::log(noise) / 4};
  }

  SolverRun run(States& states, const SampleRequest& q, bool heun) const {
    const int64_t count = heun ? (q.nfe + 1) / 2 : q.nfe;  // and then 0
    SolverRun out;
    out.steps = count;
    const int input = states.add();
    std::vector<double> time(static_cast<size_t>(states.rows()));
    draw_noise(states, 0, q.key, q.first, q.area);
    states.combine(0, std::array{States::Term{0, kLargest}});
    const double from = std::pow(kLargest, 1 / kPower), to = std::pow(kSmallest, 1 / kPower);
    std::vector<double> levels;
    for (int64_t i = 0; i < count; ++i)
      levels.push_back(
          count == 1 ? kLargest
                     : std::pow(from + static_cast<double>(i) / static_cast<double>(count - 1) * (to - from), kPower));
    levels.push_back(0);
    // k = (x - denoised x) / sigma.
    walk_levels(states, levels, heun, [&](int x, double sigma, int k) {
      const Level c = at(sigma);
      std::fill(time.begin(), time.end(), c.time);
      states.combine(input, std::array{States::Term{x, c.in}});
      states.evaluate(input, time.data(), k);
      ++out.evaluations;
      states.combine(k, std::array{States::Term{x, (1 - c.skip) / sigma}, States::Term{k, -c.out / sigma}});
    });
    return out;
  }

  double deviation_;  // of the noise
};

}  // namespace

MethodInfo tedm_method() {
  return {"tedm", "diffusion with Student noise (t-EDM)",
          [](const FlowMatchingSpec& flow, const MethodOptions& o, DataScale scale) {
            return std::make_unique<TEdm>(flow.clock, o, std::move(scale));
          }};
}

}  // namespace htfm
