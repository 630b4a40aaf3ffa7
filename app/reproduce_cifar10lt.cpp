// CIFAR10-LT under clocks and signature orders: Frechet distance, precision, recall and class counts at equal budgets.
#include <fmt/format.h>

#include "app/image_scores.h"
#include "app/progress.h"
#include "app/reproduce.h"
#include "app/scored_run.h"
#include "htfm/base/error.h"
#include "htfm/io/file.h"
#include "htfm/io/npy.h"
#include "htfm/report/page.h"

namespace htfm::app {

namespace {

struct Variant {
  const char* name;
  std::vector<std::string> settings;
};

const std::vector<Variant>& variants() {
  static const std::vector<Variant> list{{"G", {"clock.family=deterministic"}},
                                         {"alpha-1.7-m0", {"clock.family=stable", "clock.alpha=1.7", "feature.order=0"}},
                                         {"alpha-1.7-m1", {"clock.family=stable", "clock.alpha=1.7", "feature.order=1"}},
                                         {"alpha-1.8-m1", {"clock.family=stable", "clock.alpha=1.8", "feature.order=1"}},
                                         {"t-3.0-m0", {"clock.family=inverse-gamma", "clock.nu=3", "feature.order=0"}},
                                         {"t-3.0-m1", {"clock.family=inverse-gamma", "clock.nu=3", "feature.order=1"}}};
  return list;
}

struct Run {
  const char* solver;
  int64_t nfe;
};

Json score_cell(const Cell& cell, const std::string& folder, const ImageReference& reference, at::Device device,
                const std::vector<Run>& runs) {
  const std::string run = folder + "/runs/" + cell.name;
  make_folder(folder + "/runs");
  const auto started = std::chrono::steady_clock::now();
  const Model model = train_with_status(cell.config, {.folder = run, .device = device, .resume = true});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  Json j{{"cell", cell.name}, {"steps", model.step}, {"skipped_steps", model.skipped}, {"seconds", seconds}, {"runs", Json::array()}};
  for (const Run& r : runs) {
    SampleOptions options = sample_options(cell.config);
    options.solver = r.solver, options.solve.nfe = r.nfe, options.device = device;
    const SampleResult s = sample(model, options);
    if (r.nfe == 100 && std::string(r.solver) == "euler")
      write_npy(folder + "/" + cell.name + ".npy", s.samples.narrow(0, 0, std::min<int64_t>(1000, s.samples.size(0))).to(at::kFloat));
    Json scores = reference.score(s.samples);
    scores["solver"] = r.solver, scores["nfe"] = s.evaluations, scores["diverged"] = s.diverged, scores["sample_seconds"] = s.seconds;
    say(fmt::format("{:<14} {:>6} NFE {:>3}: FD[{}] {:.3f}, precision {:.3f}, recall {:.3f}, diverged {}", cell.name, r.solver, r.nfe,
                    reference.network().name(), scores["fd"].get<double>(), scores["precision"].get<double>(),
                    scores["recall"].get<double>(), s.diverged));
    j["runs"].push_back(scores);
  }
  return j;
}

}  // namespace

Json reproduce_cifar10lt(const ReproduceOptions& o) {
  if (o.data.empty() || o.features.empty())
    throw InputError("[reproduce] expected --data (CIFAR-10 batches) and --features (a TorchScript file) for cifar10lt");
  const at::Device device = o.common.network_device("unet");
  std::vector<Cell> cells;
  for (const Variant& v : variants()) {
    if (std::string(v.name).find(o.only) == std::string::npos) continue;
    for (int64_t k = 0; k < o.seeds; ++k) {
      // The paper's settings; 160 epochs are 20,000 steps.
      std::vector<std::string> settings{"net.kind=unet",       fmt::format("data.path={}", o.data),
                                        "data.kind=cifar10",   "data.flip=true",
                                        "train.batch=100",     "train.lr=2e-4",
                                        "train.warmup=500",    "train.lr_decay=0.99",
                                        "train.ema=0.9999",    "train.ema_warmup=true",
                                        "train.epochs=160",    "train.checkpoint_steps=10000",
                                        "train.keep=1",        "train.log_steps=500",
                                        "sample.solver=euler", "sample.time_grid=clock",
                                        "sample.n=12406",      fmt::format("seed={}", o.common.seed + k)};
      settings.insert(settings.end(), v.settings.begin(), v.settings.end());
      settings.insert(settings.end(), o.settings.begin(), o.settings.end());
      cells.push_back({fmt::format("{}-seed{}", v.name, o.common.seed + k), parse_config("", "reproduce", settings)});
    }
  }
  const Dataset data = load_dataset(cells.empty() ? parse_config("", "reproduce", {fmt::format("data.path={}", o.data)}) : cells[0].config);
  const ImageReference reference(data, o.features, device);
  const std::vector<Run> runs{{"euler", 20}, {"euler", 100}};
  const std::vector<Json> results = run_cells(
      cells, o.folder, [&](const Cell& c) { return score_cell(c, o.folder, reference, device, runs); }, true);
  report::Table table;
  table.caption = fmt::format("FD with {}; EMA weights, Euler.", reference.network().name());
  table.columns = {{"model"},
                   {"NFE", report::Best::none, 0},
                   {"FD", report::Best::lowest, 3},
                   {"precision", report::Best::highest, 3},
                   {"recall", report::Best::highest, 3},
                   {"images of each class, first to last"}};
  fmt::print("| model | solver | NFE | FD | precision | recall | images of each class |\n|---|---|---|---|---|---|---|\n");
  for (const Json& r : results)
    for (const Json& run : r["runs"]) {
      std::string counts;
      for (const int64_t c : run["class_fake"].get<std::vector<int64_t>>()) counts += fmt::format("{}{}", counts.empty() ? "" : " ", c);
      fmt::print("| {} | {} | {} | {:.3f} | {:.3f} | {:.3f} | {} |\n", r["cell"].get<std::string>(), run["solver"].get<std::string>(),
                 run["nfe"].get<double>(), run["fd"].get<double>(), run["precision"].get<double>(), run["recall"].get<double>(), counts);
      table.add({r["cell"].get<std::string>(), run["nfe"].get<double>(), run["fd"].get<double>(), run["precision"].get<double>(),
                 run["recall"].get<double>(), counts});
    }
  Json out{{"experiment", "cifar10lt"}, {"cells", results}};
  report::Page page("CIFAR10-LT", "Clocks and signature orders at an equal budget.");
  page.section("Scores").table(table);
  page.provenance({{"command", "htfm reproduce cifar10lt"}, {"program", version_text()}});
  atomic_write(o.folder + "/cifar10lt.html", page.html());
  atomic_write(o.folder + "/cifar10lt.json", out.dump(1) + "\n");
  return out;
}

}  // namespace htfm::app
