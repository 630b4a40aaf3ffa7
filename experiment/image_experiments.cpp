// The experiments on CIFAR10-LT: the paper's table, one long run, the baselines and the ablations. The same names in
// two experiments are the same model, trained once where both write into one folder.
#include <fmt/format.h>

#include "experiment/image_experiment.h"

namespace htfm::app {

namespace {

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

// Our own algorithm on images: times by clock, the default there, and Muon (doc/images.md).
ImageVariant ours(std::string name, std::vector<std::string> clock, const std::vector<ImageRun>& runs) {
  clock.emplace_back("train.optimiser=muon");
  return {"ours-" + std::move(name), std::move(clock), runs};
}

// As the paper prints it: config/published/cifar10lt.toml.
ImageVariant published(std::string name, std::vector<std::string> clock, const std::vector<ImageRun>& runs) {
  clock.insert(clock.end(), {"precondition.enabled=false", "feature.transform=per-path", "sample.time_grid=uniform"});
  return {"published-" + std::move(name), std::move(clock), runs};
}

// The clocks of the paper's image table, heaviest first within a family.
struct NamedClock {
  std::string name;
  std::vector<std::string> settings;
};
std::vector<NamedClock> paper_clocks() {
  std::vector<NamedClock> out{{"G", {"clock.family=deterministic"}}};
  for (const double alpha : {1.6, 1.7, 1.8, 1.9}) out.push_back({fmt::format("alpha-{}", alpha), stable(alpha, {})});
  for (const char* nu : {"1.7", "2.0", "3.0"}) out.push_back({fmt::format("t-{}", nu), student(nu, {})});
  return out;
}

NamedClock alpha_clock(double alpha) { return {fmt::format("alpha-{}", alpha), stable(alpha, {})}; }
NamedClock student_clock(const char* nu) { return {fmt::format("t-{}", nu), student(nu, {})}; }

// Order 1, the default, is the model of the table of clocks and has its name.
ImageVariant of_order(bool as_published, NamedClock clock, int m, const std::vector<ImageRun>& runs) {
  if (m != 1) clock.name += fmt::format("-m{}", m), clock.settings.push_back(fmt::format("feature.order={}", m));
  return as_published ? published(clock.name, clock.settings, runs) : ours(clock.name, clock.settings, runs);
}

// A network of DLPM or of DLIM, whose losses differ. T = 4000 and the clamps are those of the baselines' images.
ImageVariant levy(const std::string& method, const std::string& name, std::vector<std::string> clock,
                  const std::vector<ImageRun>& runs) {
  clock.insert(clock.end(),
               {"method=" + method, "baseline.steps=4000", "baseline.clamp_a=20", "baseline.clamp_eps=200"});
  return {method + "-" + name, std::move(clock), runs};
}

}  // namespace

ImageVariant our_images(double alpha, const std::vector<ImageRun>& runs) {
  const NamedClock clock = alpha_clock(alpha);
  return ours(clock.name, clock.settings, runs);
}

ImageExperiment image_equal_budget(bool as_published) {
  ImageExperiment e{"cifar10lt", "CIFAR10-LT", "The paper's clocks at an equal budget.", kImageEpochs, {}};
  for (const NamedClock& c : paper_clocks())
    e.variants.push_back(
        as_published
            ? published(c.name, c.settings, solvers({"euler"}, {5, 10, 20, 50, 100, 200, 500}))
            : ours(c.name, c.settings, solvers({"ab2", "euler", "stochastic"}, {5, 10, 20, 50, 100, 200, 500})));
  return e;
}

ImageExperiment image_long_run(bool) {
  ImageVariant model = ours("alpha-1.7", stable(1.7, {}),
                            solvers({"euler", "heun", "midpoint", "ab2", "stochastic"}, {5, 10, 20, 50, 100}));
  model.name += "-long";
  model.settings.emplace_back("unet.dropout=0.2");  // without it the network learns its images by heart
  return {"cifar10lt-long",
          "CIFAR10-LT, a long run",
          "The Frechet distance against the evaluations of five solvers.",
          5 * kImageEpochs,
          {model}};
}

// A sampler's own steps are as many as the evaluations. As published DLIM draws from the network of DLPM (appendix
// E.2), LIM by its stochastic equation and t-Flow by Euler (E.6).
ImageExperiment image_baselines(bool as_published) {
  const std::vector<int64_t> budgets{5, 10, 20, 50, 100, 200, 500};
  ImageExperiment e{
      "baselines", "CIFAR10-LT: the baselines", "Methods with the same network and budget.", kImageEpochs, {}};
  using Names = std::vector<std::string>;
  const auto levy_networks = [&](const std::string& name, const std::vector<std::string>& clock) {
    e.variants.push_back(levy("dlpm", name, clock, solvers({"dlpm", "dlim"}, budgets)));
    if (!as_published) e.variants.push_back(levy("dlim", name, clock, solvers({"dlim"}, budgets)));
  };
  for (const double alpha : {1.6, 1.7, 1.8, 1.9}) {
    levy_networks(fmt::format("{}", alpha), stable(alpha, {}));
    e.variants.push_back({fmt::format("lim-{}", alpha), stable(alpha, {"method=lim"}),
                          solvers(as_published ? Names{"sde"} : Names{"sde", "ode"}, budgets)});
  }
  levy_networks("G", {"clock.family=deterministic"});
  e.variants.push_back({"tflow-3.0", student("3.0", {"method=tflow"}),
                        solvers(as_published ? Names{"euler"} : Names{"heun", "euler"}, budgets)});
  return e;
}

ImageExperiment image_flow_type(bool as_published) {
  ImageExperiment e{
      "flow-type", "CIFAR10-LT: flow types", "The straight line and schedules that see the clock.", kImageEpochs, {}};
  const std::vector<ImageRun> runs = solvers({"euler"}, {20, 100});
  for (int m = 0; m < 3; ++m) e.variants.push_back(of_order(as_published, alpha_clock(1.7), m, runs));
  for (int m = 0; m < 3; ++m) {
    e.variants.push_back(of_order(as_published, alpha_clock(1.7), m, runs));
    e.variants.back().name += "-ve-signature", e.variants.back().settings.emplace_back("path.schedule=ve-signature");
  }
  if (!as_published)  // learned curves say where times are
    e.variants.push_back({"learned-alpha-1.7", stable(1.7, {"path.schedule=time-warp", "path.learn=true"}), runs});
  return e;
}

ImageExperiment image_signature_order(bool as_published) {
  ImageExperiment e{
      "signature-order", "CIFAR10-LT: signature order", "What the network is told of the clock.", kImageEpochs, {}};
  const std::vector<ImageRun> runs = solvers({"euler"}, {20, 100});
  for (const double alpha : {1.6, 1.7, 1.8})
    for (int m = 0; m < 4; ++m) e.variants.push_back(of_order(as_published, alpha_clock(alpha), m, runs));
  for (const char* nu : {"1.7", "2.0", "3.0"})
    for (int m = 0; m < 2; ++m) e.variants.push_back(of_order(as_published, student_clock(nu), m, runs));
  return e;
}

ImageExperiment image_nfe(bool as_published) {
  ImageExperiment e{
      "nfe", "CIFAR10-LT: network evaluations", "Quality against cost of three methods.", kImageEpochs, {}};
  const std::vector<int64_t> budgets{5, 10, 20, 50, 100, 200};
  for (const double alpha : {1.6, 1.7, 1.8}) {
    e.variants.push_back(of_order(as_published, alpha_clock(alpha), 1, solvers({"euler"}, budgets)));
    e.variants.push_back(levy("dlpm", fmt::format("{}", alpha), stable(alpha, {}), solvers({"dlpm", "dlim"}, budgets)));
  }
  return e;
}

ImageExperiment image_solver(bool as_published) {
  const std::vector<std::string> names =
      as_published
          ? std::vector<std::string>{"euler", "heun", "midpoint", "ab2-paper", "ab2"}
          : std::vector<std::string>{"euler", "heun", "heun-euler", "midpoint", "ab2-paper", "ab2", "stochastic"};
  return {"solver",
          "CIFAR10-LT: solvers",
          "Solvers at the evaluations really spent; ab2-paper spends nfe / 2 + 1, which the paper counts as nfe.",
          kImageEpochs,
          {of_order(as_published, alpha_clock(1.7), 1, solvers(names, {5, 10, 20, 50, 100}))}};
}

}  // namespace htfm::app
