#include "htfm/page/field_page.h"

#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include <algorithm>

#include "htfm/io/file.h"
#include "htfm/report/field_map.h"
#include "htfm/report/figures.h"
#include "htfm/report/text.h"

namespace htfm {
namespace {

std::vector<double> scored_column(const std::vector<Scored>& s, double Scored::*member) {
  std::vector<double> out(s.size());
  std::transform(s.begin(), s.end(), out.begin(), [&](const Scored& v) { return v.*member; });
  return out;
}

std::vector<report::Series> field_series(const FieldCurve& c) {
  const auto series = [&](const char* name, const std::vector<Scored>& s) {
    report::Series out{.name = name, .x = c.x, .y = scored_column(s, &Scored::value)};
    if (!s.empty() && s.front().has_interval())
      out.low = scored_column(s, &Scored::low), out.high = scored_column(s, &Scored::high);
    return out;
  };
  std::vector<report::Series> out{series("real", c.real), series("samples", c.fake)};
  out[0].color = report::Color::neutral;
  return out;
}

void add_field_sections(report::Page& page, const FieldEvaluation& evaluation) {
  const FieldScores& s = evaluation.scores;
  report::Table table{
      fmt::format("Scores compared with {}; intervals by a bootstrap over blocks of fields. –: there is no such "
                  "figure, for example if no sample lies beyond the cut, or if there are fewer fields than the period.",
                  evaluation.reference),
      {{"score"}, {"value"}, {"95 % interval"}, {"real"}, {"samples"}},
      {}};
  const auto text = [](double v) { return report::number(v); };
  const auto row = [&](const char* name, const Scored& v, const std::string& real, const std::string& fake) {
    table.add(
        {name, text(v.value), v.has_interval() ? fmt::format("{} to {}", text(v.low), text(v.high)) : "", real, fake});
  };
  row("KR: |1 - kurtosis ratio|", s.kr, text(s.kurtosis_real.value), text(s.kurtosis_fake.value));
  row("SR: |1 - skewness ratio|", s.sr, text(s.skewness_real.value), text(s.skewness_fake.value));
  row("tail KS, both cut at the real quantile", s.tail_ks, "", "");
  row("tail KS, each cut at its own", s.tail_ks_own, "", "");
  row("share beyond the cut, samples over real", s.tail_share, "", "");
  row("spectrum distance", s.spectrum_distance, "", "");
  row("wet area, real", s.wet_real, text(s.wet_real.value), "");
  row("wet area, samples", s.wet_fake, "", text(s.wet_fake.value));
  for (size_t k = 0; k < s.return_levels.x.size(); ++k) {
    const std::string name = fmt::format("maximum exceeded once in {} fields", s.return_levels.x[k]);
    row((name + ", real").c_str(), s.return_levels.real[k], text(s.return_levels.real[k].value), "");
    row((name + ", samples").c_str(), s.return_levels.fake[k], "", text(s.return_levels.fake[k].value));
  }
  page.section("Maps").figure(
      report::image_figure(field_example_maps(evaluation), "Maps of real fields, then of samples"),
      "Real fields first, then as many samples, on one colour scale. Of 256 of each set these are evenly spaced by the "
      "rank of their "
      "maximum, from the median to the largest.");
  page.section("Scores").table(table);
  const std::string value = evaluation.unit.empty() ? "value" : "value in " + evaluation.unit;
  page.section("Tails")
      .figure(report::line_chart(field_series(s.exceedance), {.label = "Share of values of at least x, on log-log axes",
                                                              .x = {.label = value, .scale = report::Scale::log},
                                                              .y = {.label = "P(X ≥ x)", .scale = report::Scale::log},
                                                              .markers = false}),
              "How often a value is at least x. A power law is a straight line.")
      .figure(report::line_chart(field_series(s.return_levels),
                                 {.label = "Return levels of the field maximum",
                                  .x = {.label = "one field in", .scale = report::Scale::log},
                                  .y = {.label = value}}),
              "Return levels: the maximum that one field in this many exceeds.");
  page.section("Structure")
      .figure(report::line_chart(field_series(s.spectrum),
                                 {.label = "Radial power spectrum",
                                  .x = {.label = "waves across the field", .scale = report::Scale::log},
                                  .y = {.label = "power", .scale = report::Scale::log},
                                  .markers = false}),
              "Power against wave number, mean over directions and fields. Fields whose line is higher on the right "
              "than that of the data are too rough.");
}

}  // namespace

at::Tensor field_example_maps(const FieldEvaluation& evaluation) {
  const FieldExamples& e = evaluation.examples;
  report::MapStyle style = report::map_style(e.range);
  style.columns = std::min<int64_t>(std::max(e.real.size(0), e.fake.size(0)), 4);
  style.unit = evaluation.unit;
  style.title =
      evaluation.channel + (evaluation.unit.empty() ? "" : " in " + evaluation.unit) + ": real fields, then samples";
  for (const auto& [fields, word] : {std::pair{&e.real, "real"}, {&e.fake, "sample"}})
    for (int64_t k = 0; k < fields->size(0); ++k)
      style.labels.push_back(fmt::format("{}, largest {:.3g}", word, (*fields)[k].max().item<double>()));
  style.south_first = evaluation.south_first;
  return report::field_maps(at::cat({e.real, e.fake}), style);
}

std::string field_page(const std::string& title, const FieldEvaluation& evaluation, const report::KeyValues& provenance,
                       const FieldPageRun& run) {
  report::Page page(title,
                    fmt::format("{}Scored against {}.", run.clock.empty() ? "" : fmt::format("Clock: {}. ", run.clock),
                                evaluation.reference));
  add_field_sections(page, evaluation);
  if (!run.losses.step.empty())
    page.section("Training")
        .figure(
            report::loss_curve({{.name = "training", .x = run.losses.step, .y = run.losses.loss}}),
            "The method's loss (HTFM: mean squared error of the preconditioned network) against the training step.");
  if (!run.configuration.empty()) page.section("Configuration").configuration(run.configuration);
  report::KeyValues foot = provenance;
  foot.insert(foot.end(),
              {{"real", evaluation.reference + ", " + evaluation.data_hash}, {"samples", evaluation.source}});
  page.provenance(foot);
  return page.html();
}

ScoredFieldRun write_field_run_page(const Model& model, const SampleOptions& options, const std::string& run_folder,
                                    const std::string& path, report::KeyValues provenance) {
  ScoredFieldRun scored = score_field_run(model, options, path + ".samples.npy", {.shown = 8});
  const FieldEvaluation& e = scored.evaluation;
  provenance.emplace_back("samples", fmt::format("step {}, averaged weights {}, {} with {} evaluations", model.step,
                                                 model.weights_hash(), options.solver, scored.sampled.evaluations));
  const std::string clock = model.clock().describe(), unit = e.unit.empty() ? "" : fmt::format(" ({})", e.unit);
  atomic_write(
      path,
      field_page(fmt::format("{}{} under the clock {}", e.channel, unit, clock), e, provenance,
                 {.clock = clock, .configuration = config_entries(model.config()), .losses = read_losses(run_folder)}));
  return scored;
}

}  // namespace htfm
