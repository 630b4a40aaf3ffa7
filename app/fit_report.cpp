#include "app/fit_report.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "app/fit_figures.h"
#include "htfm/model/description.h"
#include "htfm/io/json_lines.h"
#include "htfm/report/figures.h"
#include "htfm/report/text.h"
#include "htfm/model/run_folder.h"

namespace htfm::app {

LossRecord read_loss_record(const std::string& run_folder) {
  LossRecord out;
  const std::string log = RunFolder(run_folder).log();
  if (!std::filesystem::exists(log)) return out;
  for (const auto& line : JsonLines::read(log)) {
    if (!line.contains("step") || !line.contains("loss") || !line["loss"].is_number()) continue;
    out.step.push_back(line["step"]), out.loss.push_back(line["loss"]);
    if (line.contains("validation") && line["validation"].is_number())
      out.validated_step.push_back(line["step"]), out.validation.push_back(line["validation"]);
  }
  return out;
}

std::vector<std::string> comparison_sentences(const TableFit& fit) {
  std::vector<std::string> out;
  for (size_t m = 1; m < fit.scores.size(); ++m) {
    const QuantileYardstick::Score &own = fit.scores[0], &other = fit.scores[m];
    const std::string& name = fit.models[m].name;
    if (!std::isfinite(own.error) || !std::isfinite(other.error)) {
      out.push_back(fmt::format("{} cannot be compared: too many of the quantiles are zero.", name));
      continue;
    }
    const std::string figures = fmt::format("{:.3f} against {:.3f}, difference {:+.3f} in [{:+.3f}, {:+.3f}]", own.error, other.error,
                                            other.difference, other.lower, other.upper);
    if (!other.differs())
      out.push_back(
          fmt::format("{} is {} on the held-out rows, but the difference is inside its interval: they cannot tell the two apart ({}).",
                      name, other.difference > 0 ? "a little better" : "a little worse", figures));
    else
      out.push_back(fmt::format("{} is {} on the held-out rows, by more than chance ({}).", name, other.difference > 0 ? "better" : "worse",
                                figures));
  }
  return out;
}

namespace {

std::string column_name(const Dataset& data, int64_t k) {
  return k < static_cast<int64_t>(data.names.size()) && !data.names[k].empty() ? data.names[k] : fmt::format("column {}", k + 1);
}

void add_columns(report::Page& page, const TableFit& fit) {
  const Dataset& train = fit.plan.train;
  report::Table table;
  table.caption =
      "What each column was taken for, from the training rows. Whole numbers and decimals, bounds and values that occur very often are "
      "honoured in the samples; a constant column is restored as it was.";
  for (const char* title : {"column", "kind", "least", "median", "largest"}) table.columns.push_back({title});
  for (int64_t k = 0; k < fit.plan.transform.columns(); ++k) {
    const std::vector<double> v = sorted_column(train.rows, k);
    table.add({column_name(train, k), fit.plan.transform.describe(k), report::number(v.front()), report::number(v[v.size() / 2]),
               report::number(v.back())});
  }
  page.section("The table").table(table);
  if (!train.notes.empty()) {
    std::string text;
    for (const std::string& note : train.notes) text += (text.empty() ? "" : "; ") + note;
    page.text("On reading: " + text + ".");
  }
}

void add_comparison(report::Page& page, const TableFit& fit, const QuantileYardstick& yardstick) {
  page.section("Comparison");
  report::Table table;
  table.caption = fmt::format(
      "Mean absolute error of the logarithm of the quantiles {}: of each column's distance from its median, and of the radius of all "
      "columns in units of their quantile ranges; against {} held-out rows. The spread is that of drawing those rows anew; the last column "
      "is the error of "
      "{} minus this model's with its 95 % interval, below zero where {} is better.",
      fmt::join(yardstick.levels(), ", "), report::count(fit.plan.held_out.rows.size(0)), fit.models[0].name, fit.models[0].name);
  table.columns = {{"model"}, {"error", report::Best::lowest, 3}, {"radius", report::Best::lowest, 3}, {"difference"}};
  const size_t levels = yardstick.levels().size();
  for (size_t m = 0; m < fit.models.size(); ++m) {
    const auto& s = fit.scores[m];
    const std::vector<double> errors = yardstick.errors(fit.quantiles[m]);
    const double radius = finite_mean(std::span(errors).last(levels));
    report::Cell error(s.error);
    error.spread(s.standard_error);
    table.add({fit.models[m].name, error, radius,
               m == 0 ? report::Cell() : report::Cell(fmt::format("{:+.3f} [{:+.3f}, {:+.3f}]", s.difference, s.lower, s.upper))});
  }
  page.table(table);
  std::string text;
  for (const std::string& sentence : comparison_sentences(fit)) text += sentence + " ";
  page.remark(text);
}

}  // namespace

std::string fit_page(const TableFit& fit, const QuantileYardstick* yardstick) {
  const RunConfig& config = fit.plan.model;
  report::Page page("A model of " + std::filesystem::path(config.data.path).filename().string(),
                    fmt::format("{} columns, {} rows to train on, {} held out. Heavy-tailed flow matching with the clock {}.",
                                fit.plan.transform.columns(), report::count(fit.plan.train.rows.size(0)),
                                report::count(fit.plan.held_out.rows.size(0)), config.clock.describe()));
  std::vector<report::Highlight> highlights{{"tails", verdict_name(fit.plan.diagnosis.verdict), fit.plan.diagnosis.decisive()->name}};
  if (!fit.scores.empty()) {
    size_t best = 0;
    for (size_t m = 1; m < fit.scores.size(); ++m)
      if (fit.scores[m].error < fit.scores[best].error) best = m;
    highlights.push_back({"error of far quantiles", report::fixed(fit.scores[0].error, 3),
                          best == 0 ? "the least of " + std::to_string(fit.scores.size()) + " models"
                                    : fmt::format("{}: {:.3f}{}", fit.models[best].name, fit.scores[best].error,
                                                  fit.scores[best].differs() ? "" : ", not told apart")});
  }
  highlights.push_back({"time", duration_text(fit.seconds), fmt::format("{} steps", report::count(fit.steps))});
  page.highlights(highlights);
  if (fit.diverged > 0) page.warning(fmt::format("{} of the samples are not finite.", fit.diverged));
  if (fit.plan.train.rows.size(0) < 500)
    page.warning(fmt::format("{} rows say little about extremes: whatever lies beyond the data is an extrapolation of the fitted tail.",
                             fit.plan.train.rows.size(0)));

  if (yardstick) add_comparison(page, fit, *yardstick);
  add_columns(page, fit);
  page.section("Tails and clock").text(fit.plan.clock.explanation);
  add_radius_figures(page, fit);
  add_column_figures(page, fit);
  if (fit.plan.transform.dim() > 1) {
    add_pairs(page, fit);
    add_tail_dependence(page, fit);
  }

  page.section("Training");
  std::vector<report::Series> series;
  if (!fit.losses.step.empty()) series.push_back({.name = "training", .x = fit.losses.step, .y = fit.losses.loss});
  if (!fit.losses.validation.empty())
    series.push_back({.name = "rows set apart", .x = fit.losses.validated_step, .y = fit.losses.validation});
  if (!series.empty())
    page.figure(
        report::loss_curve(series, {.smoothing = 0}),
        fmt::format(
            "Loss against the step. The weights of step {} are kept, the ones with the least loss on rows that were not trained on.",
            fit.best_step > 0 ? fit.best_step : fit.steps));
  page.section("Configuration").configuration(configuration_entries(config));
  page.provenance({{"command", fit.command},
                   {"program", version_text()},
                   {"data", fit.plan.train.origin},
                   {"data hash", fit.plan.train.hash},
                   {"weights", fit.weights_hash},
                   {"samples", fmt::format("{} with {}, {:.0f} evaluations each", report::count(fit.models[0].rows.size(0)),
                                           sample_options(config).solver, fit.evaluations)}});
  return page.html();
}

}  // namespace htfm::app
