// htfm train, sample, info: a run from its configuration to samples.
#include <fmt/format.h>

#include <cmath>

#include "app/commands.h"
#include "app/field_list.h"
#include "app/processes.h"
#include "app/progress.h"
#include "app/rare.h"
#include "app/stop_signals.h"
#include "htfm/base/error.h"
#include "htfm/field/field_writer.h"
#include "htfm/field/list_fields.h"
#include "htfm/io/hash.h"
#include "htfm/sample/sample_fields.h"
#include "htfm/sample/sample_file.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

namespace {

// A clock that is named must be the run's.
void check_clock(const Model& model, const ClockChoice& choice) {
  if (choice.grid->count() > 0 && choice.spec.grid != model.clock().grid)
    throw InputError("[--grid] expected the clock that the run was trained with, {}; got the grid {}",
                     model.clock().describe(), choice.spec.grid);
  ClockSpec asked = choice.family->count() > 0 || !choice.given.empty() ? choice.get() : model.clock();
  if (choice.family->count() == 0) asked.family = model.clock().family;
  asked.scale = choice.scale->count() > 0 ? choice.spec.scale : model.clock().scale;
  model.check_clock(asked);
}

// From a file; without one, a run that goes on takes its own, and settings stand on the defaults.
RunConfig config_of(const std::string& file, const std::vector<std::string>& settings, const std::string& resumed) {
  if (!file.empty()) return load_config(file, settings);
  if (const RunFolder folder(resumed); !resumed.empty() && folder.exists())
    return load_config(folder.config(), settings);
  if (settings.empty() && !resumed.empty())
    throw InputError("[--resume] {}: expected a run to continue, got none there: name its folder with -o", resumed);
  if (settings.empty())
    throw InputError(
        "[config] expected a TOML file, or settings to train with; got none: htfm train config/2d.toml -o run, or htfm "
        "train --set data.path=x.npy -o run");
  return parse_config("", "--set", settings);
}

struct SampleChoice {
  Common common;
  ClockChoice clock;
  RareRequest rare;
  bool is_rare() const { return !rare.beyond.empty() || !rare.where.empty(); }
  std::string run, output, area, weights = "ema";
  std::string solver, time_grid, precision, given;
  int64_t n = 0, nfe = 0, each = 0;
  bool resume = false;
  double time_power = 0, time_centre = NAN, time_spread = 0, rtol = 0, atol = 0, eta = -1, eta_from = -1, guidance = -1;
  bool exact_means = false;
  // Whether --given names a table, which has a row for each sample.
  bool given_rows() const { return !given.empty() && given.find('=') == std::string::npos; }
};

void check_plain(const SampleChoice& o) {
  if (o.n == 0 && !o.given_rows()) throw InputError("[-n] give a number of samples: -n 10000");
  if (o.output.empty()) throw InputError("[-o] give a file for the samples: -o s.npy");
  if (o.weights != "ema" && o.weights != "raw")
    throw InputError("[--weights] expected ema or raw without --beyond and --where, got '{}'", o.weights);
}

// What goes with rare samples, which are drawn as a whole.
void check_rare(const SampleChoice& o) {
  if (!o.output.empty() && o.n == 0) throw InputError("[-n] give a number of samples: -n 10000");
  if (processes())
    throw InputError("[--comm] expected one process with --beyond or --where, got {}: start the command alone",
                     processes()->size());
  if (o.resume || !o.area.empty())
    throw InputError("[{0}] expected no {0} with --beyond or --where, whose samples are drawn all at once; got one",
                     o.resume ? "--resume" : "--area");
  if (is_field_file_name(o.output))
    throw InputError("[-o] expected a file that ends in .npy or .csv with --beyond or --where, got '{}'", o.output);
  if (o.output.empty() && o.weights != "ema" && o.weights != "raw")
    throw InputError("[--weights] expected a file for the samples as well: -o s.npy; got '{}' alone", o.weights);
}

// Reads what is given, and how many samples that makes.
void take_given(const SampleChoice& o, const Model& model, SampleOptions& options) {
  if (o.guidance >= 0) options.guidance = o.guidance;
  options.exact_means = options.exact_means || o.exact_means;
  if (o.each > 0 && !o.given_rows()) throw InputError("[--each] expected a file of rows (--given rows.csv), got none");
  options.n = o.n;
  if (o.given.empty()) return;
  GivenConditions& given = options.condition = find_given(model.condition(), o.given);
  for (const std::string& warning : model.condition().warnings(given.rows)) say("warning: " + warning);
  if (!o.given_rows()) return;
  given.each = std::max<int64_t>(1, o.each);
  if (o.n == 0) options.n = given.rows.size(0) * given.each;
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
  CLI::App* c = app.add_subcommand("train", "Train a model from a TOML file and settings");
  c->footer(
      "Example: htfm train config/2d.toml --set clock.family=stable --set clock.alpha=1.7 -o run\n"
      "         htfm train --set data.path=x.npy -o run    and, if it was interrupted, htfm train --resume -o run");
  CLI::Option* config_option = c->add_option(
      "config", o->config, "Configuration (TOML); without one the defaults, or with --resume the run's own");
  c->add_option("--set", o->settings, "key=value, overrides the file; may be repeated")->allow_extra_args(false);
  c->add_option("-o,--output", o->folder, "Folder of the run")->check(output_folder());
  c->add_flag("--resume", o->resume, "Continue from the newest checkpoint in the folder");
  c->add_flag("--dry-run", o->dry_run, "Print the resolved configuration and stop");
  c->add_flag("--keys", o->keys, "List every key with its type, default and meaning, and stop");
  o->common.add_comm(*c);
  o->common.add(*c);
  add_trust(*c);
  c->callback([o, config_option] {
    o->common.apply(true);
    if (o->keys) {
      fmt::print("{}", config_key_table());
      return;
    }
    if (o->common.seed_given) o->settings.push_back(fmt::format("seed={}", o->common.seed));
    const RunConfig config =
        config_of(config_option->count() > 0 ? o->config : "", o->settings, o->resume ? o->folder : "");
    if (o->dry_run) {
      fmt::print("{}", format_config(config));
      return;
    }
    if (o->folder.empty()) throw InputError("[-o] give a folder for the run: -o run");
    const at::Device device = o->common.device_for(config.net.kind);
    const TrainOptions options{.folder = o->folder,
                               .device = device,
                               .resume = o->resume,
                               .processes = {processes(), o->common.nccl_on(device)}};
    const Model model = [&] {
      try {
        return train_with_status(config, options);
      } catch (const Interrupted& e) {
        stopped_together();
        throw Interrupted("{}; htfm train --resume -o {} continues from there", e.what(), o->folder);
      }
    }();
    Json j{{"run", o->folder}, {"clock", model.clock().describe()}};
    if (model.condition().there()) j["condition"] = model.condition().describe();
    j["steps"] = model.step, j["skipped_steps"] = model.skipped, j["weights_hash"] = model.weights_hash();
    print_figures(o->common, j);
  });
}

void add_sample(CLI::App& app) {
  auto o = std::make_shared<SampleChoice>();
  CLI::App* c = app.add_subcommand("sample", "Draw samples from a trained run");
  c->footer(
      "Example: htfm sample run -n 24000 --solver ab2 --nfe 20 -o s.npy\n"
      "         htfm sample run --given line=fire,region=EU -n 1e6 -o fire.csv\n"
      "         htfm sample run --given rows.csv --each 100 -o s.csv\n"
      "         htfm sample run --given coarse.fields --each 20 -o s.npy\n"
      "         htfm sample run --beyond 0.999 -n 10000 -o s.npy --weights w.npy    (only rare samples)\n"
      "         htfm sample run --where \"loss > 5e6\"    (only the probability of this)");
  c->add_option("run", o->run, "Folder of a run, or a checkpoint file")->required();
  add_count(*c, "-n,--count", o->n, "Number of samples; with --given FILE by default its number of rows, times --each");
  c->add_option("--given", o->given,
                "Conditions: name=value,name=value, or a table with a row for each sample, or fields (a prepared set, "
                "or .npy); conditions that are not given are drawn from those of training");
  add_count(*c, "--each", o->each, "Samples for each row of --given FILE (default 1)");
  c->add_option("--guidance", o->guidance, "Strength of guidance by the condition; by default the run's own")
      ->check(between(0.0, 100.0));
  c->add_flag("--exact-means", o->exact_means,
              "If a field is given: move samples so that their means over its blocks are exactly the given ones");
  c->add_option("-o,--output", o->output, "File to write (.npy or .csv; fields: .npy, .nc or .grib2)")
      ->check(output_file({".npy", ".csv", ".nc", ".grib2", ".grb2"}));
  c->add_option("--area", o->area, "File for the areas of the clocks (.npy)")->check(output_file({".npy"}));
  std::string names;
  for (const SolverInfo& s : solvers()) names += (names.empty() ? "" : ", ") + s.name;
  c->add_option("--solver", o->solver, "Solver: " + names + "; for a baseline, its sampler; by default the run's own");
  c->add_option("--nfe", o->nfe, "Network evaluations per sample, at most")->check(positive());
  c->add_option("--time-grid", o->time_grid, "angle, clock or uniform; by default the run's own")
      ->check(one_of({"angle", "clock", "uniform"}));
  c->add_option("--precision", o->precision,
                "Of evaluations of an image network on a CUDA device: fp8 (compute capability 9), bf16, tf32 or "
                "float32; by default the run's own")
      ->check(one_of({"fp8", "bf16", "tf32", "float32"}));
  c->add_option("--time-power", o->time_power, "Power of the time grid w = 1 - (1-u)^power, for u uniform on [0,1]")
      ->check(between(0.1, 16.0));
  c->add_option("--time-centre", o->time_centre,
                "Then logit w becomes centre + spread * logit w; centre below 0: more steps near the noise")
      ->check(between(-20.0, 20.0));
  c->add_option("--time-spread", o->time_spread, "The spread in this; above 1: more steps near both ends")
      ->check(between(0.1, 16.0));
  c->add_option("--eta", o->eta,
                "stochastic: how much of the noise is drawn anew; 0: none, 1: as much as in a reverse diffusion")
      ->check(between(0.0, 1.0));
  c->add_option("--eta-from", o->eta_from,
                "stochastic: where this begins, as a share of the way from noise to data in angle")
      ->check(between(0.0, 1.0));
  c->add_option("--rtol", o->rtol, "dopri5: relative tolerance")->check(positive());
  c->add_option("--atol", o->atol, "dopri5: absolute tolerance")->check(positive());
  add_rare(*c, o->rare);
  c->add_option(
       "--weights", o->weights,
       "Weights of the network, ema or raw; or, with --beyond or --where, a file for the samples' weights (.npy, .csv)")
      ->check([](const std::string& given) {
        return given == "ema" || given == "raw" ? std::string() : output_file({".npy", ".csv"})(given);
      });
  c->add_flag("--resume", o->resume, "Continue a file that was not finished");
  o->clock.add(*c, false);
  o->common.add_comm(*c);
  o->common.add(*c);
  add_trust(*c);
  c->callback([o] {
    o->common.apply(true);
    const bool weights_file = o->weights != "ema" && o->weights != "raw";
    o->is_rare() ? check_rare(*o) : check_plain(*o);
    const Model model = Model::load(resolve_checkpoint(o->run));
    check_clock(model, o->clock);
    SampleOptions options = sample_options(model.config());
    take_given(*o, model, options);
    if (o->common.seed_given) options.seed = static_cast<uint64_t>(o->common.seed);
    if (!o->solver.empty()) options.solver = o->solver;
    if (o->nfe > 0)
      options.solve.nfe = o->nfe;
    else if (options.solver == "dopri5")
      options.solve.nfe = std::max<int64_t>(options.solve.nfe, 2000);
    if (!o->time_grid.empty()) options.time_grid = time_grid_by_name(o->time_grid);
    if (o->time_power > 0) options.solve.time_power = o->time_power;
    if (!std::isnan(o->time_centre)) options.solve.time_centre = o->time_centre;
    if (o->time_spread > 0) options.solve.time_spread = o->time_spread;
    if (o->eta >= 0) options.solve.eta = o->eta;
    if (o->eta_from >= 0) options.solve.eta_from = o->eta_from;
    if (o->rtol > 0) options.solve.rtol = o->rtol;
    if (o->atol > 0) options.solve.atol = o->atol;
    options.averaged = o->weights != "raw";
    options.device = o->common.device_for(model.config().net.kind);
    if (!o->precision.empty()) {
      if (options.device.is_cpu() || !model.network().unet())
        throw InputError("[--precision] expected none but for an image network on a CUDA device, got {}", o->precision);
      options.precision = o->precision;
    }
    if (any_texts(model.columns()) && !o->output.ends_with(".csv"))
      say("Categories are written as codes (0, 1, ... in the order of their names), dates as days or seconds since "
          "1970, "
          "and NaN where a value is missing; a file that ends in .csv has the texts.");
    const StopSignals signals;
    if (o->is_rare()) {
      o->rare.n = o->n, o->rare.file = o->output, o->rare.weights = weights_file ? o->weights : "";
      return print_figures(o->common, sample_rare(model, options, o->rare));
    }
    options.report = sample_status();
    const SampleResult result = [&] {
      if (is_field_file_name(o->output)) {
        if (processes() || o->resume || !o->area.empty())
          throw InputError(
              "[-o] expected a file that ends in .npy with several processes, --resume or --area, got '{}'", o->output);
        const std::string command = fmt::format("htfm sample {} -n {} -o {}", o->run, options.n, o->output);
        return export_sampled_fields(model, options, o->output, command, say);
      }
      try {
        return sample_to_file(model, options, {o->output, o->area, o->resume, processes()});
      } catch (const Interrupted& e) {
        throw Interrupted("{}; they are kept beside {}, and the same command with --resume continues", e.what(),
                          o->output);
      }
    }();
    print_figures(o->common, sample_figures(model, options, result, o->output));
  });
}

void add_info(CLI::App& app) {
  struct Options {
    Common common;
    std::string run;
    bool values = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("info", "Describe a run, a checkpoint or a file of fields");
  c->footer("Example: htfm info run\n         htfm info era5.grib");
  c->add_option("run", o->run, "Folder of a run, a checkpoint, a GRIB or NetCDF file, or a prepared set")->required();
  c->add_flag("--values", o->values, "Fields: range of the values of all of them, not only of the first of each kind");
  o->common.add(*c, {.seed = false, .device = false});
  add_trust(*c);
  c->callback([o] {
    o->common.apply();
    if (is_field_file(o->run)) return print_field_list(o->common, o->run, o->values);
    const std::string path = resolve_checkpoint(o->run);
    check_known_file(path);
    const Model m = Model::load(path);
    Json j{{"checkpoint", path}, {"file_sha256", sha256_file(path)}};
    j.update(Json::parse(description_json(m.describe())));
    // A file whose rows are not at hand does not say how many steps the whole run has.
    if (m.config().data.path.empty()) j["steps"] = total_steps(m.config(), m.config().data.n);
    print_figures(o->common, j);
  });
}

}  // namespace htfm::app
