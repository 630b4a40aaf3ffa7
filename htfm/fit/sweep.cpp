#include "htfm/fit/sweep.h"

#include <algorithm>

#include "htfm/base/error.h"
#include "htfm/io/child_process.h"
#include "htfm/io/file.h"
#include "htfm/io/program_queue.h"
#include "htfm/model/config.h"
#include "htfm/model/loss_record.h"
#include "htfm/model/run_folder.h"
#include "htfm/model/setting_grid.h"

namespace htfm {

namespace {

ProgramCall training_of(const SweepOptions& o, const GridPoint& run) {
  const std::string folder = o.folder + "/" + run.name;
  std::vector<std::string> words = o.train;
  if (!o.config.empty()) words.push_back(o.config);
  for (const std::string& setting : run.settings) words.insert(words.end(), {"--set", setting});
  words.insert(words.end(), {"-o", folder, "--resume"});
  return {words, folder + "/train.txt"};
}

void check_grid(const SweepOptions& o, const std::vector<GridPoint>& runs) {
  for (const GridPoint& run : runs)
    o.config.empty() ? parse_config("", "--set", run.settings) : load_config(o.config, run.settings);
  if (o.resume) return;
  for (const GridPoint& run : runs)
    if (RunFolder(o.folder + "/" + run.name).exists())
      throw InputError("[sweep] {}/{}: expected no run there, got one: give --resume to continue, or another folder",
                       o.folder, run.name);
}

}  // namespace

std::vector<SweptRun> sweep(const SweepOptions& o) {
  const std::vector<GridPoint> runs = setting_grid(o.settings);
  check_grid(o, runs);
  std::vector<ProgramCall> calls;
  for (const GridPoint& run : runs) calls.push_back(training_of(o, run));
  size_t done = 0;
  const auto codes = run_programs(calls, o.jobs, o.stop, [&](size_t ended, size_t working) {
    done = ended;
    o.report(ended, runs.size(), working);
  });
  if (o.stop())
    throw Interrupted("stopped after {} of {} runs; the same command with --resume continues", done, runs.size());
  std::vector<SweptRun> out;
  for (size_t k = 0; k < runs.size(); ++k) {
    SweptRun run{.name = runs[k].name};
    const LossRecord losses = read_losses(o.folder + "/" + run.name);
    if (!losses.step.empty()) run.steps = static_cast<int64_t>(losses.step.back());
    if (!losses.loss.empty()) run.loss = losses.loss.back();
    if (!losses.validation.empty())
      run.validation = *std::min_element(losses.validation.begin(), losses.validation.end());
    if (codes[k] != 0) {
      run.failed = last_line(read_file(calls[k].printed));
      if (run.failed.empty()) run.failed = "it printed nothing";
    }
    out.push_back(run);
  }
  return out;
}

}  // namespace htfm
