// htfm calibrate: the laws of a run of scored fields set right by its own samples.
#include <fmt/format.h>

#include "app/commands.h"
#include "app/progress.h"
#include "app/stop_signals.h"
#include "htfm/fit/calibrated_sample.h"

namespace htfm::app {

void add_calibrate(CLI::App& app) {
  struct Options {
    Common common;
    std::string run, solver, given;
    int64_t n = 0, nfe = 0;
    bool spectrum = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("calibrate",
                                   "Correct the distribution of values of a run of scored fields by its own samples");
  c->footer(
      "Example: htfm calibrate run -n 2000\n"
      "         htfm calibrate run --solver heun --nfe 50    (for samples drawn in this way)\n"
      "         htfm calibrate fine --given coarse.npy    (for fields given samples of another model)");
  c->add_option("run", o->run, "Folder of a run, or a checkpoint file; the checkpoint is rewritten")->required();
  add_count(*c, "-n,--count", o->n, "Fields to draw (default: 2000, or with --given as many as it has)");
  c->add_option("--given", o->given,
                "Fields that are given, one after the other, to a model with condition.field (a prepared set, or "
                ".npy); by default those of training");
  c->add_flag("--spectrum", o->spectrum,
              "Also correct how power is shared among wave numbers, by that of the fields to train on (the run's "
              "prepared set)");
  c->add_option("--solver", o->solver, "Solver; by default the run's own");
  c->add_option("--nfe", o->nfe, "Network evaluations per sample, at most")->check(positive());
  o->common.add(*c);
  add_trust(*c);
  c->callback([o] {
    o->common.apply(true);
    const std::string path = resolve_checkpoint(o->run);
    const Model model = Model::load(path);
    SampleOptions options = sample_options(model.config());
    // Other samples than those that are drawn with the run's seed.
    options.seed = o->common.seed_given ? static_cast<uint64_t>(o->common.seed) : options.seed + 1;
    if (!o->given.empty()) options.condition = find_given(model.condition(), o->given);
    options.n = o->n > 0 ? o->n : o->given.empty() ? 2000 : options.condition.rows.size(0);
    if (!o->solver.empty()) options.solver = o->solver;
    if (o->nfe > 0) options.solve.nfe = o->nfe;
    options.device = o->common.device_for(model.config().net.kind);
    options.report = sample_status("calibrate");
    const StopSignals signals;
    const FieldCalibration done = calibrate_checkpoint(path, options, o->spectrum);
    Json figures{{"checkpoint", path},          {"fields", options.n},
                 {"diverged", done.diverged},   {"wet_before", done.wet_before},
                 {"wet_after", done.wet_after}, {"wet_train", done.wet_train},
                 {"seconds", done.seconds}};
    if (o->spectrum)
      figures.update({{"spectrum_before", done.spectrum_before}, {"spectrum_after", done.spectrum_after}});
    print_figures(o->common, figures);
  });
}

}  // namespace htfm::app
