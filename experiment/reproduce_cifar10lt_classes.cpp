// CIFAR10-LT by class: one network without and one with the class, the latter at several strengths of guidance.
#include <ATen/ops/arange.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "app/progress.h"
#include "experiment/image_experiment.h"
#include "htfm/device/choose_device.h"
#include "htfm/io/file.h"
#include "htfm/io/png.h"
#include "htfm/page/class_grid.h"
#include "htfm/report/figures.h"
#include "htfm/report/page.h"

namespace htfm::app {

namespace {

constexpr double kGuidance[] = {0, 1, 2, 4};
constexpr int64_t kShown = 10;  // samples of a class in a picture

struct ClassCell {
  Cell cell;
  std::string model;  // its name in runs/, whose settings know nothing of the sampling
};

std::vector<ClassCell> class_cells(const ReproduceOptions& o) {
  const std::vector<ImageRun> runs{{"ab2", 20}, {"stochastic", 20}};
  const ImageVariant plain = our_images(1.7, runs);
  ImageVariant given = plain;
  given.name = "given-alpha-1.7";
  given.settings.insert(given.settings.end(), {"condition.label=true", "condition.drop=0.1"});
  std::vector<ClassCell> out;
  for (int64_t k = 0; k < o.seeds; ++k)
    for (const ImageVariant& v : {plain, given}) {
      std::vector<std::string> settings = image_settings(o, kImageEpochs, o.common.seed + k);
      settings.insert(settings.end(), v.settings.begin(), v.settings.end());
      settings.insert(settings.end(), o.settings.begin(), o.settings.end());
      const std::string model = fmt::format("{}-seed{}", v.name, o.common.seed + k);
      const RunConfig training = parse_config("", "reproduce", settings);
      for (const ImageRun& r : v.runs)
        for (const double w : kGuidance) {
          if (w > 0 && !training.condition.there()) continue;
          const std::string name = fmt::format("{}-{}-{}-classes-w{}", model, r.solver, r.nfe, w);
          if (!o.wants(name)) continue;
          out.push_back({{name, training}, model});
          SampleConfig& sampling = out.back().cell.config.sample;
          sampling.solver = r.solver, sampling.nfe = r.nfe, sampling.guidance = w;
        }
    }
  return out;
}

struct ByClass {
  SampledImages images;
  at::Tensor features, asked;  // of the finite ones
};

// As many samples of each class, one class after the other.
ByClass draw_by_class(const Model& model, SampleOptions options, const ImageReference& real) {
  const auto classes = static_cast<int64_t>(real.images.classes.size());
  options.condition = {at::arange(classes, at::kDouble).view({classes, 1}), std::max<int64_t>(2, options.n / classes)};
  options.n = classes * options.condition.each, options.seed += 1;  // other samples than those by the data's shares
  const SampleResult drawn = sample(model, options);
  SampledImages images = images_like(real, drawn.samples);
  const at::Tensor features = (*real.network)(images.pixels, real.batch);
  const at::Tensor asked = images.of_kept(drawn.conditions.view({-1}).to(at::kLong));
  images.kept = at::Tensor();
  return {std::move(images), features, asked};
}

Json finite_list(const std::vector<ClassScore>& classes, double ClassScore::*figure) {
  Json out = Json::array();
  for (const ClassScore& c : classes) out.push_back(std::isfinite(c.*figure) ? Json(c.*figure) : Json());
  return out;
}

// Two sets of samples: one with the classes in the data's shares, as an unconditional model draws them, for distance
// and recall; one with as many of each class, for the scores by class. Samples of a model that is not told the class
// count to that of their nearest real image.
Json score_cell(const ClassCell& c, const Model& model, const ReproduceOptions& o, const ImageReference& real,
                at::Device device) {
  SampleOptions options = sample_options(c.cell.config);
  options.device = device;
  const SampleResult drawn = sample(model, options);
  const SampledImages all = images_like(real, drawn.samples);
  const ImageEvaluation evaluation = evaluate_images(real, all);
  const ImageScores& scores = evaluation.scores;
  Json j = image_figures(real, all, scores, o.inception);
  const ByClass own =
      model.condition().there()
          ? draw_by_class(model, options, real)
          : ByClass{{all.pixels}, evaluation.features, real.images.labels.index_select(0, scores.neighbours.nearest)};
  const ClassScores by_class = evaluate_classes(real, own.features, own.asked);
  const auto classes = static_cast<int64_t>(real.images.classes.size());
  write_png(fmt::format("{}/{}.png", o.folder, c.cell.name), given_class_grid(own.images, own.asked, classes, kShown));
  const std::vector<int64_t> counts = real.images.class_counts();
  const auto rarest = static_cast<size_t>(std::min_element(counts.begin(), counts.end()) - counts.begin());
  j["cell"] = c.cell.name, j["model"] = c.model, j["told"] = model.condition().there(),
  j["guidance"] = options.guidance;
  j["solver"] = options.solver, j["nfe"] = drawn.evaluations, j["diverged"] = drawn.diverged;
  j["steps"] = model.step, j["skipped_steps"] = model.skipped, j["sample_seconds"] = drawn.seconds;
  j["rarest_class"] = real.images.classes[rarest], j["rarest_recall"] = scores.classes[rarest].recall;
  j["class_fd"] = finite_list(by_class.classes, &ClassScore::distance), j["class_fd_mean"] = by_class.distance;
  if (model.condition().there()) {  // otherwise nothing was asked for
    j["class_accuracy"] = finite_list(by_class.classes, &ClassScore::accuracy);
    j["class_nearest"] = finite_list(by_class.classes, &ClassScore::nearest);
    j["accuracy"] = by_class.accuracy, j["nearest"] = by_class.nearest;
    const std::vector<double> perfect = real_class_accuracy(real.reference.features, real.images.labels, classes);
    j["real_class_accuracy"] = perfect, j["real_accuracy"] = mean_spread(perfect).mean;
  }
  say(fmt::format("{}: {} {:.3f}, by class {:.3f}, accuracy {}, rarest recall {:.3f}, diverged {}", c.cell.name,
                  j["fd_name"].get<std::string>(), j["fd"].get<double>(), by_class.distance,
                  j.contains("accuracy") ? fmt::format("{:.3f}", by_class.accuracy) : "none",
                  scores.classes[rarest].recall, drawn.diverged));
  return j;
}

struct Shown {
  const char *title, *key;
  report::Best best;
  int digits;
};

report::Table score_table(const std::vector<Json>& results) {
  const std::vector<Shown> shown{{"guidance", "guidance", report::Best::none, 0},
                                 {"NFE", "nfe", report::Best::none, 0},
                                 {"FD", "fd", report::Best::lowest, 3},
                                 {"precision", "precision", report::Best::highest, 3},
                                 {"recall", "recall", report::Best::highest, 3},
                                 {"rarest class's recall", "rarest_recall", report::Best::highest, 3},
                                 {"FD, mean of classes", "class_fd_mean", report::Best::lowest, 3},
                                 {"nearest class mean is the one asked for", "accuracy", report::Best::highest, 3},
                                 {"the same of real images", "real_accuracy", report::Best::none, 3},
                                 {"nearest image is of it", "nearest", report::Best::highest, 3}};
  report::Table table;
  table.caption = fmt::format(
      "{}; EMA weights. FD, precision and recall of samples with the classes in the data's shares; the rest of as many "
      "samples of each class, or, without a class, of those whose nearest image is of it.",
      results[0]["fd_name"].get<std::string>());
  table.columns = {{"model"}, {"solver"}};
  std::string head = "| model | solver |", line = "|---|---|";
  for (const Shown& s : shown) {
    table.columns.push_back({s.title, s.best, s.digits});
    head += fmt::format(" {} |", s.title), line += "---|";
  }
  fmt::print(table_output(), "{}\n{}\n", head, line);
  for (const Json& r : results) {
    const auto model = r["model"].get<std::string>(), solver = r["solver"].get<std::string>();
    std::vector<report::Cell> row{model, solver};
    std::string text = fmt::format("| {} | {} |", model, solver);
    for (const Shown& s : shown) {
      const bool there = r.contains(s.key) && r[s.key].is_number();
      if (there)
        row.emplace_back(r[s.key].get<double>());
      else
        row.emplace_back("");
      text += there ? fmt::format(" {:.{}f} |", r[s.key].get<double>(), s.digits) : "  |";
    }
    fmt::print(table_output(), "{}\n", text);
    table.add(std::move(row));
  }
  return table;
}

// Distance against guidance: that of all, and the mean of the classes.
report::Figure guidance_curves(const std::vector<Json>& results) {
  std::vector<report::Series> series;
  for (const char* key : {"fd", "class_fd_mean"})
    for (const Json& r : results) {
      if (!r["told"].get<bool>() || !r[key].is_number()) continue;
      const std::string name = fmt::format("{}, {}, {}", r["model"].get<std::string>(), r["solver"].get<std::string>(),
                                           key == std::string("fd") ? "all images" : "mean of classes");
      if (series.empty() || series.back().name != name) series.push_back({.name = name});
      series.back().x.push_back(r["guidance"].get<double>()), series.back().y.push_back(r[key].get<double>());
    }
  report::ChartOptions chart;
  chart.x = {.label = "guidance"};
  chart.y = {.label = "Frechet distance", .scale = report::Scale::log};
  return report::line_chart(series, chart);
}

}  // namespace

Json reproduce_cifar10lt_classes(const ReproduceOptions& o) {
  check_image_options(o, "cifar10lt-classes");
  const at::Device device = choose_device(o.common.device, "unet");
  const std::vector<ClassCell> own = class_cells(o);
  std::vector<Cell> cells;
  std::map<std::string, const ClassCell*> by_name;
  for (const ClassCell& c : own) cells.push_back(c.cell), by_name[c.cell.name] = &c;
  std::optional<ImageReference> reference;  // where something is still to be scored
  std::optional<Model> model;               // that of the last cell; the next one is mostly of the same
  std::string trained;
  const auto work = [&](const Cell& cell) {
    const ClassCell& c = *by_name.at(cell.name);
    if (!reference) reference = image_reference(o, cell.config, device);
    if (trained != c.model) {
      make_folder(o.folder + "/runs");
      model.reset();
      model =
          train_with_status(cell.config, {.folder = o.folder + "/runs/" + c.model, .device = device, .resume = true});
      trained = c.model;
    }
    return score_cell(c, *model, o, *reference, device);
  };
  const std::vector<Json> results = run_cells(cells, o.folder, work, true);
  Json out{{"experiment", "cifar10lt-classes"}, {"cells", results}};
  report::Page page("CIFAR10-LT by class", "A network that is told the class, and guidance.");
  page.section("Scores").table(score_table(results));
  const report::Figure figure = guidance_curves(results);
  page.section("Guidance").figure(figure, "Frechet distance against the strength of guidance.");
  add_pictures(page, "Samples", cells, o.folder, "one row a class, the first samples as they come.");
  write_experiment(o.folder, "cifar10lt-classes", page, out, &figure);
  return out;
}

}  // namespace htfm::app
