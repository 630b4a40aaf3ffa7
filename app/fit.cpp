// htfm fit: from a table to a model, samples and a report.
#include <fmt/format.h>

#include <filesystem>

#include "app/commands.h"
#include "app/fit_report.h"
#include "app/progress.h"
#include "app/table_file.h"
#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/io/csv.h"
#include "htfm/io/file.h"
#include "htfm/stat/student_t.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

namespace {

using Stopwatch = std::chrono::steady_clock;

struct FitOptions {
  Common common;
  TableFile file;
  std::string folder;
  std::vector<std::string> settings;
  double holdout = 0.3, minutes = 0;
  int64_t samples = 10000;
  bool resume = false, compare = true;
};

constexpr double kMinutes = 2;      // where none are given
constexpr double kJudged = 200000;  // rows drawn to be compared; fewer in less than two minutes, and of many columns

double seconds_since(Stopwatch::time_point start) { return std::chrono::duration<double>(Stopwatch::now() - start).count(); }

std::vector<std::string> data_settings(const FitOptions& o) {
  std::vector<std::string> out{"data.path=" + o.file.path,
                               "data.kind=table",
                               "data.columns=" + o.file.columns,
                               "data.drop=" + o.file.drop,
                               "data.missing=" + o.file.missing,
                               fmt::format("data.log_returns={}", o.file.log_returns),
                               fmt::format("data.holdout={}", o.holdout)};
  if (o.common.seed_given) out.push_back(fmt::format("seed={}", o.common.seed));
  return out;
}

// Steps a second, from a short training that is thrown away.
double training_rate(RunConfig config, int64_t rows) {
  constexpr int64_t kSteps = 24;
  const int64_t per_epoch = std::max<int64_t>(1, total_steps(config, rows) / config.train.epochs);
  config.train.epochs = std::max<int64_t>(1, kSteps / per_epoch);
  config.train.validate_steps = config.train.log_steps = std::max<int64_t>(1, config.train.epochs * per_epoch);
  double rate = 0;
  train(config, {.report = [&](const TrainProgress& p) { rate = p.steps_per_second; }});
  return rate;
}

// Shortens a training that would not fit into its share of the time, or lengthens it where the user gave more.
void fit_to_time(RunConfig& config, int64_t rows, double seconds, bool lengthen, const std::string& name) {
  const double steps = static_cast<double>(total_steps(config, rows)), possible = seconds * training_rate(config, rows);
  if (possible < steps) {
    config.train.epochs = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(config.train.epochs) * possible / steps));
    const auto left = static_cast<double>(total_steps(config, rows));
    config.train.ema = std::min(config.train.ema, std::max(0.0, 1 - 10 / left));  // an average over the last tenth, not from the start
    say(fmt::format("{}: {:.0f} of {:.0f} steps fit into the time", name, left, steps));
  } else if (lengthen) {
    config.train.epochs = static_cast<int64_t>(static_cast<double>(config.train.epochs) * std::min(4.0, possible / steps));
  }
}

std::string gaussian_folder(const FitOptions& o) { return o.folder + "/gaussian"; }

// A run that was begun goes on with the configuration that it has, whatever the machine's speed is today.
void take_up(const std::string& folder, RunConfig& config) {
  const RunFolder run(folder);
  if (std::filesystem::exists(run.config())) config = load_config(run.config());
}

// Levels that so many rows can judge: at least half a row is expected to lie beyond each.
std::vector<double> levels_for(int64_t rows) {
  std::vector<double> out = kTableLevels;
  while (out.size() > 1 && (1 - out.back()) * static_cast<double>(rows) < 0.5) out.pop_back();
  return out;
}

void say_plan(const TablePlan& plan) {
  for (const std::string& note : plan.train.notes) say("reading: " + note);
  for (int64_t k = 0; k < std::min<int64_t>(30, plan.transform.columns()); ++k) {
    const bool named = k < static_cast<int64_t>(plan.train.names.size()) && !plan.train.names[k].empty();
    say(fmt::format("{}: {}", named ? plan.train.names[k] : fmt::format("column {}", k + 1), plan.transform.describe(k)));
  }
  say(fmt::format("{} rows to train on, {} held out", plan.train.rows.size(0), plan.held_out.rows.size(0)));
  say("clock: " + plan.clock.explanation);
}

void run_fit(FitOptions& o) {
  o.common.apply();
  const auto started = Stopwatch::now();
  if (!o.resume && RunFolder(o.folder).exists())
    throw InputError("[run] {}: expected an empty folder or --resume, got a folder that holds a run", o.folder);
  TableFit fit;
  fit.plan = plan_table(data_settings(o), o.settings);
  TablePlan& plan = fit.plan;
  say_plan(plan);
  const int64_t rows = plan.train.rows.size(0);
  const double budget = 60 * (o.minutes > 0 ? o.minutes : kMinutes);
  const double wide = std::min(1.0, 16 / static_cast<double>(plan.transform.dim()));
  const auto judged = static_cast<int64_t>(kJudged * std::clamp(wide * budget / (60 * kMinutes), 0.1, 1.0));
  if (!o.resume || !RunFolder(o.folder).exists()) {
    fit_to_time(plan.model, rows, 0.45 * budget, o.minutes > 0, "model");
    if (o.compare) fit_to_time(plan.gaussian, rows, 0.2 * budget, o.minutes > 0, "comparison");
  }
  if (o.resume) take_up(o.folder, plan.model), take_up(gaussian_folder(o), plan.gaussian);

  const Model model = train_with_status(plan.model, {.folder = o.folder, .resume = o.resume}, "training");
  SampleOptions options = sample_options(plan.model);
  options.n = std::max(o.samples, judged);
  const SampleResult drawn = sample_with_status(model, options, "sampling");
  fit.models.push_back({"HTFM", drawn.samples});
  fit.steps = model.step, fit.best_step = model.best_step, fit.weights_hash = model.weights_hash();
  fit.evaluations = drawn.evaluations, fit.diverged = drawn.diverged;
  if (o.compare) {
    const Model gaussian =
        train_with_status(plan.gaussian, {.folder = gaussian_folder(o), .resume = true}, "Gaussian flow matching, to compare");
    SampleOptions plain = sample_options(plan.gaussian);
    plain.n = judged;
    fit.models.push_back({"Gaussian FM", sample_with_status(gaussian, plain, "sampling it").samples});
    if (rows > plan.train.rows.size(1))
      fit.models.push_back({"Student-t", fit_student_t(plan.train.rows).sample(Key(options.seed).child("student"), judged)});
    fit.models.push_back({"resampling", plan.train.rows});
  }

  std::optional<QuantileYardstick> yardstick;
  if (plan.held_out.rows.size(0) > 1) {
    yardstick.emplace(plan.held_out.rows, levels_for(plan.held_out.rows.size(0)));
    for (const TableModel& m : fit.models) fit.quantiles.push_back(yardstick->quantiles(m.rows));
    fit.scores = yardstick->compare(fit.quantiles, Key(options.seed).child("bootstrap"));
  }
  fit.losses = read_loss_record(o.folder);
  fit.command = fmt::format("htfm fit {} -o {}", o.file.path, o.folder), fit.folder = o.folder;
  const std::string csv = o.folder + "/samples.csv", page = o.folder + "/report.html";
  write_csv(csv, drawn.samples.narrow(0, 0, o.samples), model.column_names(), model.transform().digits());
  fit.seconds = seconds_since(started);
  atomic_write(page, fit_page(fit, yardstick ? &*yardstick : nullptr));

  Json j{{"run", o.folder},
         {"clock", plan.model.clock.describe()},
         {"tails", verdict_name(plan.diagnosis.verdict)},
         {"source", plan.law.empty() ? "symmetric" : plan.law},
         {"rows_train", rows},
         {"rows_held_out", plan.held_out.rows.size(0)},
         {"columns", plan.transform.columns()},
         {"steps", model.step},
         {"best_step", model.best_step},
         {"diverged", drawn.diverged},
         {"samples", csv},
         {"report", page}};
  Json errors = Json::object();
  for (size_t m = 0; m < fit.scores.size(); ++m) errors[fit.models[m].name] = fit.scores[m].error;
  if (!errors.empty()) j["log_quantile_error"] = errors;
  j["seconds"] = seconds_since(started);
  for (const std::string& sentence : comparison_sentences(fit)) say(sentence);
  atomic_write(o.folder + "/fit.json", j.dump(1) + "\n");
  print_figures(o.common, j);
  say(fmt::format("Open {} in a browser; htfm sample {} -n 1e6 -o out.csv draws more.", std::filesystem::absolute(page).string(),
                  o.folder));
}

}  // namespace

void add_fit(CLI::App& app) {
  auto o = std::make_shared<FitOptions>();
  CLI::App* c = app.add_subcommand("fit", "From a table to a model, samples and a report");
  c->footer("Example: htfm fit prices.csv --log-returns -o run    then htfm sample run -n 1e6 -o out.csv");
  o->file.add(*c);
  c->add_option("-o,--output", o->folder, "Folder of the run")->required();
  c->add_option("--holdout", o->holdout, "Share of the rows that the model is judged by")->check(between(0.0, 0.9))->capture_default_str();
  c->add_option("--minutes", o->minutes, "Time to spend; 2 where not given")->check(positive());
  add_count(*c, "--samples", o->samples, "Rows to draw into samples.csv (10000)");
  c->add_option("--set", o->settings, "key=value, on top of what is chosen; may be repeated")->allow_extra_args(false);
  c->add_flag("--resume", o->resume, "Go on with a run that was interrupted");
  c->add_flag("!--no-compare", o->compare, "Leave out the models that it is compared with");
  o->common.add(*c);
  add_trust(*c);
  c->callback([o] { run_fit(*o); });
}

}  // namespace htfm::app
