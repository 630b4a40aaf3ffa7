#include "htfm/fit/fit_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/fit/time_budget.h"
#include "htfm/io/csv.h"
#include "htfm/io/file.h"
#include "htfm/sample/sampler.h"
#include "htfm/stat/student_t.h"

namespace htfm {

namespace {

constexpr double kMinutes = 2;      // where none are given
constexpr double kJudged = 200000;  // rows drawn to be compared; fewer in less than two minutes, and of many columns
constexpr double kModelShare = 0.45, kGaussianShare = 0.2;  // of the time; the rest is for sampling

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

RunConfig base_config(const TableFitOptions& o) {
  RunConfig c;
  c.seed = o.seed;
  c.data.path = o.file.path, c.data.kind = o.file.kind, c.data.columns = o.file.columns, c.data.drop = o.file.drop;
  c.data.missing = o.file.missing, c.data.log_returns = o.file.log_returns, c.data.holdout = o.holdout;
  return c;
}

void refuse_other_run(const TableFitOptions& o) {
  if (!o.folder.empty() && !o.resume && RunFolder(o.folder).exists())
    throw InputError("[run] {}: expected an empty folder or --resume, got a folder that holds a run", o.folder);
}

// A run that was begun goes on with the configuration that it has, whatever the machine's speed is today.
void take_up(const std::string& folder, RunConfig& config) {
  const RunFolder run(folder);
  if (std::filesystem::exists(run.config())) config = load_config(run.config());
}

// Levels that so many rows can judge: at least half a row is expected to lie beyond each.
std::vector<double> levels_for(int64_t rows) {
  std::vector<double> out{0.95, 0.99, 0.995, 0.999};
  while (out.size() > 1 && (1 - out.back()) * static_cast<double>(rows) < 0.5) out.pop_back();
  return out;
}

void note(const TableFitOptions& o, const std::string& sentence) {
  if (o.note && !sentence.empty()) o.note(sentence);
}

double budget(const TableFitOptions& o) { return 60 * (o.minutes > 0 ? o.minutes : kMinutes); }

// How many rows are drawn to be compared.
int64_t judged_rows(const TablePlan& plan, const TableFitOptions& o) {
  const double wide = std::min(1.0, 16 / static_cast<double>(plan.transform.dim()));
  return static_cast<int64_t>(kJudged * std::clamp(wide * budget(o) / (60 * kMinutes), 0.1, 1.0));
}

// In the folder of the run, where there is one.
std::string gaussian_folder(const TableFitOptions& o) { return o.folder.empty() ? "" : o.folder + "/gaussian"; }

// How long the trainings are: as the run in the folder has it, or as the time allows.
void settle_lengths(TablePlan& plan, const TableFitOptions& o) {
  const auto settle = [&](RunConfig& config, double share, const char* name) {
    const std::string shortened = fit_to_time(config, plan.train, share * budget(o), o.minutes > 0);
    if (!shortened.empty()) note(o, fmt::format("{}: {}", name, shortened));
  };
  const bool resume = o.resume && !o.folder.empty(), begun = resume && RunFolder(o.folder).exists();
  if (!begun) settle(plan.model, kModelShare, "model");
  if (!begun && o.compare) settle(plan.gaussian, kGaussianShare, "comparison");
  if (resume) take_up(o.folder, plan.model), take_up(gaussian_folder(o), plan.gaussian);
}

Model train_stage(const RunConfig& config, const Dataset& rows, TrainOptions options, const std::string& stage,
                  const TableFitOptions& o, LossRecord* losses = nullptr) {
  if (o.training) options.started = [&](const Model& model) { o.training(stage, model); };
  options.report = [&](const TrainProgress& p) {
    if (losses) losses->step.push_back(static_cast<double>(p.step)), losses->loss.push_back(p.loss);
    if (losses && p.validation)
      losses->validated_step.push_back(static_cast<double>(p.step)), losses->validation.push_back(*p.validation);
    if (o.trained) o.trained(stage, p);
  };
  return train(config, rows, options);
}

SampleResult sample_stage(const Model& model, const RunConfig& config, int64_t n, const std::string& stage,
                          const TableFitOptions& o) {
  SampleOptions options = sample_options(config);
  options.n = n;
  if (o.sampled) options.report = [&](int64_t done, int64_t all) { o.sampled(stage, done, all); };
  return sample(model, options);
}

void add_comparisons(TableFit& fit, int64_t n, const TableFitOptions& o) {
  const TablePlan& plan = fit.plan;
  const at::Tensor& rows = plan.train.rows;
  const Model gaussian = train_stage(plan.gaussian, plan.train, {.folder = gaussian_folder(o), .resume = true},
                                     "Gaussian flow matching, to compare", o);
  fit.models.push_back({"Gaussian FM", sample_stage(gaussian, plan.gaussian, n, "sampling it", o).samples});
  const Key key = Key(static_cast<uint64_t>(plan.model.seed)).child("student");
  if (rows.size(0) > rows.size(1)) fit.models.push_back({"Student-t", fit_student_t(rows).sample(key, n)});
  fit.models.push_back({"resampling", rows});
}

void add_scores(TableFit& fit) {
  const at::Tensor& rows = fit.plan.held_out.rows;
  if (rows.size(0) < 2) return;
  fit.yardstick.emplace(rows, levels_for(rows.size(0)));
  std::vector<std::vector<double>> quantiles;
  for (TableModel& m : fit.models) quantiles.push_back(m.quantiles = fit.yardstick->quantiles(m.rows));
  const auto scores =
      fit.yardstick->compare(quantiles, Key(static_cast<uint64_t>(fit.plan.model.seed)).child("bootstrap"));
  for (size_t m = 0; m < scores.size(); ++m) fit.models[m].score = scores[m];
}

TableFit fit_rows(const Dataset& table, const TableFitOptions& o, std::chrono::steady_clock::time_point started) {
  TablePlan plan = plan_table(base_config(o), table, o.settings);
  for (const std::string& sentence : plan_sentences(plan)) note(o, sentence);
  settle_lengths(plan, o);
  LossRecord losses;
  Model model = train_stage(plan.model, plan.train, {.folder = o.folder, .resume = o.resume}, "training", o, &losses);
  const int64_t judged = judged_rows(plan, o);
  const SampleResult drawn = sample_stage(model, plan.model, std::max(o.samples, judged), "sampling", o);

  TableFit fit{.plan = std::move(plan), .model = std::move(model), .samples = drawn.samples.narrow(0, 0, o.samples)};
  fit.losses = o.folder.empty() ? losses : read_losses(o.folder);  // a log has the steps before an interruption too
  fit.evaluations = drawn.evaluations, fit.diverged = drawn.diverged;
  fit.models.push_back({"HTFM", drawn.samples});
  if (o.compare) add_comparisons(fit, judged, o);
  add_scores(fit);
  fit.seconds = seconds_since(started);
  if (o.folder.empty()) return fit;

  fit.folder = o.folder, fit.samples_file = o.folder + "/samples.csv";
  write_csv(fit.samples_file, fit.samples, fit.model.column_names(), fit.model.transform().digits());
  if (o.page) {
    fit.page_file = o.folder + "/report.html";
    atomic_write(fit.page_file, o.page(fit));
  }
  fit.seconds = seconds_since(started);
  atomic_write(o.folder + "/fit.json", fit_json(fit) + "\n");
  return fit;
}

}  // namespace

TableFit fit_table(const TableFitOptions& o) {
  const auto started = std::chrono::steady_clock::now();
  refuse_other_run(o);
  FileSpec file = file_spec(with_settings(base_config(o), o.settings).data);
  file.python = o.file.python;
  return fit_rows(file_dataset(file), o, started);
}

TableFit fit_table(const Dataset& table, const TableFitOptions& o) {
  refuse_other_run(o);
  return fit_rows(table, o, std::chrono::steady_clock::now());
}

}  // namespace htfm
