// The paper's ablations of the flow type and of the signature order, on the 2D mixture.
#include <fmt/format.h>

#include "experiment/image_experiment.h"
#include "experiment/sweep_2d.h"
#include "htfm/io/file.h"
#include "htfm/page/curve_figure.h"

namespace htfm::app {

namespace {

// The paper's times, equal for every clock, and, where it is not as published, times by clock.
std::vector<SweepRun> runs(bool as_published) {
  std::vector<SweepRun> out{{"euler", 20, "uniform"}, {"euler", 100, "uniform"}};
  if (!as_published) out.insert(out.end(), {{"euler", 20, "clock"}, {"euler", 100, "clock"}});
  return out;
}

// HTFM-alpha with index 1.7 and this signature order; `more` are settings and the end of its file's name.
SweepModel stable(bool as_published, const std::string& name, int order, const std::vector<std::string>& more = {},
                  const std::string& file = "", double paper = 0) {
  SweepModel m{fmt::format("{}, m = {}", name, order),
               fmt::format("alpha1.7-m{}{}", order, file),
               {"clock.family=stable", "clock.alpha=1.7", fmt::format("feature.order={}", order)},
               runs(as_published),
               paper};
  m.settings.insert(m.settings.end(), more.begin(), more.end());
  return m;
}

std::vector<SweepModel> flow_types(bool as_published) {
  constexpr double straight[] = {16.65, 16.10, 16.46}, ve_signature[] = {16.43, 16.19, 16.71};
  std::vector<SweepModel> out;
  out.reserve(7);
  for (int m = 0; m < 3; ++m) out.push_back(stable(as_published, "straight", m, {}, "", straight[m]));
  for (int m = 0; m < 3; ++m)
    out.push_back(
        stable(as_published, "ve-signature", m, {"path.schedule=ve-signature"}, "-ve-signature", ve_signature[m]));
  if (!as_published)  // learned curves need the preconditioning
    out.push_back(
        stable(as_published, "time-warp, learned", 2, {"path.schedule=time-warp", "path.learn=true"}, "-learned"));
  for (const std::string name : {"time-warp", "vp", "ve"})
    out.push_back(stable(as_published, name, 1, {"path.schedule=" + name}, "-" + name));
  return out;
}

// The lines of the figure, each with its orders 0, 1, ...
struct Line {
  std::string name;
  std::vector<SweepModel> models;
};

// Preconditioning tells the flow the clock's area even where the network is told nothing: without it m = 0 is blind, as
// in the paper. As published nothing is preconditioned.
std::vector<Line> signature_orders(bool as_published) {
  struct Form {
    std::string name, file;
    std::vector<std::string> settings;
    bool in_paper;
  };
  std::vector<Form> forms{{"", "", {}, true}};
  if (!as_published) {
    forms[0].in_paper = false;
    forms.push_back({", not preconditioned", "-bare", {"precondition.enabled=false"}, true});
  }
  constexpr double paper_stable[] = {16.65, 16.10, 16.46, 0}, paper_student[] = {16.58, 16.14};
  std::vector<Line> out;
  for (const Form& form : forms) {
    out.push_back({"α 1.7" + form.name, {}});
    for (int m = 0; m < 4; ++m)
      out.back().models.push_back(
          stable(as_published, out.back().name, m, form.settings, form.file, form.in_paper ? paper_stable[m] : 0));
  }
  for (const Form& form : forms) {
    out.push_back({"t 3.0" + form.name, {}});
    for (int m = 0; m < 2; ++m) {
      std::vector<std::string> settings{"clock.family=inverse-gamma", "clock.nu=3", fmt::format("feature.order={}", m)};
      settings.insert(settings.end(), form.settings.begin(), form.settings.end());
      out.back().models.push_back({fmt::format("{}, m = {}", out.back().name, m),
                                   fmt::format("t3.0-m{}{}", m, form.file), settings, runs(as_published),
                                   form.in_paper ? paper_student[m] : 0});
    }
  }
  return out;
}

}  // namespace

Json reproduce_flow_type(const ReproduceOptions& o) {
  if (!o.data.empty()) return run_image_experiment(o, image_flow_type(o.published));
  const Sweep sweep = run_sweep(flow_types(o.published), o);
  const std::vector<SweepRun> own_runs = runs(o.published);
  std::vector<std::string> names;
  for (const SweepModel& m : sweep.models) names.push_back(m.name);
  std::vector<report::DotSeries> series;
  for (size_t r = 0; r < own_runs.size(); ++r) {
    report::DotSeries& own = series.emplace_back();
    own.name = fmt::format("{}, NFE {}", own_runs[r].time_grid, own_runs[r].nfe);
    for (const auto& scores : sweep.scores) {
      const Spread f1 = scores[r].f1_prd;
      own.values.push_back(f1.mean), own.low.push_back(f1.mean - f1.deviation),
          own.high.push_back(f1.mean + f1.deviation);
    }
  }
  const report::Figure figure = report::dot_chart(
      names, series, {.label = "Flow types on the 2D mixture", .x = {.label = "f1_prd, mean ± deviation over seeds"}});
  for (size_t m = 0; m < sweep.models.size(); ++m)
    if (!sweep.curves[m].empty()) {
      const auto clock = make_clock(config_2d(sweep.models[m].settings, o).clock);
      const report::Figure curves =
          curve_figure(*make_schedule({.name = "time-warp", .c = sweep.curves[m][0]}), *clock);
      atomic_write(fmt::format("{}/flow-type-{}.svg", o.folder, sweep.models[m].file), curves.svg());
    }
  return write_sweep({"flow-type", "Flow types",
                      "HTFM-α 1.7 on the 2D mixture under schedules that see the clock and schedules that do not.",
                      "f1_prd of each schedule and signature order m, by Euler's grid and evaluations."},
                     sweep, figure, sweep.table(), o);
}

Json reproduce_signature_order(const ReproduceOptions& o) {
  if (!o.data.empty()) return run_image_experiment(o, image_signature_order(o.published));
  const std::vector<Line> lines = signature_orders(o.published);
  std::vector<SweepModel> models;
  for (const Line& line : lines) models.insert(models.end(), line.models.begin(), line.models.end());
  const Sweep sweep = run_sweep(std::move(models), o);
  const size_t shown = runs(o.published).size() - 1;  // NFE 100, by clock where there are such times
  std::vector<report::Series> series;
  for (const Line& line : lines) {
    report::Series own{.name = line.name};
    for (size_t m = 0; m < line.models.size(); ++m)
      for (size_t k = 0; k < sweep.models.size(); ++k)
        if (sweep.models[k].file == line.models[m].file) {
          const Spread f1 = sweep.scores[k][shown].f1_prd;
          own.x.push_back(static_cast<double>(m)), own.y.push_back(f1.mean);
          own.low.push_back(f1.mean - f1.deviation), own.high.push_back(f1.mean + f1.deviation);
        }
    if (!own.x.empty()) series.push_back(own);
  }
  report::ChartOptions chart;
  chart.label = "f1_prd against the signature order";
  chart.x = {.label = "order m of the logsignature that the network is told"};
  chart.y = {.label = o.published ? "f1_prd, Euler, NFE 100" : "f1_prd, Euler by clock, NFE 100"};
  const report::Figure figure = report::line_chart(series, chart);
  return write_sweep(
      {"signature-order", "Signature order", "The 2D mixture, with and without preconditioning by the clock.",
       "f1_prd at NFE 100 against the order of the logsignature; bands: one deviation over the seeds."},
      sweep, figure, sweep.table(), o);
}

}  // namespace htfm::app
