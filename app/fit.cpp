// htfm fit: from a table to a model, samples and a report.
#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "app/commands.h"
#include "app/processes.h"
#include "app/progress.h"
#include "app/stop_signals.h"
#include "app/table_file.h"
#include "htfm/base/error.h"
#include "htfm/fit/fit_table.h"
#include "htfm/page/fit_page.h"

namespace htfm::app {

namespace {

struct FitCommand {
  Common common;
  TableFile file;
  std::string condition;
  TableFitOptions options;
};

// A status line for each stage; a line of its own for each sentence.
class FitStatus {
 public:
  void watch(TableFitOptions& options) {
    options.note = say;
    options.training = [](const std::string& stage, const Model& model) { say_model(model, stage); };
    options.trained = [this](const std::string& stage, const TrainProgress& p) {
      line(stage).show(progress_text(p), p.last);
    };
    options.sampled = [this](const std::string& stage, int64_t done, int64_t n) {
      line(stage).show(fmt::format("{}/{} samples", done, n), done == n);
      if (!StopSignals::came()) return;
      alone_ = true;
      throw Interrupted("stopped while {}", stage);
    };
  }
  /// Whether this process has stopped by itself; in training several stop together.
  bool stopped_alone() const { return alone_; }

 private:
  StatusLine& line(const std::string& stage) {
    if (!line_ || stage != stage_) line_.emplace(stage + ": "), stage_ = stage;
    return *line_;
  }
  std::string stage_;
  std::optional<StatusLine> line_;
  bool alone_ = false;
};

void run_fit(FitCommand& c) {
  c.common.apply();
  TableFitOptions& o = c.options;
  o.file = c.file, o.seed = c.common.seed;
  if (!c.condition.empty()) o.settings.push_back("condition.columns=" + c.condition);
  o.processes = {processes()};
  o.page = [&](const TableFit& fit) {
    return fit_page(fit, page_origin(fmt::format("htfm fit {} -o {}", o.file.path, o.folder)));
  };
  FitStatus status;
  status.watch(o);
  const StopSignals signals;
  o.stop = StopSignals::came;
  const TableFit fit = [&] {
    try {
      return fit_table(o);
    } catch (const Interrupted& e) {
      if (!status.stopped_alone()) stopped_together();
      throw Interrupted("{}; the same command with --resume continues", e.what());
    }
  }();
  if (!speaks()) return;
  for (const std::string& sentence : comparison_sentences(fit)) say(sentence);
  print_figures(c.common, Json::parse(fit_json(fit)));
  say(fmt::format("Open {} in a browser; htfm sample {} -n 1e6 -o out.csv draws more.",
                  std::filesystem::absolute(fit.page_file).string(), o.folder));
}

}  // namespace

void add_fit(CLI::App& app) {
  auto command = std::make_shared<FitCommand>();
  TableFitOptions& o = command->options;
  CLI::App* c = app.add_subcommand("fit", "Fit a model to a table, and write samples and a report");
  c->footer("Example: htfm fit prices.csv --log-returns -o run    then htfm sample run -n 1e6 -o out.csv");
  command->file.add_with_kinds(*c);
  c->add_option("-o,--output", o.folder, "Folder of the run")->required()->check(output_folder());
  c->add_option("--holdout", o.holdout, "Share of the rows that is held out to judge the model")
      ->check(between(0.0, 0.9))
      ->capture_default_str();
  c->add_option("--minutes", o.minutes,
                "Time limit; if all steps and rows would take longer, fewer are used, and a message says so")
      ->check(positive());
  c->add_option(
      "--condition", command->condition,
      "Columns that are given instead of modelled, comma-separated; to sample: htfm sample run --given name=value");
  add_count(*c, "--samples", o.samples, "Rows to draw into samples.csv (default 10000)");
  c->add_option("--set", o.settings, "key=value, overrides what fit chooses; may be repeated")->allow_extra_args(false);
  c->add_flag("--resume", o.resume, "Continue a run that was interrupted");
  c->add_flag_callback(
      "--no-refit", [&o] { o.refit = false; },
      "Keep the judged model, trained without the held-out rows, as the final one");
  c->add_flag_callback(
      "--no-compare", [&o] { o.compare = false; }, "Leave out the models to compare with");
  command->common.add_comm(*c);
  command->common.add(*c);
  add_trust(*c);
  c->callback([command] { run_fit(*command); });
}

}  // namespace htfm::app
