// htfm sweep: a grid of settings, a run for each, several processes at a time.
#include "htfm/fit/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

#include "app/commands.h"
#include "app/stop_signals.h"
#include "htfm/base/error.h"

namespace htfm::app {

namespace {

struct SweepCommand {
  Common common;
  SweepOptions options;
};

void run_sweep(SweepCommand& c) {
  c.common.apply(true);
  SweepOptions& o = c.options;
  const int threads =
      std::max(1, static_cast<int>(std::thread::hardware_concurrency() / static_cast<unsigned>(o.jobs)));
  o.train = {"/proc/self/exe", "train", "--device", c.common.device, "--threads"};
  o.train.push_back(std::to_string(c.common.threads > 0 ? c.common.threads : threads));
  if (c.common.seed_given) o.train.insert(o.train.end(), {"--seed", std::to_string(c.common.seed)});
  const StopSignals signals;
  o.stop = StopSignals::came;
  StatusLine status;
  o.report = [&](size_t done, size_t all, size_t working) {
    status.show(fmt::format("{}/{} runs done, {} running", done, all, working));
  };
  const std::vector<SweptRun> runs = sweep(o);
  status.show(fmt::format("{0}/{0} runs done", runs.size()), true);
  Json figures = Json::object();
  std::vector<std::string> failed;
  for (const SweptRun& run : runs) {
    Json& own = figures[run.name] = {{"steps", run.steps}};
    if (run.loss) own["loss"] = *run.loss;
    if (run.validation) own["validation"] = *run.validation;
    if (!run.failed.empty()) failed.push_back(run.name), own["failed"] = run.failed;
  }
  print_figures(c.common, figures);
  if (!failed.empty())
    throw Error("[sweep] {} of {} runs failed: {}", failed.size(), runs.size(), fmt::join(failed, " "));
  say(fmt::format("htfm compare {}/* -o compare.html puts their scores side by side.", o.folder));
}

}  // namespace

void add_sweep(CLI::App& app) {
  auto command = std::make_shared<SweepCommand>();
  SweepOptions& o = command->options;
  CLI::App* c = app.add_subcommand("sweep", "Train a run for each combination of settings, each in a separate process");
  c->footer("Example: htfm sweep config/2d.toml --set clock.family=stable --set clock.alpha=1.3,1.5,1.7 -o sweep");
  c->add_option("config", o.config, "Configuration (TOML); without one the defaults");
  c->add_option("--set", o.settings, "key=value, or key=a,b,c for a run with each value; may be repeated")
      ->allow_extra_args(false)
      ->required();
  c->add_option("-o,--output", o.folder, "Folder for the runs, with a folder for each")
      ->required()
      ->check(output_folder());
  c->add_option("--jobs", o.jobs, "Runs at a time")->check(between(1, 256))->capture_default_str();
  c->add_flag("--resume", o.resume, "Continue a sweep that was interrupted");
  command->common.add(*c);
  c->callback([command] { run_sweep(*command); });
}

}  // namespace htfm::app
