#include "htfm/page/fit_page.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/page/fit_figures.h"
#include "htfm/page/given_table.h"
#include "htfm/page/joint_text.h"
#include "htfm/page/risk_text.h"
#include "htfm/report/figures.h"
#include "htfm/report/text.h"
#include "htfm/sample/sampler.h"

namespace htfm {

namespace {

void add_columns(report::Page& page, const TableFit& fit) {
  const Dataset& train = fit.plan.train;
  report::Table table;
  table.caption =
      "What each column was recognised as, from the training rows. Samples keep whole numbers and decimals, bounds, "
      "and values that occur very often; a constant column is restored as it was.";
  for (const char* title : {"column", "kind", "least", "median", "largest"}) table.columns.push_back({title});
  for (int64_t k = 0; k < fit.plan.transform.columns(); ++k) {
    const std::vector<double> v = sorted_column(train.rows, k);
    const bool texts = !train.columns.empty() && train.columns[static_cast<size_t>(k)].kind != ColumnKind::number;
    const auto cell = [&](double value) {
      return texts ? report::Cell(train.columns[static_cast<size_t>(k)].text(value)) : report::number(value);
    };
    const bool category = texts && train.columns[static_cast<size_t>(k)].is_category();
    if (v.empty() || category)
      table.add({column_name(train, k), describe_column(fit.plan, k), report::Cell(), report::Cell(), report::Cell()});
    else
      table.add({column_name(train, k), describe_column(fit.plan, k), cell(v.front()), cell(v[v.size() / 2]),
                 cell(v.back())});
  }
  page.section("The table").table(table);
  if (!train.notes.empty()) {
    std::string text;
    for (const std::string& note : train.notes) text += (text.empty() ? "" : "; ") + note;
    page.text("On reading: " + text + ".");
  }
}

void add_discrete(report::Page& page, const TableFit& fit) {
  if (fit.discrete.empty()) return;
  report::Table table;
  table.caption =
      "Categories, numbers of few values, values that occur very often, and gaps: half the sum of differences between "
      "the shares in the held-out rows and in the samples, and the shares that are missing in both.";
  table.columns = {{"column"}, {"difference", report::Best::none, 3}, {"missing, held out"}, {"missing, samples"}};
  for (const DiscreteShares& d : fit.discrete)
    table.add({column_name(fit.plan.train, d.column), d.distance, fmt::format("{:.3g} %", 100 * d.missing),
               fmt::format("{:.3g} %", 100 * d.missing_drawn)});
  page.section("What is discrete").table(table);
}

void add_privacy(report::Page& page, const TableFit& fit) {
  if (!fit.copies) return;
  page.section("Privacy");
  report::Table table;
  table.caption = fmt::format(
      "Distance to the closest of {} training rows: of {} samples of the judged model, and of {} held-out rows, which "
      "it "
      "has never seen. A distance is the mean over the columns of the difference in rank, or 1 where categories "
      "differ. "
      "Near copies are rows that are closer to a training row than all but 5 % of the held-out ones; equal ones agree "
      "in "
      "every column.",
      report::count(fit.plan.train.rows.size(0)), report::count(fit.copies->samples_seen),
      report::count(fit.copies->held_out_seen));
  table.columns = {{"rows"}, {"median distance", report::Best::none, 4}, {"near copies"}, {"equal rows"}};
  table.add({"samples", fit.copies->median_samples, fmt::format("{:.2f} %", 100 * fit.copies->samples),
             fmt::format("{:.2f} %", 100 * fit.copies->exact_samples)});
  table.add({"held out", fit.copies->median_held_out, fmt::format("{:.2f} %", 100 * fit.copies->held_out),
             fmt::format("{:.2f} %", 100 * fit.copies->exact_held_out)});
  page.table(table);
  page.remark(fit.copies->sentence());
}

void add_comparison(report::Page& page, const TableFit& fit) {
  const QuantileYardstick& yardstick = *fit.yardstick;
  page.section("Comparison");
  report::Table table;
  table.caption = fmt::format(
      "Mean absolute error of the logarithm of the quantiles {}: of each column's distance from its median, and of the "
      "radius of all columns in units of their quantile ranges; against {} held-out rows. The spread comes from a "
      "bootstrap of those rows; the last column is the error of {} minus this model's, with a 95 % interval, below "
      "zero if {} is better.",
      fmt::join(yardstick.levels(), ", "), report::count(fit.plan.held_out.rows.size(0)), fit.models[0].name,
      fit.models[0].name);
  table.columns = {{"model"}, {"error", report::Best::lowest, 3}, {"radius", report::Best::lowest, 3}, {"difference"}};
  const size_t levels = yardstick.levels().size();
  for (const TableModel& m : fit.models) {
    const QuantileYardstick::Score& s = m.score;
    const std::vector<double> errors = yardstick.errors(m.quantiles);
    const double radius = finite_mean(std::span(errors).last(levels));
    report::Cell error(s.error);
    error.spread(s.standard_error);
    table.add({m.name, error, radius,
               &m == &fit.models[0]
                   ? report::Cell()
                   : report::Cell(fmt::format("{:+.3f} [{:+.3f}, {:+.3f}]", s.difference, s.lower, s.upper))});
  }
  page.table(table);
  std::string text;
  for (const std::string& sentence : comparison_sentences(fit)) text += sentence + " ";
  page.remark(text);
}

std::string page_title(const TableFit& fit) {
  const std::string& path = fit.plan.model.data.path;
  return "A model of " + (path.empty() ? fit.plan.train.origin : std::filesystem::path(path).filename().string());
}

void add_highlights(report::Page& page, const TableFit& fit) {
  std::vector<report::Highlight> highlights{
      {"tails", verdict_name(fit.plan.diagnosis.verdict), fit.plan.diagnosis.decisive()->name}};
  if (fit.yardstick) {
    const TableModel* best = &fit.models[0];
    for (const TableModel& m : fit.models)
      if (m.score.error < best->score.error) best = &m;
    highlights.push_back({"error of far quantiles", report::fixed(fit.models[0].score.error, 3),
                          best == &fit.models[0] ? "the least of " + std::to_string(fit.models.size()) + " models"
                                                 : fmt::format("{}: {:.3f}{}", best->name, best->score.error,
                                                               best->score.differs() ? "" : ", no clear difference")});
  }
  highlights.push_back({"time", report::duration(fit.seconds), fmt::format("{} steps", report::count(fit.model.step))});
  page.highlights(highlights);
  if (fit.diverged > 0) page.warning(fmt::format("{} of the samples are not finite.", fit.diverged));
  if (const int64_t rows = fit.plan.train.rows.size(0); rows < 500)
    page.warning(fmt::format(
        "{} rows say little about extremes: whatever lies beyond the data is an extrapolation of the fitted tail.",
        rows));
}

void add_risk(report::Page& page, const TableFit& fit) {
  try {
    RiskOptions options{.rows = &fit.rows};
    // Each round draws all rows anew: fewer of very many, whose laws are the more certain.
    options.rounds = std::clamp<int64_t>(50'000'000 / std::max<int64_t>(1, fit.rows.rows.size(0)), 50, options.rounds);
    if (fit.leisure < 1) {
      options.rounds = std::max<int64_t>(50, std::llround(fit.leisure * static_cast<double>(options.rounds)));
      if (fit.rows.rows.size(1) <= 16) options.n = std::llround(fit.leisure * 100000);  // of more columns they are few
    }
    add_risk_section(page, risk(fit.model, options));
    page.remark(
        "`htfm risk RUN --losses low --portfolio weights.csv` takes small values as losses, and adds a weighted "
        "sum of columns.");
  } catch (const InputError& e) {
    page.section("Risk").remark(fmt::format("No figures of risk: {}.", e.what()));
  }
}

void add_training(report::Page& page, const TableFit& fit) {
  page.section("Training");
  std::vector<report::Series> series;
  if (!fit.losses.step.empty()) series.push_back({.name = "training", .x = fit.losses.step, .y = fit.losses.loss});
  if (!fit.losses.validation.empty())
    series.push_back({.name = "rows not trained on", .x = fit.losses.validated_step, .y = fit.losses.validation});
  if (!series.empty())
    page.figure(report::loss_curve(series, {.smoothing = 0}),
                fmt::format("Loss of the judged model against the step. The weights of step {} are kept: they have the "
                            "lowest loss on the rows that were not trained on.{}",
                            fit.judged_step,
                            fit.refitted ? fmt::format(" The final model was then trained on all rows, for {} steps.",
                                                       fit.model.step)
                                         : ""));
}

}  // namespace

std::string fit_page(const TableFit& fit, const report::KeyValues& origin) {
  const TablePlan& plan = fit.plan;
  report::Page page(
      page_title(fit),
      fmt::format("{} columns, {} rows to train on, {} held out. Heavy-tailed flow matching with the clock {}.",
                  plan.transform.columns(), report::count(plan.train.rows.size(0)),
                  report::count(plan.held_out.rows.size(0)), plan.model.clock.describe()));
  add_highlights(page, fit);
  if (fit.yardstick) add_comparison(page, fit);
  add_columns(page, fit);
  add_discrete(page, fit);
  if (const TableModel& own = fit.models[0]; own.conditions.defined()) {
    // Rows that the judged model has not seen, where there are any.
    const Dataset& data = plan.held_out.rows.size(0) > 1 ? plan.held_out : plan.train;
    add_given_section(page, fit.model.condition().describe(),
                      quantiles_given(data.conditions.columns, data.names, {data.rows, data.conditions.values},
                                      {own.rows, own.conditions}));
  }
  page.section("Tails and clock").text(plan.clock.explanation);
  add_joint_section(page, plan.joint);
  add_radius_figures(page, fit);
  add_column_figures(page, fit);
  if (plan.transform.dim() > 1) {
    add_pairs(page, fit);
    add_tail_dependence(page, fit);
  }
  add_privacy(page, fit);
  add_risk(page, fit);
  add_training(page, fit);
  page.section("Configuration").configuration(config_entries(plan.model));
  report::KeyValues provenance = origin;
  provenance.insert(provenance.end(), {{"data", plan.train.origin},
                                       {"data hash", plan.train.hash},
                                       {"weights", fit.model.weights_hash()},
                                       {"samples", fmt::format("{} with {}, {:.0f} evaluations each",
                                                               report::count(fit.models[0].rows.size(0)),
                                                               sample_options(plan.model).solver, fit.evaluations)}});
  page.provenance(provenance);
  return page.html();
}

}  // namespace htfm
