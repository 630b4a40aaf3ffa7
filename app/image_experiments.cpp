// The experiments on CIFAR10-LT: the paper's table, one long run, the baselines and the ablations. The same names in two experiments are
// the same model, trained once where both write into one folder.
#include <fmt/format.h>

#include "app/image_experiment.h"

namespace htfm::app {

namespace {

constexpr int64_t kEpochs = 160;  // 20,000 steps

std::vector<std::string> stable(double alpha, std::vector<std::string> more) {
  more.insert(more.begin(), {"clock.family=stable", fmt::format("clock.alpha={}", alpha)});
  return more;
}

std::vector<std::string> student(const char* nu, std::vector<std::string> more) {
  more.insert(more.begin(), {"clock.family=inverse-gamma", fmt::format("clock.nu={}", nu)});
  return more;
}

std::vector<ImageRun> solvers(const std::vector<std::string>& names, const std::vector<int64_t>& budgets) {
  std::vector<ImageRun> out;
  for (const std::string& solver : names)
    for (const int64_t nfe : budgets) out.push_back({solver, nfe});
  return out;
}

ImageVariant of_order(double alpha, int m, const std::vector<ImageRun>& runs) {
  return {fmt::format("alpha-{}-m{}", alpha, m), stable(alpha, {fmt::format("feature.order={}", m)}), runs};
}

ImageVariant of_order(const char* nu, int m, const std::vector<ImageRun>& runs) {
  return {fmt::format("t-{}-m{}", nu, m), student(nu, {fmt::format("feature.order={}", m)}), runs};
}

ImageVariant by_clock(double alpha, const std::vector<ImageRun>& runs) {
  return {fmt::format("by-clock-alpha-{}-m1", alpha), stable(alpha, {"feature.order=1", "precondition.time=clock"}), runs};
}

ImageVariant normal_times(double alpha, const std::vector<ImageRun>& runs) {
  ImageVariant v = by_clock(alpha, runs);
  v.name += "-normal-times", v.settings.emplace_back("train.times=normal");
  return v;
}

// A network of DLPM or of DLIM, whose losses differ. T = 4000 and the clamps are those of the baselines' images.
ImageVariant levy(const std::string& method, double alpha, const std::vector<ImageRun>& runs) {
  return {fmt::format("{}-{}", method, alpha),
          stable(alpha, {"method=" + method, "baseline.steps=4000", "baseline.clamp_a=20", "baseline.clamp_eps=200"}), runs};
}

}  // namespace

ImageExperiment image_equal_budget() {
  const std::vector<ImageRun> runs = solvers({"euler"}, {20, 100});
  return {"cifar10lt",
          "CIFAR10-LT",
          "Clocks and signature orders at an equal budget.",
          kEpochs,
          {{"G", {"clock.family=deterministic"}, runs},
           of_order(1.7, 0, runs),
           of_order(1.7, 1, runs),
           of_order(1.8, 1, runs),
           of_order("3.0", 0, runs),
           of_order("3.0", 1, runs),
           by_clock(1.7, runs),
           {"by-clock-t-3.0-m1", student("3.0", {"feature.order=1", "precondition.time=clock"}), runs},
           normal_times(1.7, solvers({"euler", "stochastic"}, {20, 100}))}};
}

ImageExperiment image_long_run() {
  ImageVariant model = by_clock(1.7, solvers({"euler", "heun", "midpoint", "ab2"}, {5, 10, 20, 50, 100}));
  model.name += "-long";
  return {
      "cifar10lt-long", "CIFAR10-LT, a long run", "The Frechet distance against the evaluations of four solvers.", 5 * kEpochs, {model}};
}

// A sampler's own steps are as many as the evaluations.
ImageExperiment image_baselines() {
  const std::vector<int64_t> budgets{20, 100, 500};
  return {"baselines",
          "CIFAR10-LT: flow matching and the baselines",
          "Methods with the same network and budget.",
          kEpochs,
          {by_clock(1.7, solvers({"euler", "stochastic"}, budgets)),
           levy("dlpm", 1.7, solvers({"dlpm", "dlim"}, budgets)),
           levy("dlim", 1.7, solvers({"dlim"}, budgets)),
           {"lim-1.7", stable(1.7, {"method=lim"}), solvers({"sde"}, budgets)},
           {"tflow-3", student("3", {"method=tflow"}), solvers({"heun"}, budgets)}}};
}

ImageExperiment image_flow_type() {
  ImageExperiment e{"flow-type", "CIFAR10-LT: flow types", "The straight line and schedules that see the clock.", kEpochs, {}};
  const std::vector<ImageRun> runs = solvers({"euler"}, {20, 100});
  for (int m = 0; m < 3; ++m) e.variants.push_back(of_order(1.7, m, runs));
  for (int m = 0; m < 3; ++m) {
    e.variants.push_back(of_order(1.7, m, runs));
    e.variants.back().name += "-ve-signature", e.variants.back().settings.emplace_back("path.schedule=ve-signature");
  }
  ImageVariant learned = of_order(1.7, 1, runs);
  learned.name += "-learned", learned.settings.insert(learned.settings.end(), {"path.schedule=time-warp", "path.learn=true"});
  e.variants.push_back(learned);
  return e;
}

ImageExperiment image_signature_order() {
  ImageExperiment e{"signature-order", "CIFAR10-LT: signature order", "What the network is told of the clock.", kEpochs, {}};
  const std::vector<ImageRun> runs = solvers({"euler"}, {20, 100});
  for (const double alpha : {1.6, 1.7, 1.8})
    for (int m = 0; m < 4; ++m) e.variants.push_back(of_order(alpha, m, runs));
  for (const char* nu : {"1.7", "2.0", "3.0"})
    for (int m = 0; m < 2; ++m) e.variants.push_back(of_order(nu, m, runs));
  return e;
}

ImageExperiment image_nfe() {
  ImageExperiment e{"nfe", "CIFAR10-LT: network evaluations", "Quality against cost of three methods.", kEpochs, {}};
  const std::vector<int64_t> budgets{5, 10, 20, 50, 100, 200};
  for (const double alpha : {1.6, 1.7, 1.8}) {
    e.variants.push_back(by_clock(alpha, solvers({"euler"}, budgets)));
    e.variants.push_back(levy("dlpm", alpha, solvers({"dlpm", "dlim"}, budgets)));
  }
  return e;
}

ImageExperiment image_solver() {
  return {"solver",
          "CIFAR10-LT: solvers",
          "Solvers at the evaluations really spent.",
          kEpochs,
          {by_clock(1.7, solvers({"euler", "heun", "heun-euler", "midpoint", "ab2", "stochastic"}, {5, 10, 20, 50, 100}))}};
}

}  // namespace htfm::app
