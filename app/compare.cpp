// htfm compare: several runs on one data set, side by side.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/commands.h"
#include "app/progress.h"
#include "app/stop_signals.h"
#include "htfm/device/choose_device.h"
#include "htfm/io/file.h"
#include "htfm/model/run_folder.h"
#include "htfm/page/run_page.h"

namespace htfm::app {

namespace {

struct CompareOptions {
  Common common;
  std::vector<std::string> runs;
  std::string output;
  int64_t n = 0;
};

void run_compare(CompareOptions& o) {
  o.common.apply(true);
  std::vector<Model> models;
  for (const std::string& run : o.runs) {
    models.push_back(Model::load(resolve_checkpoint(run)));
    check_comparable(models.front(), models.back(), o.runs.front(), run);
  }
  const StopSignals signals;
  const RunConfig config = models.front().config();
  const RunReference reference = make_run_reference(config, o.n > 0 ? o.n : config.sample.n, true);
  std::vector<ScoredRun> runs;
  for (size_t k = 0; k < models.size(); ++k) {
    SampleOptions options = sample_options(models[k].config());
    options.n = o.n > 0 ? o.n : config.sample.n;
    if (o.common.seed_given) options.seed = static_cast<uint64_t>(o.common.seed);
    options.device = choose_device(o.common.device, models[k].config().net.kind);
    options.report = sample_status(o.runs[k]);
    runs.push_back(score_run(std::move(models[k]), options, reference, o.runs[k]));
    runs.back().name = o.runs[k];
  }
  if (!o.output.empty()) {
    const RunPageText text{fmt::format("{} runs on {}", runs.size(), runs.front().model.data_origin()),
                           "The same data, the same number of samples, each run with the solver of its configuration.",
                           page_origin(fmt::format("htfm compare {} -o {}", fmt::join(o.runs, " "), o.output))};
    atomic_write(o.output, run_page(text, runs, reference));
  }
  if (!o.common.json) {
    fmt::print("{}", scores_text(runs));
    if (!o.output.empty()) fmt::print("page: {}\n", o.output);
    return;
  }
  Json j = Json::object();
  for (const ScoredRun& r : runs) {
    Json own{{"clock", r.model.clock().describe()}, {"step", r.model.step}, {"nfe", r.sampled.evaluations}};
    add_values(own, r.scores.values, true);
    j["runs"][r.name] = own;
  }
  if (!o.output.empty()) j["report"] = o.output;
  print_figures(o.common, j);
}

}  // namespace

void add_compare(CLI::App& app) {
  auto o = std::make_shared<CompareOptions>();
  CLI::App* c = app.add_subcommand("compare", "Score several runs on one data set side by side");
  c->footer("Example: htfm compare gaussian stable student -o compare.html");
  c->add_option("runs", o->runs, "Folders of runs, or checkpoint files")->required();
  c->add_option("-o,--output", o->output, "Page to write (.html)")->check(output_file({".html"}));
  add_count(*c, "-n,--count", o->n, "Samples of each run; by default the first run's sample.n");
  o->common.add(*c);
  add_trust(*c);
  c->callback([o] { run_compare(*o); });
}

}  // namespace htfm::app
