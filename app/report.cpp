// htfm report: one self-contained page about a run.
#include <fmt/format.h>

#include "app/commands.h"
#include "app/field_eval.h"
#include "app/progress.h"
#include "htfm/device/choose_device.h"
#include "htfm/io/file.h"
#include "htfm/model/description.h"
#include "htfm/model/run_folder.h"
#include "htfm/page/field_page.h"
#include "htfm/page/run_page.h"

namespace htfm::app {

namespace {

Json report_fields(const Model& model, const SampleOptions& options, const std::string& run,
                   const std::string& output) {
  const ScoredFieldRun scored =
      write_field_run_page(model, options, run, output, page_origin(fmt::format("htfm report {} -o {}", run, output)));
  Json j = sample_figures(model, options, scored.sampled);
  const Json scores = field_figures("", "", scored.evaluation, true);
  for (const auto& [name, value] : scores.items())
    if (value.is_number()) j[name] = value;
  j["report"] = output;
  return j;
}

}  // namespace

void add_report(CLI::App& app) {
  struct Options {
    Common common;
    std::string run, output;
    int64_t n = 0;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("report", "Make one self-contained page about a run");
  c->footer("Example: htfm report run -o report.html");
  c->add_option("run", o->run, "Folder of a run")->required();
  c->add_option("-o,--output", o->output, "File to write (.html)")->required()->check(output_file({".html"}));
  add_count(*c, "-n,--count", o->n, "Samples to draw; by default the run's sample.n");
  o->common.add(*c);
  add_trust(*c);
  c->callback([o] {
    o->common.apply(true);
    Model model = Model::load(resolve_checkpoint(o->run));
    SampleOptions options = sample_options(model.config());
    if (o->n > 0) options.n = o->n;
    if (o->common.seed_given) options.seed = static_cast<uint64_t>(o->common.seed);
    options.device = choose_device(o->common.device, model.config().net.kind);
    options.report = sample_status(model.field() ? "" : variant_name(model.clock(), model.config().method));
    if (model.field()) {
      print_figures(o->common, report_fields(model, options, o->run, o->output));
      return;
    }
    const RunReference reference = make_run_reference(model.config(), options.n, true);
    std::vector<ScoredRun> runs;
    runs.push_back(score_run(std::move(model), options, reference, o->run));
    const ScoredRun& r = runs.front();
    const RunPageText text{r.name + " on " + r.model.data_origin(),
                           "Heavy-tailed flow matching with the clock " + r.model.clock().describe() + ".",
                           page_origin(fmt::format("htfm report {} -o {}", o->run, o->output))};
    atomic_write(o->output, run_page(text, runs, reference));
    Json j{{"report", o->output}, {"nfe", r.sampled.evaluations}, {"diverged", r.sampled.diverged}};
    for (const MetricValue& v : r.scores.values) j[v.name] = v.value;
    print_figures(o->common, j);
  });
}

}  // namespace htfm::app
