// The paper's ablations on CIFAR10-LT, at the budget of `reproduce cifar10lt`; the same names in two experiments are the same model,
// trained once where both write into one folder.
#include <fmt/format.h>

#include "app/image_experiment.h"

namespace htfm::app {

namespace {

constexpr int64_t kEpochs = 160;  // 20,000 steps

std::vector<std::string> stable(double alpha, std::vector<std::string> more) {
  more.insert(more.begin(), {"clock.family=stable", fmt::format("clock.alpha={}", alpha)});
  return more;
}

std::vector<ImageRun> solvers(const std::vector<std::string>& names, const std::vector<int64_t>& budgets) {
  std::vector<ImageRun> out;
  for (const std::string& solver : names)
    for (const int64_t nfe : budgets) out.push_back({solver, nfe});
  return out;
}

}  // namespace

ImageExperiment image_flow_type() {
  ImageExperiment e{"flow-type", "CIFAR10-LT: flow types", "The straight line and the schedule that sees the clock.", kEpochs, {}};
  const std::vector<ImageRun> runs = solvers({"euler"}, {20, 100});
  for (const std::string schedule : {"straight", "ve-signature"})
    for (int m = 0; m < 3; ++m) {
      std::vector<std::string> settings = stable(1.7, {fmt::format("feature.order={}", m)});
      if (schedule != "straight") settings.push_back("path.schedule=" + schedule);
      e.variants.push_back({fmt::format("alpha-1.7-m{}{}", m, schedule == "straight" ? "" : "-" + schedule), settings, runs});
    }
  return e;
}

ImageExperiment image_signature_order() {
  ImageExperiment e{"signature-order", "CIFAR10-LT: signature order", "What the network is told of the clock.", kEpochs, {}};
  const std::vector<ImageRun> runs = solvers({"euler"}, {20, 100});
  for (const double alpha : {1.6, 1.7, 1.8})
    for (int m = 0; m < 4; ++m)
      e.variants.push_back({fmt::format("alpha-{}-m{}", alpha, m), stable(alpha, {fmt::format("feature.order={}", m)}), runs});
  for (const char* nu : {"1.7", "2.0", "3.0"})
    for (int m = 0; m < 2; ++m)
      e.variants.push_back({fmt::format("t-{}-m{}", nu, m),
                            {"clock.family=inverse-gamma", fmt::format("clock.nu={}", nu), fmt::format("feature.order={}", m)},
                            runs});
  return e;
}

ImageExperiment image_nfe() {
  ImageExperiment e{"nfe", "CIFAR10-LT: network evaluations", "Quality against cost of three methods.", kEpochs, {}};
  const std::vector<int64_t> budgets{5, 10, 20, 50, 100, 200};
  for (const double alpha : {1.6, 1.7, 1.8}) {
    e.variants.push_back({fmt::format("by-clock-alpha-{}-m1", alpha), stable(alpha, {"feature.order=1", "precondition.time=clock"}),
                          solvers({"euler"}, budgets)});
    e.variants.push_back({fmt::format("dlpm-{}", alpha),
                          stable(alpha, {"method=dlpm", "baseline.steps=4000", "baseline.clamp_a=20", "baseline.clamp_eps=200"}),
                          solvers({"dlpm", "dlim"}, budgets)});
  }
  return e;
}

ImageExperiment image_solver() {
  return {"solver",
          "CIFAR10-LT: solvers",
          "Solvers at the evaluations really spent.",
          kEpochs,
          {{"by-clock-alpha-1.7-m1", stable(1.7, {"feature.order=1", "precondition.time=clock"}),
            solvers({"euler", "heun", "heun-euler", "midpoint", "ab2"}, {5, 10, 20, 50, 100})}}};
}

}  // namespace htfm::app
