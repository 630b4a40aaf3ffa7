// An experiment on CIFAR10-LT: trains, samples and scores its models; Frechet distance, precision, recall and class
// counts of each.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "app/image_eval.h"
#include "app/progress.h"
#include "experiment/image_experiment.h"
#include "experiment/paper_fid.h"
#include "htfm/base/error.h"
#include "htfm/device/choose_device.h"
#include "htfm/io/file.h"
#include "htfm/io/png.h"
#include "htfm/page/class_grid.h"
#include "htfm/report/figures.h"
#include "htfm/report/page.h"

namespace htfm::app {

namespace {

// A cell is a model and one way to sample it.
Json score_cell(const std::string& name, const Cell& cell, const Model& model, const std::string& folder,
                const ImageReference& real, const std::string& inception, at::Device device) {
  SampleOptions options = sample_options(cell.config);
  options.solver = cell.config.sample.solver;  // also of a method with samplers of its own
  options.device = device;
  const SampleResult s = sample(model, options);
  const SampledImages fake = images_like(real, s.samples);
  const ImageScores scores = evaluate_images(real, fake).scores;
  Json j = image_figures(real, fake, scores, inception);
  write_png(fmt::format("{}/{}.png", folder, cell.name),
            class_grid(real, fake, {scores.neighbours.nearest, scores.neighbours.distance}, 10));
  j["model"] = name, j["solver"] = options.solver, j["steps"] = model.step, j["skipped_steps"] = model.skipped;
  j["nfe"] = s.evaluations, j["diverged"] = s.diverged, j["sample_seconds"] = s.seconds;
  say(fmt::format("{:<18} {:>8} NFE {:>3}: {} {:.3f}, precision {:.3f}, recall {:.3f}, diverged {}", name,
                  options.solver, options.solve.nfe, j["fd_name"].get<std::string>(), j["fd"].get<double>(),
                  j["precision"].get<double>(), j["recall"].get<double>(), s.diverged));
  return j;
}

// The distance against the evaluations, one line for each model and solver.
report::Figure curves(const std::vector<Json>& results, bool one_seed) {
  std::vector<report::Series> series;
  const bool one_model =
      std::all_of(results.begin(), results.end(), [&](const Json& r) { return r["model"] == results[0]["model"]; });
  for (const Json& r : results) {
    const auto solver = r["solver"].get<std::string>();
    const auto model = r["model"].get<std::string>();
    const std::string name =
        one_model ? solver : (one_seed ? model.substr(0, model.rfind("-seed")) : model) + ", " + solver;
    if (series.empty() || series.back().name != name) series.push_back({.name = name});
    series.back().x.push_back(r["nfe"].get<double>()), series.back().y.push_back(r["fd"].get<double>());
  }
  report::ChartOptions chart;
  chart.x = {.label = "network evaluations", .scale = report::Scale::log};
  chart.y = {.label = "Frechet distance", .scale = report::Scale::log};
  return report::line_chart(series, chart);
}

// Of a set that holds more than the long tail, that of the official CIFAR-10: the long tail. A set that is one already,
// or a smaller one, is used as it is.
const std::string& subset_of(const std::string& path) {
  static std::map<std::string, std::string> known;
  std::string& subset = known[path];
  if (subset.empty()) {
    const std::vector<int64_t> there = read_images({.path = path, .kind = "cifar10"}).class_counts(),
                               wanted = long_tail_counts(static_cast<int64_t>(there.size()));
    const bool holds = std::equal(there.begin(), there.end(), wanted.begin(), std::greater_equal<>());
    subset = holds && there != wanted ? "long-tail" : "all";
  }
  return subset;
}

}  // namespace

std::vector<std::string> image_settings(const ReproduceOptions& o, int64_t epochs, int64_t seed) {
  return {"net.kind=unet",
          fmt::format("data.path={}", o.data),
          "data.kind=cifar10",
          fmt::format("data.subset={}", subset_of(o.data)),
          "data.flip=true",
          "train.batch=100",
          "train.lr=2e-4",
          "train.warmup=500",
          "train.lr_decay=0.99",
          "train.ema=0.9999",
          "train.ema_warmup=true",
          "train.keep=1",
          "train.checkpoint_steps=10000",
          "sample.solver=euler",
          "train.log_steps=500",
          "sample.n=12406",
          "sample.time_grid=clock",
          fmt::format("train.epochs={}", epochs),
          fmt::format("seed={}", seed)};
}

void check_image_options(const ReproduceOptions& o, const std::string& experiment) {
  if (o.data.empty() || o.features.empty())
    throw InputError(
        "[reproduce] expected --data (CIFAR-10 batches) and --features (a TorchScript file) for {}, got no {}",
        experiment, o.data.empty() ? "--data" : "--features");
  for (const std::string& path : {o.data, o.features})
    if (!std::filesystem::exists(path))
      throw InputError("[reproduce] {}: expected a file or folder, got nothing there", path);
}

ImageReference image_reference(const ReproduceOptions& o, const RunConfig& config, at::Device device) {
  return reference_with_status(read_images({o.data, config.data.kind, config.data.subset, config.data.imbalance}),
                               {.network = o.features, .device = device});
}

SampledImages images_like(const ImageReference& real, const at::Tensor& samples) {
  const ImageShape shape = real.images.shape();
  return sampled_images(samples.to(at::kFloat).view({samples.size(0), shape.channels, shape.height, shape.width}),
                        "samples");
}

Json image_figures(const ImageReference& real, const SampledImages& fake, const ImageScores& scores,
                   const std::string& inception) {
  Json j{{"fd", scores.distance.value},
         {"fd_name", real.network->distance_name(inception)},
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
  return j;
}

Json run_image_experiment(const ReproduceOptions& o, const ImageExperiment& e) {
  check_image_options(o, e.name);
  const at::Device device = choose_device(o.common.device, "unet");
  std::vector<Cell> cells;
  std::map<std::string, std::string>
      model_of;  // of a cell: what is trained, whose settings know nothing of the sampling
  for (const ImageVariant& v : e.variants) {
    for (int64_t k = 0; k < o.seeds; ++k) {
      std::vector<std::string> settings = image_settings(o, e.epochs, o.common.seed + k);
      settings.insert(settings.end(), v.settings.begin(), v.settings.end());
      settings.insert(settings.end(), o.settings.begin(), o.settings.end());
      const std::string name = fmt::format("{}-seed{}", v.name, o.common.seed + k);
      const RunConfig training = parse_config("", "reproduce", settings);
      for (const ImageRun& r : v.runs) {
        const std::string cell = fmt::format("{}-{}-{}", name, r.solver, r.nfe);
        if (!o.wants(v.name) && !o.wants(name) && !o.wants(cell)) continue;
        cells.push_back({cell, training});
        cells.back().config.sample.solver = r.solver, cells.back().config.sample.nfe = r.nfe;
        model_of[cells.back().name] = name;
      }
    }
  }
  std::optional<ImageReference> reference;  // where something is still to be scored
  std::optional<Model> model;               // that of the last cell; the next one is mostly of the same
  std::string trained;
  const auto work = [&](const Cell& c) {
    const std::string& name = model_of.at(c.name);
    if (!reference) reference = image_reference(o, c.config, device);
    if (trained != name) {
      make_folder(o.folder + "/runs");
      model.reset();
      model = train_with_status(c.config, {.folder = o.folder + "/runs/" + name, .device = device, .resume = true});
      trained = name;
    }
    return score_cell(name, c, *model, o.folder, *reference, o.inception, device);
  };
  std::vector<Json> results = run_cells(cells, o.folder, work, true);
  report::Table table;
  const auto distance = results[0]["fd_name"].get<std::string>();
  table.caption = fmt::format("{}; EMA weights. ", distance) +
                  (distance == "FID" ? "The paper's FID is of 2,000 epochs."
                                     : "The paper's FID is of another feature network and of 2,000 epochs: only orders "
                                       "within a column compare.");
  table.columns = {{"model"},
                   {"solver"},
                   {"NFE", report::Best::none, 0},
                   {distance == "FID" ? "FID" : "FD", report::Best::lowest, 3},
                   {"paper's FID", report::Best::none, 2},
                   {"precision", report::Best::highest, 3},
                   {"recall", report::Best::highest, 3},
                   {"diverged", report::Best::none, 0},
                   {"images of each class, first to last"}};
  fmt::print(table_output(),
             "| model | solver | NFE | {} | paper's FID | precision | recall | diverged | images of each class "
             "|\n|---|---|---|---|---|---|---|---|---|\n",
             distance);
  for (size_t i = 0; i < results.size(); ++i) {
    Json& r = results[i];
    std::string counts;
    for (const int64_t c : r["class_fake"].get<std::vector<int64_t>>())
      counts += fmt::format("{}{}", counts.empty() ? "" : " ", c);
    const auto name = r["model"].get<std::string>(), solver = r["solver"].get<std::string>();
    const auto nfe = r["nfe"].get<double>(), fd = r["fd"].get<double>(), precision = r["precision"].get<double>(),
               recall = r["recall"].get<double>(), diverged = r["diverged"].get<double>();
    // The paper's number of evaluations is that of the budget, also where a solver spends fewer.
    const std::optional<double> paper =
        paper_fid(e.name, name.substr(0, name.rfind("-seed")), solver, cells[i].config.sample.nfe);
    if (paper) r["paper_fid"] = *paper;
    const std::string printed = paper ? fmt::format("{:.{}f}", *paper, *paper < 100 ? 2 : 1) : "";  // its digits
    fmt::print(table_output(), "| {} | {} | {} | {:.3f} | {} | {:.3f} | {:.3f} | {} | {} |\n", name, solver, nfe, fd,
               printed, precision, recall, diverged, counts);
    table.add({name, solver, nfe, fd, printed, precision, recall, diverged, counts});
  }
  Json out{{"experiment", e.name}, {"cells", results}};
  report::Page page(e.title, e.summary);
  const report::Figure figure = curves(results, o.seeds == 1);
  page.section("Scores").figure(figure, "Frechet distance against network evaluations.").table(table);
  write_experiment(o.folder, e.name, page, out, &figure);
  return out;
}

Json reproduce_cifar10lt(const ReproduceOptions& o) { return run_image_experiment(o, image_equal_budget(o.published)); }
Json reproduce_cifar10lt_long(const ReproduceOptions& o) {
  return run_image_experiment(o, image_long_run(o.published));
}
Json reproduce_baselines(const ReproduceOptions& o) { return run_image_experiment(o, image_baselines(o.published)); }

}  // namespace htfm::app
