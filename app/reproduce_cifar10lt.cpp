// CIFAR10-LT under clocks and signature orders: Frechet distance, precision, recall and class counts at equal budgets.
#include <fmt/format.h>

#include "app/image_eval.h"
#include "app/progress.h"
#include "app/reproduce.h"
#include "app/scored_run.h"
#include "htfm/base/error.h"
#include "htfm/io/file.h"
#include "htfm/io/png.h"
#include "htfm/report/image_grid.h"
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

// Frechet distance, precision, recall and class counts of samples (n x dim), and a picture with one column a class where a file is named.
Json score_samples(const ImageReference& real, const at::Tensor& samples, const std::string& picture) {
  const ImageShape shape = real.images.shape();
  const SampledImages fake =
      sampled_images(samples.to(at::kFloat).view({samples.size(0), shape.channels, shape.height, shape.width}), "samples");
  const auto classes = static_cast<int64_t>(real.images.classes.size());
  const ImageScores scores = image_scores(real.reference, (*real.network)(fake.pixels), real.images.labels, classes);
  Json j{{"fd", scores.distance.value},
         {"fd_name", real.network->distance_name()},
         {"precision", scores.neighbours.score.precision},
         {"recall", scores.neighbours.score.recall},
         {"class_distance", scores.class_distance},
         {"n_fake", scores.fake},
         {"n_real", scores.real},
         {"clipped_share", fake.clipped_share},
         {"features_sha256", real.network->hash()}};
  std::vector<int64_t> counts;
  std::vector<double> recall;
  for (const ClassCoverage& c : scores.classes) counts.push_back(c.fake), recall.push_back(c.recall);
  j["class_fake"] = counts, j["class_recall"] = recall;
  if (!picture.empty()) {
    const auto cells =
        report::class_columns(real.images.labels.index_select(0, scores.neighbours.nearest), scores.neighbours.distance, classes, 10);
    write_png(picture, report::image_grid(fake.pixels, cells));
  }
  return j;
}

Json score_cell(const Cell& cell, const std::string& folder, const ImageReference& real, at::Device device, const std::vector<Run>& runs) {
  make_folder(folder + "/runs");
  const Model model = train_with_status(cell.config, {.folder = folder + "/runs/" + cell.name, .device = device, .resume = true});
  Json j{{"cell", cell.name}, {"steps", model.step}, {"skipped_steps", model.skipped}, {"runs", Json::array()}};
  for (const Run& r : runs) {
    SampleOptions options = sample_options(cell.config);
    options.solver = r.solver, options.solve.nfe = r.nfe, options.device = device, options.precision = cell.config.train.precision;
    const SampleResult s = sample(model, options);
    Json scores = score_samples(real, s.samples, &r == &runs.back() ? fmt::format("{}/{}.png", folder, cell.name) : "");
    scores["solver"] = r.solver, scores["nfe"] = s.evaluations, scores["diverged"] = s.diverged, scores["sample_seconds"] = s.seconds;
    say(fmt::format("{:<18} {:>8} NFE {:>3}: {} {:.3f}, precision {:.3f}, recall {:.3f}, diverged {}", cell.name, r.solver, r.nfe,
                    scores["fd_name"].get<std::string>(), scores["fd"].get<double>(), scores["precision"].get<double>(),
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
  const ImageReference reference =
      load_reference({.real = {.path = o.data, .kind = "cifar10"}, .features = o.features, .cache = {}}, device);
  const std::vector<Run> runs{{"euler", 20}, {"euler", 100}};
  const std::vector<Json> results = run_cells(
      cells, o.folder, [&](const Cell& c) { return score_cell(c, o.folder, reference, device, runs); }, true);
  report::Table table;
  table.caption = fmt::format("FD with {}; EMA weights, Euler.", reference.network->name());
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
