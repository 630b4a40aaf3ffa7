// t-Flow: straight paths from Student noise to the data; the network learns the noise.

#include <array>

#include "htfm/base/error.h"
#include "htfm/method/kept_row.h"
#include "htfm/method/methods.h"

namespace htfm {

namespace {

class TFlow final : public Baseline {
 public:
  TFlow(const ClockSpec& clock, const MethodOptions& o, DataScale scale)
      : Baseline(student_noise(clock, "tflow"), o, std::move(scale), LossKind::squared) {
    samplers_ = {{"heun", "order 2, two evaluations a step", 2,
                  [this](States& s, const SampleRequest& q) { return run(s, q, true); }},
                 {"euler", "order 1, one evaluation a step", 1,
                  [this](States& s, const SampleRequest& q) { return run(s, q, false); }}};
  }
  void fit_to_data(const TrainingData& data) override { mean_ = row_values(data.rows.to(at::kDouble).mean(0)); }
  void save_state(std::map<std::string, at::Tensor>& out) const override { save_row("method.mean", mean_, out); }
  void load_state(const std::map<std::string, at::Tensor>& in, const std::string& path) override {
    mean_ = load_row("method.mean", in, path);
  }

 protected:
  PairCoefficients row(double t) const override { return {t, t, 1 - t, 0, 1}; }

 private:
  // On `points` noise levels from 1 to 0.01 by Heun or Euler, then to the data by Euler. The first slope needs no
  // network.
  SolverRun run(States& states, const SampleRequest& q, bool heun) const {
    const int64_t points = (heun ? q.nfe / 2 : q.nfe) + 1;
    SolverRun out;
    out.steps = points;
    std::vector<double> time(static_cast<size_t>(states.rows()));
    draw_noise(states, 0, q.key, q.first, q.area);
    const double last = std::pow(0.01, 1.0 / 7);
    std::vector<double> times{0};
    for (int64_t i = 1; i < points; ++i)
      times.push_back(1 - std::pow(1 + static_cast<double>(i) / static_cast<double>(points - 1) * (last - 1), 7));
    times.push_back(1);
    walk_levels(states, times, heun, [&](int x, double t, int k) {
      if (t == 0) {  // (x - E[n | x]) / t is 0/0 here; its limit is the data's mean less x
        states.fill(k, mean_);
        states.combine(k, std::array{States::Term{k}, States::Term{x, -1}});
        return;
      }
      std::fill(time.begin(), time.end(), t);
      states.evaluate(x, time.data(), k);
      ++out.evaluations;
      states.combine(k, std::array{States::Term{x, 1 / t}, States::Term{k, -1 / t}});
    });
    return out;
  }

  std::vector<double> mean_;  // of the training set
};

}  // namespace

MethodInfo tflow_method() {
  return {"tflow", "flow matching from Student noise, by regression on the noise (t-Flow)",
          [](const FlowMatchingSpec& flow, const MethodOptions& o, DataScale scale) {
            return std::make_unique<TFlow>(flow.clock, o, std::move(scale));
          }};
}

}  // namespace htfm
