// htfm train, sample, info: a run from its configuration to samples.
#include <fmt/format.h>

#include "app/commands.h"
#include "app/progress.h"
#include "htfm/base/error.h"
#include "htfm/device/choose_device.h"
#include "htfm/io/csv.h"
#include "htfm/io/hash.h"
#include "htfm/io/npy.h"
#include "htfm/sample/sample_fields.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

namespace {

// A table in Markdown, so that the documentation can be made from it.
void print_keys() {
  fmt::print("| key | type | default | meaning |\n|---|---|---|---|\n");
  for (const ConfigKey& k : config_keys())
    fmt::print("| `{}` | {} | {} | {} |\n", k.name, k.type, k.default_value.empty() ? "" : "`" + k.default_value + "`",
               k.meaning);
}

}  // namespace

void add_train(CLI::App& app) {
  struct Options {
    Common common;
    std::string config, folder;
    std::vector<std::string> settings;
    bool resume = false, dry_run = false, keys = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("train", "Train as a TOML file says");
  c->footer("Example: htfm train config/2d.toml --set clock.family=stable --set clock.alpha=1.7 -o run");
  CLI::Option* config_option = c->add_option("config", o->config, "Configuration (TOML)");
  c->add_option("--set", o->settings, "key=value, on top of the file; may be repeated")->allow_extra_args(false);
  c->add_option("-o,--output", o->folder, "Folder of the run");
  c->add_flag("--resume", o->resume, "Go on from the newest checkpoint in the folder");
  c->add_flag("--dry-run", o->dry_run, "Print the resolved configuration and stop");
  c->add_flag("--keys", o->keys, "List every key with its type, default and meaning, and stop");
  o->common.add(*c);
  add_trust(*c);
  c->callback([o, config_option] {
    o->common.apply(true);
    if (o->keys) {
      print_keys();
      return;
    }
    if (config_option->count() == 0) throw InputError("[config] expected a TOML file, got none");
    if (o->common.seed_given) o->settings.push_back(fmt::format("seed={}", o->common.seed));
    const RunConfig config = load_config(o->config, o->settings);
    if (o->dry_run) {
      fmt::print("{}", format_config(config));
      return;
    }
    if (o->folder.empty()) throw InputError("[-o] expected a folder for the run, got none");
    const Model model = train_with_status(
        config, {.folder = o->folder, .device = choose_device(o->common.device, config.net.kind), .resume = o->resume});
    print_figures(o->common, {{"run", o->folder},
                              {"clock", model.clock().describe()},
                              {"steps", model.step},
                              {"skipped_steps", model.skipped},
                              {"weights_hash", model.weights_hash()}});
  });
}

void add_sample(CLI::App& app) {
  struct Options {
    Common common;
    ClockChoice clock;
    std::string run, output, area, weights = "ema";
    std::string solver, time_grid;
    int64_t n = 0, nfe = 0;
    double time_power = 0, rtol = 0, atol = 0, eta = -1, eta_from = -1;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("sample", "Sample a trained run");
  c->footer("Example: htfm sample run -n 24000 --solver ab2 --nfe 20 -o s.npy");
  c->add_option("run", o->run, "Folder of a run, or a checkpoint file")->required();
  add_count(*c, "-n,--count", o->n, "How many samples")->required();
  c->add_option("-o,--output", o->output, "File to write (.npy or .csv)")->required();
  c->add_option("--area", o->area, "File for the areas of the clocks (.npy)");
  std::string names;
  for (const SolverInfo& s : solvers()) names += (names.empty() ? "" : ", ") + s.name;
  c->add_option("--solver", o->solver,
                "Solver: " + names + "; of a baseline, its sampler; the run's own where not given");
  c->add_option("--nfe", o->nfe, "Network evaluations a sample, at the most")->check(positive());
  c->add_option("--time-grid", o->time_grid, "angle, clock or uniform; the run's own where not given")
      ->check(CLI::IsMember({"angle", "clock", "uniform"}));
  c->add_option("--time-power", o->time_power, "Time grid 1 - (1-u)^power")->check(between(0.1, 16.0));
  c->add_option("--eta", o->eta,
                "stochastic: how much of the noise is drawn anew; 0 none, 1 as much as the reverse of a diffusion")
      ->check(between(0.0, 1.0));
  c->add_option("--eta-from", o->eta_from, "stochastic: where this begins, as a share of the way in angle")
      ->check(between(0.0, 1.0));
  c->add_option("--rtol", o->rtol, "dopri5: relative tolerance")->check(positive());
  c->add_option("--atol", o->atol, "dopri5: absolute tolerance")->check(positive());
  c->add_option("--weights", o->weights, "ema or raw")->check(CLI::IsMember({"ema", "raw"}));
  o->clock.add(*c, false);
  o->common.add(*c);
  add_trust(*c);
  c->callback([o] {
    o->common.apply(true);
    if (!o->output.ends_with(".npy") && !o->output.ends_with(".csv"))
      throw InputError("[-o] expected a file that ends in .npy or .csv, got '{}'", o->output);
    const Model model = Model::load(resolve_checkpoint(o->run));
    if (o->clock.family->count() > 0 || !o->clock.given.empty()) {
      ClockSpec asked = o->clock.get();
      if (o->clock.family->count() == 0) asked.family.clear();
      model.check_clock(asked);
    }
    SampleOptions options = sample_options(model.config());
    options.n = o->n;
    if (o->common.seed_given) options.seed = static_cast<uint64_t>(o->common.seed);
    if (!o->solver.empty()) options.solver = o->solver;
    if (o->nfe > 0)
      options.solve.nfe = o->nfe;
    else if (options.solver == "dopri5")
      options.solve.nfe = std::max<int64_t>(options.solve.nfe, 2000);
    if (!o->time_grid.empty()) options.time_grid = time_grid_by_name(o->time_grid);
    if (o->time_power > 0) options.solve.time_power = o->time_power;
    if (o->eta >= 0) options.solve.eta = o->eta;
    if (o->eta_from >= 0) options.solve.eta_from = o->eta_from;
    if (o->rtol > 0) options.solve.rtol = o->rtol;
    if (o->atol > 0) options.solve.atol = o->atol;
    options.averaged = o->weights == "ema";
    options.device = choose_device(o->common.device, model.config().net.kind);
    options.report = sample_status();
    const bool stream = model.field() && o->output.ends_with(".npy");
    const SampleResult result = stream ? sample_fields(model, options, o->output) : sample(model, options);
    if (o->output.ends_with(".csv"))
      write_csv(o->output, result.samples, model.column_names(), model.transform().digits());
    else if (!stream)
      write_npy(o->output, result.samples);
    if (!o->area.empty()) write_npy(o->area, result.area);
    print_figures(o->common, sample_figures(model, options, result, o->output));
  });
}

void add_info(CLI::App& app) {
  struct Options {
    Common common;
    std::string run;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("info", "What a run or checkpoint is");
  c->footer("Example: htfm info run");
  c->add_option("run", o->run, "Folder of a run, or a checkpoint file")->required();
  o->common.add(*c);
  add_trust(*c);
  c->callback([o] {
    o->common.apply();
    const std::string path = resolve_checkpoint(o->run);
    const Model m = Model::load(path);
    const ModelDescription d = m.describe();
    Json j{{"checkpoint", path},
           {"file_sha256", sha256_file(path)},
           {"method", d.method},
           {"clock", d.clock},
           {"feature", d.feature},
           {"schedule", d.schedule},
           {"coupling", d.coupling},
           {"precondition", d.precondition},
           {"data_scale", d.data_scale},
           {"network", d.network},
           {"parameters", d.parameters},
           {"dimension", d.dimension},
           {"step", d.step},
           {"skipped_steps", d.skipped_steps},
           {"data", d.data},
           {"data_hash", d.data_hash},
           {"weights_hash", d.weights_hash},
           {"seed", d.seed}};
    if (!d.method_options.empty()) j["method_options"] = d.method_options;
    if (!d.clock_explanation.empty()) j["clock_explanation"] = d.clock_explanation;
    // A file whose rows are not at hand does not say how many steps the whole run has.
    if (m.config().data.path.empty()) j["steps"] = total_steps(m.config(), m.config().data.n);
    print_figures(o->common, j);
  });
}

}  // namespace htfm::app
