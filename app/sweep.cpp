// htfm sweep: a grid of settings, a run for each, several processes at a time.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

#include "app/commands.h"
#include "app/stop_signals.h"
#include "htfm/base/error.h"
#include "htfm/io/child_process.h"
#include "htfm/io/file.h"
#include "htfm/io/program_queue.h"
#include "htfm/model/config.h"
#include "htfm/model/loss_record.h"
#include "htfm/model/run_folder.h"
#include "htfm/model/setting_grid.h"

namespace htfm::app {

namespace {

struct SweepOptions {
  Common common;
  std::string config, folder;
  std::vector<std::string> settings;
  int64_t jobs = 1;
  bool resume = false;
};

// `htfm train` of one run; what it prints goes into its folder's train.txt.
ProgramCall training(const SweepOptions& o, const GridPoint& run) {
  const std::string folder = o.folder + "/" + run.name;
  std::vector<std::string> words{"/proc/self/exe", "train"};
  if (!o.config.empty()) words.push_back(o.config);
  for (const std::string& setting : run.settings) words.insert(words.end(), {"--set", setting});
  words.insert(words.end(), {"-o", folder, "--resume", "--device", o.common.device});
  const int threads =
      std::max(1, static_cast<int>(std::thread::hardware_concurrency() / static_cast<unsigned>(o.jobs)));
  words.insert(words.end(), {"--threads", std::to_string(o.common.threads > 0 ? o.common.threads : threads)});
  if (o.common.seed_given) words.insert(words.end(), {"--seed", std::to_string(o.common.seed)});
  return {words, folder + "/train.txt"};
}

void run_sweep(SweepOptions& o) {
  o.common.apply(true);
  const std::vector<GridPoint> runs = setting_grid(o.settings);
  for (const GridPoint& run : runs)  // a wrong setting is told of before the first training
    o.config.empty() ? parse_config("", "--set", run.settings) : load_config(o.config, run.settings);
  if (!o.resume)
    for (const GridPoint& run : runs)
      if (RunFolder(o.folder + "/" + run.name).exists())
        throw InputError("[sweep] {}/{}: expected no run there, got one: give --resume to go on, or another folder",
                         o.folder, run.name);
  const StopSignals signals;
  StatusLine status;
  std::vector<ProgramCall> calls;
  for (const GridPoint& run : runs) calls.push_back(training(o, run));
  size_t done = 0;
  const auto codes = run_programs(calls, o.jobs, StopSignals::came, [&](size_t ended, size_t working) {
    done = ended;
    status.show(fmt::format("{}/{} runs done, {} at work", done, runs.size(), working));
  });
  if (StopSignals::came())
    throw Interrupted("stopped after {} of {} runs; the same command with --resume goes on", done, runs.size());
  status.show(fmt::format("{}/{} runs done", done, runs.size()), true);
  Json figures = Json::object();
  std::vector<std::string> failed;
  for (size_t k = 0; k < runs.size(); ++k) {
    const GridPoint& run = runs[k];
    const LossRecord losses = read_losses(o.folder + "/" + run.name);
    Json own{{"steps", losses.step.empty() ? 0 : static_cast<int64_t>(losses.step.back())}};
    if (!losses.loss.empty()) own["loss"] = losses.loss.back();
    if (!losses.validation.empty())
      own["validation"] = *std::min_element(losses.validation.begin(), losses.validation.end());
    if (codes[k] != 0) failed.push_back(run.name), own["failed"] = last_line(read_file(calls[k].printed));
    figures[run.name] = own;
  }
  print_figures(o.common, figures);
  if (!failed.empty())
    throw Error("[sweep] {} of {} runs failed: {}", failed.size(), runs.size(), fmt::join(failed, " "));
  say(fmt::format("htfm compare {}/* -o compare.html puts their scores side by side.", o.folder));
}

}  // namespace

void add_sweep(CLI::App& app) {
  auto o = std::make_shared<SweepOptions>();
  CLI::App* c = app.add_subcommand("sweep", "Train a grid of settings, each run in a process of its own");
  c->footer("Example: htfm sweep config/2d.toml --set clock.family=stable --set clock.alpha=1.3,1.5,1.7 -o sweep");
  c->add_option("config", o->config, "Configuration (TOML); the defaults where none");
  c->add_option("--set", o->settings, "key=value, or key=a,b,c for a run with each; may be repeated")
      ->allow_extra_args(false)
      ->required();
  c->add_option("-o,--output", o->folder, "Folder for the runs, one folder each")->required()->check(output_folder());
  c->add_option("--jobs", o->jobs, "Runs at a time")->check(between(1, 256))->capture_default_str();
  c->add_flag("--resume", o->resume, "Go on with a sweep that was stopped");
  o->common.add(*c);
  c->callback([o] { run_sweep(*o); });
}

}  // namespace htfm::app
