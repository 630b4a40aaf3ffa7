#include "htfm/page/run_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "htfm/model/description.h"
#include "htfm/page/curve_figure.h"
#include "htfm/page/given_table.h"
#include "htfm/report/figures.h"

namespace htfm {

namespace {

// Scores that stand in a table, with the direction in which they are good and how they are printed.
struct RunScoreColumn {
  const char* name;
  const char* title;
  report::Best best;
  int decimals;
};
constexpr RunScoreColumn kBulkScores[] = {{"f1_prd", "f1_prd", report::Best::highest, 3},
                                          {"f1_knn", "f1_knn", report::Best::highest, 4},
                                          {"w1_sliced", "w1_sliced", report::Best::lowest, 3},
                                          {"w1_pooled", "w1_pooled", report::Best::lowest, 3},
                                          {"mmd", "mmd", report::Best::lowest, 4}};
constexpr RunScoreColumn kTailScores[] = {{"log_q_0.99", "log q 0.99", report::Best::none, 2},
                                          {"log_q_0.999", "log q 0.999", report::Best::none, 2},
                                          {"log_q_0.9999", "log q 0.9999", report::Best::none, 2},
                                          {"hill_fake", "Hill index", report::Best::none, 2}};

report::Table run_score_table(const std::vector<ScoredRun>& runs, const RunReference& reference,
                              std::span<const RunScoreColumn> columns, std::string caption) {
  report::Table table;
  table.caption = std::move(caption);
  table.columns.push_back({"model"});
  table.columns.push_back({"NFE", report::Best::none, 0});
  for (const RunScoreColumn& c : columns) table.columns.push_back({c.title, c.best, c.decimals});
  const auto add_row = [&](std::vector<report::Cell> cells, const MetricReport& scores) -> report::Row& {
    for (const RunScoreColumn& c : columns) cells.emplace_back(scores[c.name]);
    return table.add(std::move(cells));
  };
  for (const ScoredRun& r : runs) add_row({r.name, r.sampled.evaluations}, r.scores);
  if (reference.yardstick)
    add_row({"two fresh draws of the data", report::Cell()}, *reference.yardstick).reference = true;
  return table;
}

std::string hill_text(const MetricReport& scores) {
  const double index = scores["hill_real"];
  if (!std::isfinite(index)) return "of the data there are too few points";
  return fmt::format("the data has {:.2f} ± {:.2f}", index, scores["hill_real_se"]);
}

void add_run_scores(report::Page& page, const std::vector<ScoredRun>& runs, const RunReference& reference) {
  page.section("Scores")
      .table(run_score_table(runs, reference, kBulkScores,
                             fmt::format("The bulk: scores against {}.", reference.description)))
      .table(run_score_table(runs, reference, kTailScores,
                             fmt::format("The tails of the radius. log q p: logarithm of the model's p-quantile over "
                                         "the data's, 0 is right, -1 means 2.7 times "
                                         "too small. Hill index of the largest 0.5 %: {}, and a larger one means a "
                                         "lighter tail.",
                                         hill_text(runs.front().scores))));
}

void add_run_pictures(report::Page& page, const std::vector<ScoredRun>& runs, const RunReference& reference) {
  std::vector<report::PointPanel> panels;
  if (reference.data.rows.size(1) >= 2) {
    panels.push_back({.title = "data", .points = reference.data.rows});
    for (const ScoredRun& r : runs)
      panels.push_back(
          {.title = r.name, .points = r.sampled.samples, .note = fmt::format("f1_prd {:.3f}", r.scores["f1_prd"])});
    page.section("Samples").figure(
        report::scatter_panels(panels, {.label = "Data and samples of each model"}),
        fmt::format("Data and samples in one window, thinned. Solver: {}, {:.0f} network evaluations per sample.",
                    runs.front().options.solver, runs.front().sampled.evaluations));
  }

  const std::vector<double>& centre = runs.front().scores.tails->center;
  std::vector<report::Sample> tails;
  tails.reserve(runs.size());
  for (const ScoredRun& r : runs) tails.push_back({.name = r.name, .values = report::radii(r.sampled.samples, centre)});
  report::TailOptions tail_options;
  for (const ScoredRun& r : runs)
    if (const double p = r.model.method().tail_exponent(); std::isfinite(p)) {
      tail_options.slopes = {p};
      break;
    }
  page.section("Tails").figure(
      report::radial_tail({.name = "data", .values = report::radii(reference.data.rows, centre)}, tails, tail_options),
      "How often a point lies at least r from the centre. A power law is a straight line; a model whose line "
      "drops below the data's makes extremes too rare or too small.");
  report::QuantileOptions quantile_options;
  quantile_options.x = {.label = "quantile of the data's radius", .scale = report::Scale::log};
  quantile_options.y = {.label = "quantile of the samples' radius", .scale = report::Scale::log};
  page.figure(report::quantile_plot({.name = "data", .values = report::radii(reference.data.rows, centre)}, tails,
                                    quantile_options),
              "Quantiles of the samples' radius against those of the data: the diagonal is right.");
}

// "1 in 10,000".
std::string one_in_text(double n) {
  std::string digits = fmt::format("{:.0f}", n);
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), ",");
  return "1 in " + digits;
}

void add_far_quantile_table(report::Page& page, const FarQuantiles& far) {
  report::Table table;
  table.caption = fmt::format(
      "Beyond the data: the radius that one point in this many exceeds. The models saw {} points; the radii of the "
      "distribution come from {} million draws, those of the models from {} samples each.",
      far.training_points, far.law_draws / 1'000'000, far.draws);
  table.columns.push_back({""});
  for (const double n : far.one_in) table.columns.push_back({one_in_text(n), report::Best::none, 1});
  const auto add = [&](const std::string& name, const std::vector<double>& values) -> report::Row& {
    std::vector<report::Cell> cells{name};
    for (const double v : values) cells.push_back(std::isfinite(v) ? report::Cell(v) : report::Cell());
    return table.add(std::move(cells));
  };
  for (const FarQuantiles::Of& m : far.models) add(m.name, m.quantile);
  add("the training points themselves", far.training);
  add("the distribution of the data", far.law).reference = true;
  page.table(table);
}

void add_run_clocks(report::Page& page, const std::vector<ScoredRun>& runs) {
  std::vector<report::ClockFamily> families;
  for (const ScoredRun& r : runs) {
    const Clock& clock = r.model.method().clock();
    const ClockSample drawn = clock.sample(Key(r.options.seed).child("sample").child("clock"), {.count = 24});
    families.push_back(
        {.name = r.name, .paths = drawn.paths, .jumps = clock.natural_feature() == NaturalFeature::path});
  }
  page.section("Clocks").figure(report::clock_paths(families),
                                "Clocks that were drawn: given its clock a sample starts from a Gaussian whose "
                                "variance is twice the area under the "
                                "path. Rare large clocks make the source heavy-tailed.");
  for (const ScoredRun& r : runs)
    if (!r.model.clock_explanation().empty()) page.text(fmt::format("{}: {}", r.name, r.model.clock_explanation()));
  page.text("What the network is told about a clock: " + [&] {
    std::string all;
    for (const ScoredRun& r : runs)
      all += fmt::format("{}{}: `{}`", all.empty() ? "" : "; ", r.name, r.model.method().feature().description());
    return all;
  }() + ".");
}

void add_run_curves(report::Page& page, const std::vector<ScoredRun>& runs) {
  bool first = true;
  for (const ScoredRun& r : runs) {
    if (!r.model.config().path.learn) continue;
    if (std::exchange(first, false)) page.section("Learned schedule");
    const LearnedSchedule& learned = *r.model.flow().learned();
    page.figure(curve_figure(learned, r.model.method().clock()),
                fmt::format("{}: how far the learned paths leave the straight line, for clocks at the 5 %, 50 % and 95 "
                            "% quantiles of their "
                            "first coordinate (averaged curves).",
                            r.name));
    std::string text;
    for (int64_t k = 0; k < learned.curves(); ++k)
      text += fmt::format("path.{} = \"{}\"\n", learned.curves() == 1 ? "c" : k == 0 ? "a" : "b", learned.text(k));
    page.code(text, "The same as fixed curves.");
  }
}

void add_run_training(report::Page& page, const std::vector<ScoredRun>& runs) {
  std::vector<report::Series> series;
  for (const ScoredRun& r : runs) {
    report::Series s{.name = r.name};
    s.x = r.losses.step, s.y = r.losses.loss;
    if (!s.x.empty()) series.push_back(std::move(s));
  }
  page.section("Training");
  if (!series.empty())
    page.figure(
        report::loss_curve(series),
        "The method's loss (HTFM: mean squared error of the preconditioned network) against the training step.");
  int64_t skipped = 0;
  for (const ScoredRun& r : runs) skipped += r.model.skipped;
  if (skipped > 0)
    page.warning(fmt::format("{} training steps were skipped because loss or gradient was not finite.", skipped));
}

}  // namespace

std::string run_page(const RunPageText& text, const std::vector<ScoredRun>& runs, const RunReference& reference,
                     const FarQuantiles* far) {
  report::Page page(text.title, text.lead);
  int64_t diverged = 0;
  for (const ScoredRun& r : runs) diverged += r.sampled.diverged;
  const auto best = std::max_element(runs.begin(), runs.end(), [](const ScoredRun& a, const ScoredRun& b) {
    return a.scores["f1_prd"] < b.scores["f1_prd"];
  });
  std::vector<report::Highlight> highlights{
      {"mode coverage", fmt::format("{:.3f}", best->scores["f1_prd"]),
       reference.yardstick
           ? fmt::format("f1_prd of {}; two fresh draws: {:.3f}", best->name, (*reference.yardstick)["f1_prd"])
           : "f1_prd of " + best->name},
      {"evaluations a sample", fmt::format("{:.0f}", best->sampled.evaluations), best->options.solver},
      {"samples that diverged", fmt::format("{}", diverged),
       fmt::format("of {}", static_cast<int64_t>(runs.size()) * runs.front().options.n)}};
  page.highlights(highlights);
  add_run_pictures(page, runs, reference);
  add_run_scores(page, runs, reference);
  if (far) add_far_quantile_table(page, *far);
  for (const ScoredRun& r : runs)
    if (r.sampled.conditions.defined() && !reference.data.conditions.columns.empty())
      add_given_section(page, r.model.condition().describe(),
                        quantiles_given(reference.data.conditions.columns, reference.data.names,
                                        {reference.data.rows, reference.data.conditions.values},
                                        {r.sampled.samples, r.sampled.conditions}));
  add_run_clocks(page, runs);
  add_run_curves(page, runs);
  add_run_training(page, runs);
  page.section("Configuration");
  const report::KeyValues first = config_entries(runs.front().model.config());
  for (const ScoredRun& r : runs) {
    report::KeyValues own = config_entries(r.model.config());
    if (&r != &runs.front())
      std::erase_if(own,
                    [&](const auto& entry) { return std::find(first.begin(), first.end(), entry) != first.end(); });
    if (runs.size() > 1) page.heading(&r == &runs.front() ? r.name : r.name + ": what differs");
    page.configuration(own);
  }
  report::KeyValues provenance = text.provenance;
  provenance.insert(provenance.end(), {{"reference", reference.description}, {"reference hash", reference.data.hash}});
  for (const ScoredRun& r : runs)
    provenance.emplace_back(
        r.name,
        fmt::format("step {}, averaged weights {}, data {} ({}), {} samples with seed {}, NFE really spent {:.2f}",
                    r.model.step, r.model.weights_hash(), r.model.data_hash(), r.model.data_origin(), r.options.n,
                    r.options.seed, r.sampled.evaluations));
  page.provenance(provenance);
  return page.html();
}

std::string scores_text(const std::vector<ScoredRun>& runs) {
  const std::vector<MetricValue>& scores = runs.front().scores.values;
  size_t first = std::string_view("score").size();
  for (const MetricValue& v : scores) first = std::max(first, v.name.size());
  const auto width = [](const ScoredRun& run) { return std::max<size_t>(10, run.name.size()); };
  std::string out = fmt::format("{:<{}}", "score", first);
  for (const ScoredRun& run : runs) out += fmt::format("  {:>{}}", run.name, width(run));
  for (const MetricValue& v : scores) {
    out += fmt::format("\n{:<{}}", v.name, first);
    for (const ScoredRun& run : runs) {
      const double score = run.scores[v.name];
      out += fmt::format("  {:>{}}", std::isnan(score) ? "-" : fmt::format("{:.5g}", score), width(run));
    }
  }
  return out + "\n";
}

}  // namespace htfm
