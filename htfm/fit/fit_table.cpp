#include "htfm/fit/fit_table.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>

#include "htfm/base/error.h"
#include "htfm/base/seconds.h"
#include "htfm/data/condition_columns.h"
#include "htfm/fit/calibrated_sample.h"
#include "htfm/fit/time_budget.h"
#include "htfm/io/csv.h"
#include "htfm/io/file.h"
#include "htfm/io/link.h"
#include "htfm/sample/sample_together.h"
#include "htfm/sample/written_rows.h"
#include "htfm/stat/student_t.h"

namespace htfm {

namespace {

constexpr double kJudged = 200000;  // rows drawn to be compared, and to set margins right; fewer of many columns
constexpr int64_t kDrawnAnew = 300'000'000;  // rows, in all rounds of a bootstrap
constexpr double kCalibrated = 1.5e6;        // the most rows that set the margins of groups of conditions right
constexpr double kLeisure = 2;               // in fewer minutes fewer rows are drawn
constexpr double kModelShare = 0.2,
                 kGaussianShare = 0.12;  // of the time, where it is limited; the rest is for sampling

RunConfig base_config(const TableFitOptions& o) {
  RunConfig c;
  c.seed = o.seed;
  c.data.path = o.file.path, c.data.kind = o.file.kind, c.data.columns = o.file.columns, c.data.drop = o.file.drop;
  c.data.kinds = o.file.kinds, c.data.decimal = o.file.decimal, c.data.constraints = o.file.constraints;
  c.data.missing = o.file.missing, c.data.log_returns = o.file.log_returns, c.data.holdout = o.holdout;
  return c;
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

// What is done next with so many rows that it may take seconds without another word.
void announce(const TableFitOptions& o, const at::Tensor& rows, const std::string& what) {
  if (rows.numel() >= 1000000) note(o, fmt::format("{} {} rows with {} columns.", what, rows.size(0), rows.size(1)));
}

// What is left of the pains that judging and reporting take, where the time is limited.
double leisure(const TableFitOptions& o) { return o.minutes > 0 ? std::clamp(o.minutes / kLeisure, 0.1, 1.0) : 1; }

// What is left of them where a row has many numbers, or many states.
double slimness(const TableTransform& t) {
  const auto numbers = static_cast<double>(t.dim()), states = static_cast<double>(std::ssize(t.discrete().list()));
  return std::clamp(std::min(16 / numbers, 32 / (numbers + states)), 0.1, 1.0);
}

// How many rows are drawn to be compared.
int64_t judged_rows(const TablePlan& plan, const TableFitOptions& o) {
  if (o.judged > 0) return o.judged;
  return static_cast<int64_t>(kJudged * std::max(0.1, slimness(plan.transform) * leisure(o)));
}

// Folders of the models that a fit needs beside the one that it gives, in the folder of the run where there is one.
std::string folder_of(const TableFitOptions& o, const char* name) {
  return o.folder.empty() ? "" : o.folder + "/" + name;
}
std::string judged_folder(const TableFitOptions& o) { return o.refit ? folder_of(o, "judged") : o.folder; }

void refuse_other_run(const TableFitOptions& o) {
  if (o.folder.empty()) return;
  for (const char* name : {"judged", "gaussian", "samples.csv", "report.html", "fit.json"})
    refuse_link(folder_of(o, name));
  check_can_make_folder(o.folder);
  if (o.resume) return;
  for (const std::string& folder : {o.folder, judged_folder(o)})
    if (RunFolder(folder).exists())
      throw InputError("[run] {}: expected an empty folder or --resume, got a folder that holds a run", o.folder);
}

// Of a table that takes longer than the time allows some rows stand for all: `base` gets how many.
void settle_rows(RunConfig& base, const Dataset& whole, const TableFitOptions& o, double spent) {
  if (o.minutes == 0 || with_settings(base, o.settings).data.rows > 0) return;
  if (const std::string begun = RunFolder(judged_folder(o)).config();
      o.resume && !o.folder.empty() && std::filesystem::exists(begun)) {
    base.data.rows = load_config(begun).data.rows;
    return;
  }
  int64_t rows = rows_in_time(base, whole, o.settings, 60 * o.minutes - spent);
  if (o.processes.communicator) o.processes.communicator->broadcast(&rows, sizeof rows);  // the speed of rank 0 counts
  const int64_t all = whole.rows.size(0);
  if (rows >= all) return;
  base.data.rows = rows;
  note(o, fmt::format("{} of {} rows, drawn at random, fit into the time limit.", rows, all));
}

// How long the trainings are: as planned, as the run in the folder has it, or as the time allows.
void settle_lengths(TablePlan& plan, const TableFitOptions& o) {
  const auto settle = [&](RunConfig& config, double share, const char* name) {
    if (o.minutes == 0) return;
    const std::string shortened = fit_to_time(config, plan.train, share * 60 * o.minutes);
    if (!shortened.empty()) note(o, fmt::format("{}: {}", name, shortened));
  };
  const bool resume = o.resume && !o.folder.empty(), begun = resume && RunFolder(judged_folder(o)).exists();
  // The networks of discrete columns take half of it.
  const bool states = !plan.transform.discrete().empty();
  const double share = (states ? kModelShare / 2 : kModelShare) * (o.refit ? 1 : 2);
  if (!begun && states && o.minutes > 0) {
    const std::string shortened = fit_states_to_time(plan.model, plan.train, share * 60 * o.minutes);
    if (!shortened.empty()) note(o, fmt::format("discrete columns: {}", shortened));
  }
  if (!begun) settle(plan.model, share, "model");
  if (!begun && o.compare) settle(plan.gaussian, kGaussianShare, "comparison");
  if (resume) take_up(judged_folder(o), plan.model), take_up(folder_of(o, "gaussian"), plan.gaussian);
  if (!o.processes.communicator) return;
  // The speed of rank 0 counts for all.
  for (RunConfig* config : {&plan.model, &plan.gaussian})
    *config = parse_saved_config(broadcast_text(*o.processes.communicator, format_config(*config)), "rank 0");
}

Training train_stage(const RunConfig& config, const Dataset& rows, TrainOptions options, const std::string& stage,
                     const TableFitOptions& o, LossRecord* losses = nullptr) {
  announce(o, rows.rows, fmt::format("Setting up {}:", stage));
  options.processes = o.processes;
  options.note = o.note, options.stop = o.stop;
  if (o.training) options.started = [&](const Model& model) { o.training(stage, model); };
  options.report = [&](const TrainProgress& p) {
    if (losses) losses->step.push_back(static_cast<double>(p.step)), losses->loss.push_back(p.loss);
    if (losses && p.validation)
      losses->validated_step.push_back(static_cast<double>(p.step)), losses->validation.push_back(*p.validation);
    if (o.trained) o.trained(stage, p);
  };
  return run_training(config, rows, options);
}

// What a training made, its margins set right, and rows drawn from it.
struct Drawn {
  Model model;
  SampleResult result;
};

Drawn draw_stage(Training training, const RunConfig& config, int64_t n, const std::string& folder,
                 const std::string& stage, const TableFitOptions& o) {
  Model& model = training.model;
  SampleOptions options = sample_options(config);
  options.n = n;
  if (o.sampled) options.report = [&](int64_t done, int64_t all) { o.sampled(stage, done, all); };
  const double most = kCalibrated * slimness(model.transform()) * leisure(o);
  SampleResult result = calibrated_sample(model, options, static_cast<int64_t>(most));
  if (needs_calibration(model) && !folder.empty())
    save_checkpoint(RunFolder(folder).newest().path, model, training.state);
  return {std::move(model), std::move(result)};
}

SampleResult sample_stage(const Model& model, const RunConfig& config, int64_t n, const std::string& stage,
                          const TableFitOptions& o) {
  SampleOptions options = sample_options(config);
  options.n = n;
  if (o.sampled) options.report = [&](int64_t done, int64_t all) { o.sampled(stage, done, all); };
  return sample_together(model, options, o.processes.communicator);
}

// Of the columns that vary: the others stay 0.
at::Tensor student_rows(const at::Tensor& rows, const TablePlan& plan, Key key, int64_t n) {
  if (plan.transform.discrete().empty()) return fit_student_t(rows).sample(key, n);
  std::vector<int64_t> columns;
  for (int64_t k = 0; k < plan.transform.columns(); ++k)
    if (!plan.transform.list()[static_cast<size_t>(k)].constant) columns.push_back(k);
  const at::Tensor index = at::from_blob(columns.data(), {static_cast<int64_t>(columns.size())}, at::kLong);
  at::Tensor out = at::zeros({n, rows.size(1)}, at::kDouble);
  out.index_copy_(1, index, fit_student_t(rows.index_select(1, index).contiguous()).sample(key, n));
  return out;
}

// Shares of the states of each discrete column, in held-out rows and in samples.
std::vector<DiscreteShares> discrete_shares(const TablePlan& plan, const at::Tensor& drawn) {
  std::vector<DiscreteShares> out;
  const at::Tensor& held = plan.held_out.rows.size(0) > 1 ? plan.held_out.rows : plan.train.rows;
  for (const DiscreteColumn& c : plan.transform.discrete().list()) {
    if (c.part != DatePart::none) continue;
    const auto shares = [&](const at::Tensor& rows) {
      const int64_t n = rows.size(0), width = rows.size(1);
      const double* x = rows.const_data_ptr<double>() + c.column;
      std::map<double, double> of;
      double missing = 0;
      for (int64_t i = 0; i < n; ++i) {
        const double v = x[i * width];
        if (std::isnan(v))
          missing += 1.0 / static_cast<double>(n);
        else if (!c.flows || std::find(c.values.begin() + 1, c.values.end(), v) != c.values.end())
          of[v] += 1.0 / static_cast<double>(n);
      }
      return std::pair(of, missing);
    };
    auto [real, real_missing] = shares(held);
    auto [own, own_missing] = shares(drawn);
    double distance = std::abs(real_missing - own_missing);
    for (const auto& [v, share] : real) distance += std::abs(share - own[v]);
    for (const auto& [v, share] : own)
      if (!real.contains(v)) distance += share;
    out.push_back({c.column, distance / 2, real_missing, own_missing});
  }
  return out;
}

void add_comparisons(TableFit& fit, int64_t n, const TableFitOptions& o) {
  const TablePlan& plan = fit.plan;
  const at::Tensor& rows = fit.train_numbers;
  // What is discrete is not compared, and need not be learned.
  const Model gaussian =
      train_stage(plan.gaussian, plan.train, {.folder = folder_of(o, "gaussian"), .resume = true, .discrete = false},
                  "Gaussian flow matching, for comparison", o)
          .model;
  const SampleResult drawn = sample_stage(gaussian, plan.gaussian, n, "sampling it", o);
  fit.models.push_back({"Gaussian FM", numbers_of(drawn.samples, plan), drawn.conditions});
  const Key key = Key(static_cast<uint64_t>(plan.model.seed)).child("student");
  if (rows.size(0) > rows.size(1)) fit.models.push_back({"Student-t", student_rows(rows, plan, key, n)});
  fit.models.push_back({"resampling", rows, plan.train.conditions.values});
}

void add_scores(TableFit& fit) {
  const at::Tensor& rows = fit.held_out_numbers;
  if (rows.size(0) < 2) return;
  fit.yardstick.emplace(rows, levels_for(rows.size(0)));
  std::vector<std::vector<double>> quantiles;
  for (TableModel& m : fit.models) quantiles.push_back(m.quantiles = fit.yardstick->quantiles(m.rows));
  // Of very many rows fewer rounds: each draws all rows anew.
  const int64_t rounds = std::clamp<int64_t>(kDrawnAnew / rows.size(0), 100, QuantileYardstick::kRounds);
  const auto scores =
      fit.yardstick->compare(quantiles, Key(static_cast<uint64_t>(fit.plan.model.seed)).child("bootstrap"), rounds);
  for (size_t m = 0; m < scores.size(); ++m) fit.models[m].score = scores[m];
}

// The plan for all rows: as many steps as the judged model was best after, and nothing set apart.
RunConfig for_all_rows(RunConfig c, const Model& judged, int64_t rows) {
  const int64_t steps = judged.best_step > 0 ? judged.best_step : judged.step;
  c.data.holdout = 0, c.train.validation = 0, c.train.epochs = 1;
  const int64_t per_epoch = total_steps(c, rows);
  c.train.epochs = std::max<int64_t>(1, (steps + per_epoch / 2) / per_epoch);
  return c;
}

std::vector<bool> unordered_columns(const std::vector<TableColumn>& columns) {
  std::vector<bool> out;
  for (const TableColumn& c : columns) out.push_back(c.is_category() && !c.ordered);
  return out;
}

void write_samples(const TableFit& fit) {
  SampleResult drawn;
  drawn.samples = fit.samples, drawn.conditions = fit.conditions;
  const bool given = fit.model.condition().there();
  std::vector<int> digits = fit.model.transform().digits();
  const std::vector<std::string> names = given ? written_names(fit.model) : fit.model.column_names();
  if (given) digits.resize(names.size(), 0);
  write_csv(fit.samples_file, written_rows(fit.model, drawn), names, digits, cell_text(written_columns(fit.model)));
}

TableFit fit_rows(const Dataset& read, const TableFitOptions& o, std::chrono::steady_clock::time_point started) {
  RunConfig base = base_config(o);
  const Dataset whole = with_condition_file(read, with_settings(base, o.settings).condition);
  settle_rows(base, whole, o, seconds_since(started));
  const Dataset table = chosen_rows(with_settings(base, o.settings), whole);
  announce(o, table.rows, "Looking at the tails of");
  TablePlan plan = plan_table(base, table, o.settings);
  for (const std::string& sentence : plan_sentences(plan)) note(o, sentence);
  settle_lengths(plan, o);
  LossRecord losses;
  const int64_t judged_n = judged_rows(plan, o), drawn_n = std::max(o.samples, judged_n);
  Drawn judged =
      draw_stage(train_stage(plan.model, plan.train, {.folder = judged_folder(o), .resume = o.resume || o.refit},
                             "training", o, &losses),
                 plan.model, o.refit ? judged_n : drawn_n, judged_folder(o), "sampling", o);
  const int64_t judged_step = judged.model.best_step > 0 ? judged.model.best_step : judged.model.step;
  const at::Tensor judged_samples = judged.result.samples, judged_conditions = judged.result.conditions;
  if (o.refit) {
    const RunConfig all = for_all_rows(plan.model, judged.model, table.rows.size(0));
    judged = draw_stage(train_stage(all, table, {.folder = o.folder, .resume = o.resume}, "training on all rows", o),
                        all, drawn_n, o.folder, "sampling", o);
  }

  TableFit fit{.plan = std::move(plan), .model = std::move(judged.model)};
  fit.rows = o.refit ? table : fit.plan.train;
  fit.refitted = o.refit, fit.judged_step = judged_step, fit.leisure = leisure(o);
  fit.samples = judged.result.samples.narrow(0, 0, o.samples);
  if (judged.result.conditions.defined()) fit.conditions = judged.result.conditions.narrow(0, 0, o.samples);
  fit.losses = o.folder.empty() ? losses : read_losses(judged_folder(o));  // with the steps before an interruption
  fit.evaluations = judged.result.evaluations, fit.diverged = judged.result.diverged;
  fit.train_numbers = numbers_of(fit.plan.train.rows, fit.plan);
  fit.held_out_numbers = numbers_of(fit.plan.held_out.rows, fit.plan);
  fit.discrete = discrete_shares(fit.plan, judged_samples);
  announce(o, fit.rows.rows, "Looking for copies of");
  if (fit.plan.held_out.rows.size(0) >= NearCopies::kFewest)
    fit.copies = find_near_copies(fit.plan.train.rows, fit.plan.held_out.rows, judged_samples,
                                  unordered_columns(fit.plan.train.columns));
  fit.models.push_back({"HTFM", numbers_of(judged_samples, fit.plan), judged_conditions});
  if (o.compare) add_comparisons(fit, judged_n, o);
  note(o, fmt::format("Judging by {} held-out rows.", fit.held_out_numbers.size(0)));
  add_scores(fit);
  fit.seconds = seconds_since(started);
  if (o.folder.empty() || !o.processes.first()) return fit;

  fit.folder = o.folder, fit.samples_file = o.folder + "/samples.csv";
  write_samples(fit);
  if (o.page) {
    fit.page_file = o.folder + "/report.html";
    note(o, "Writing the report.");
    atomic_write(fit.page_file, o.page(fit));
  }
  fit.seconds = seconds_since(started);
  atomic_write(o.folder + "/fit.json", fit_json(fit) + "\n");
  return fit;
}

}  // namespace

at::Tensor numbers_of(const at::Tensor& rows, const TablePlan& plan) {
  if (plan.transform.discrete().empty()) return rows;
  at::Tensor out = rows.clone();
  const int64_t n = rows.size(0), width = rows.size(1);
  double* x = out.mutable_data_ptr<double>();
  for (int64_t k = 0; k < width; ++k) {
    if (plan.transform.list()[static_cast<size_t>(k)].constant) {
      out.select(1, k).zero_();
      continue;
    }
    const DiscreteColumn* states = plan.transform.discrete().of(k);
    if (!states) continue;
    std::vector<double> there;
    const double* t = plan.train.rows.const_data_ptr<double>() + k;
    for (int64_t i = 0; i < plan.train.rows.size(0); ++i)
      if (!std::isnan(t[i * width])) there.push_back(t[i * width]);
    if (there.empty()) continue;
    std::nth_element(there.begin(), there.begin() + static_cast<int64_t>(there.size() / 2), there.end());
    for (int64_t i = 0; i < n; ++i)
      if (std::isnan(x[i * width + k])) x[i * width + k] = there[there.size() / 2];
  }
  return out;
}

TableFit fit_table(const TableFitOptions& o) {
  const auto started = std::chrono::steady_clock::now();
  refuse_other_run(o);
  FileSpec file = file_spec(with_settings(base_config(o), o.settings).data);
  file.python = o.file.python;
  if (takes_long(file.path)) note(o, fmt::format("Reading {}.", file.path));
  return fit_rows(file_dataset(file), o, started);
}

TableFit fit_table(const Dataset& table, const TableFitOptions& o) {
  refuse_other_run(o);
  return fit_rows(table, o, std::chrono::steady_clock::now());
}

}  // namespace htfm
