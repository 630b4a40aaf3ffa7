// DLPM: denoising with isotropic stable noise in discrete time, each sample's noise Gaussian given its mixing variable;
// and DLIM, its sampler without (eta = 0) or with part of (eta > 0) the noise drawn anew.
#include "htfm/method/dlpm.h"

#include <array>

#include "htfm/base/error.h"
#include "htfm/method/methods.h"

namespace htfm {

StableSchedule::StableSchedule(int64_t size, double alpha) {
  const double shift = 0.008, root = 1 / alpha;
  const auto cosine = [&](int64_t n) {
    const double c = std::cos((static_cast<double>(n) / static_cast<double>(size) + shift) / (1 + shift) * M_PI / 2);
    return c * c;
  };
  double before = 1;
  for (int64_t n = 0; n < size; ++n) {
    const double left = n == 0 ? 1 : cosine(n) / cosine(0), beta = n == 0 ? 0 : 1 - left / before;
    step_mean.push_back(std::pow(1 - beta, root));
    mean.push_back(std::pow(left, root));
    step_noise.push_back(std::pow(beta, root));
    noise.push_back(std::pow(1 - left, root));
    before = left;
  }
}

namespace {

class Dlpm final : public Baseline {
 public:
  Dlpm(const ClockSpec& clock, const MethodOptions& o, DataScale scale, const std::string& name)
      :  // The sampler without noise follows E[eps | x], which only the squared loss gives; the root's minimiser is a
         // median.
        Baseline(stable_noise(clock, name), o, std::move(scale), name == "dlpm" ? LossKind::root : LossKind::squared),
        alpha_(stable_index(clock)),
        schedule_(o.steps, alpha_) {
    const MethodSampler dlpm{"dlpm", "stochastic", 1,
                             [this](States&s, const SampleRequest&q) { return stochastic(s, q); }},
        dlim{"dlim", "eta of the noise drawn anew, none for eta = 0", 1,
             [this](States&s, const SampleRequest&q) { return implicit(s, q); }};
    samplers_ = name == "dlpm" ? std::vector{dlpm, dlim} : std::vector{dlim, dlpm};
  }
  std::string describe() const override {
    return fmt::format("T = {}, {}{}", options().steps, Baseline::describe(),
                       options().eta > 0 ? fmt::format(", eta {}", options().eta) : "");
  }

 protected:
  PairCoefficients row(double u) const override {
    const int64_t last = options().steps - 1,
                  t = std::min(last, 1 + static_cast<int64_t>(u * static_cast<double>(last)));
    return {static_cast<double>(t) / static_cast<double>(options().steps), schedule_.mean[t], schedule_.noise[t], 0, 1};
  }

 private:
  // Fills register 0 with the start, and gives the times of step t.
  class Steps {
   public:
    Steps(const Dlpm& method, States& s, const SampleRequest& q)
        : states(s),
          size(q.nfe + 1),
          c(size, method.alpha_),
          predicted(s.add()),
          z(s.add()),
          time_(static_cast<size_t>(s.rows())) {
      method.draw_noise(s, 0, q.key, q.first, q.area);
      s.combine(0, std::array{States::Term{0, c.noise.back()}});
    }
    void evaluate(int64_t t) {
      std::fill(time_.begin(), time_.end(), static_cast<double>(t) / static_cast<double>(size));
      states.evaluate(0, time_.data(), predicted);
    }
    States& states;
    int64_t size;
    StableSchedule c;
    int predicted, z;

   private:
    std::vector<double> time_;
  };

  SolverRun stochastic(States& states, const SampleRequest& q) const {
    Steps steps(*this, states, q);
    const StableSchedule& c = steps.c;
    const int64_t rows = states.rows(), size = steps.size;
    // Given all mixing variables x_t is Gaussian around mean_t x_0 with the variance Sigma_t; share is Gamma_t.
    std::vector<std::vector<double>> share(static_cast<size_t>(size)),
        sigma{std::vector<double>(static_cast<size_t>(rows), 0.0)};
    for (int64_t t = 1; t < size; ++t) {
      share[t] = mixing(q.key.child("step").child(static_cast<uint64_t>(t)), q.first, rows);
      sigma.push_back(sigma.back());
      for (int64_t r = 0; r < rows; ++r) {
        const double fresh = c.step_noise[t] * c.step_noise[t] * share[t][r];
        sigma[t][r] = fresh + c.step_mean[t] * c.step_mean[t] * sigma[t - 1][r];
        share[t][r] = fresh / sigma[t][r];
      }
    }
    std::vector<double> drawn(static_cast<size_t>(rows));
    for (int64_t t = size - 1; t >= 1; --t) {
      steps.evaluate(t);
      const States::Term kept{0, 1 / c.step_mean[t]},
          removed{steps.predicted, -c.noise[t] / c.step_mean[t], share[t].data()};
      if (t == 1) {
        states.combine(0, std::array{kept, removed});
        break;
      }
      for (int64_t r = 0; r < rows; ++r) drawn[r] = std::sqrt(share[t][r] * sigma[t - 1][r]);
      states.noise(steps.z, q.key.child("step").child(static_cast<uint64_t>(t)).child("source"), q.first);
      states.combine(0, std::array{kept, removed, States::Term{steps.z, 1, drawn.data()}});
    }
    return {size - 1, size - 1};
  }

  SolverRun implicit(States& states, const SampleRequest& q) const {
    Steps steps(*this, states, q);
    const StableSchedule& c = steps.c;
    const double eta = options().eta, kept_noise = std::pow(1 - std::pow(eta, alpha_), 1 / alpha_);
    for (int64_t t = steps.size - 1; t >= 1; --t) {
      steps.evaluate(t);
      const States::Term kept{0, 1 / c.step_mean[t]},
          moved{steps.predicted, kept_noise * c.noise[t - 1] - c.noise[t] / c.step_mean[t]};
      if (eta == 0 || t == 1) {
        states.combine(0, std::array{kept, moved});
        continue;
      }
      draw_noise(states, steps.z, q.key.child("step").child(static_cast<uint64_t>(t)), q.first);
      states.combine(0, std::array{kept, moved, States::Term{steps.z, eta * c.noise[t - 1]}});
    }
    return {steps.size - 1, steps.size - 1};
  }

  double alpha_;
  StableSchedule schedule_;
};

MethodInfo info(const std::string& name, const std::string& summary) {
  return {name, summary, [name](const FlowMatchingSpec& flow, const MethodOptions& o, DataScale scale) {
            return std::make_unique<Dlpm>(flow.clock, o, std::move(scale), name);
          }};
}

}  // namespace

MethodInfo dlpm_method() { return info("dlpm", "denoising with stable noise (DLPM)"); }
MethodInfo dlim_method() { return info("dlim", "the same network, sampled without drawing the noise anew (DLIM)"); }

}  // namespace htfm
