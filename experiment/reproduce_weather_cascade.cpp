// Weather fields in two steps: a model of their means over blocks of 8 x 8 points, and one of the fields given these.
// Whether and where it rains is decided on a grid on which a field has 256 values and not 16,384.
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>

#include "app/processes.h"
#include "app/progress.h"
#include "experiment/given_means.h"
#include "htfm/base/error.h"
#include "htfm/device/choose_device.h"
#include "htfm/field/coarse_set.h"
#include "htfm/fit/calibrated_sample.h"
#include "htfm/io/file.h"
#include "htfm/report/page.h"
#include "htfm/sample/sample_fields.h"

namespace htfm::app {

namespace {

constexpr const char* kCoarse = "coarse.";      // settings that begin so are the coarse model's
constexpr const char* kSpectrum = "-spectrum";  // cells that end so
// Fields that set the laws right, at the most; in a small run as many as are scored.
constexpr int64_t kCoarseCalibrationFields = 20'000;  // they cost little
constexpr int64_t kFineCalibrationFields = 10'000;    // of which most cost nothing, being dry

// The set of means of the fields in `data`, written into the folder.
std::string coarse_set(const ReproduceOptions& o, const std::string& data, const GivenCases& cases) {
  const std::string path = o.folder + "/coarse.fields";
  const FieldSet fine = open_field_set(data);
  FieldSet coarse = coarse_field_set(fine, cases.means.size(2), cases.means.size(3), data);
  if (is_field_set(path) && open_field_set(path).provenance == coarse.provenance) return path;
  write_field_set(path, coarse);
  return path;
}

// Settings of the fine model, and of the coarse one, without what says so.
std::vector<std::string> settings_of(const std::vector<std::string>& all, bool coarse) {
  std::vector<std::string> out;
  for (const std::string& s : all) {
    if (s.starts_with(kCoarse) != coarse) continue;
    out.push_back(coarse ? s.substr(std::string(kCoarse).size()) : s);
  }
  return out;
}

Cell coarse_cell(const ReproduceOptions& o, const std::string& data, uint64_t seed) {
  std::vector<std::string> settings = weather_settings(data, seed);
  // The rain of a field of 16 x 16 is decided at a logarithm of signal to noise of about -log 16 = -2.8.
  settings.insert(settings.end(),
                  {"unet.base=64", "unet.multipliers=1,2,2", "unet.blocks=2", "unet.attention=8", "clock.family=stable",
                   "clock.alpha=1.7", "train.optimiser=muon", "train.lr=3e-4", "train.warmup=500",
                   epochs_of(data, 9600), "train.ema=0.999", "train.times_centre=-0.5", "train.times_spread=1.6",
                   "sample.time_centre=-0.5", "sample.time_spread=1.3"});
  const std::vector<std::string> own = settings_of(o.settings, true);
  settings.insert(settings.end(), own.begin(), own.end());
  return {fmt::format("coarse-alpha-1.7-seed{}", seed), parse_config("", "reproduce", settings)};
}

SampleOptions options_of(const Cell& cell, at::Device device) {
  SampleOptions out = sample_options(cell.config);
  out.device = device, out.report = sample_status(cell.name);
  return out;
}

// Both models of a seed, trained when they are first asked for.
class Cascade {
 public:
  Cascade(Cell coarse, Cell fine, const ReproduceOptions& o, at::Device device)
      : coarse_(std::move(coarse)), fine_(std::move(fine)), o_(o), device_(device) {}

  const Cell& coarse_cell() const { return coarse_; }
  const Cell& fine_cell() const { return fine_; }
  const Model& coarse() {
    if (!coarse_model_) {
      coarse_model_ = std::make_unique<Model>(train_cell(coarse_, o_, device_));
      const SampleOptions options = options_of(coarse_, device_);
      set_laws_right(*coarse_model_, options, std::min(kCoarseCalibrationFields, 5 * options.n));
    }
    return *coarse_model_;
  }
  // Its laws, and its spectrum where it is asked for, are set right by samples of the whole cascade, so that they mend
  // what the coarse step lacks, too.
  const Model& fine(bool spectrum = false) {
    if (!fine_model_) fine_model_ = std::make_unique<Model>(train_cell(fine_, o_, device_));
    std::optional<FieldTransform>& right = right_[spectrum ? 1 : 0];
    if (!right) {
      SampleOptions options = options_of(fine_, device_);
      const at::Tensor given = drawn_coarse(std::min(kFineCalibrationFields, options.n), "", options.seed + 2);
      options.condition = {condition_rows(given), 1};
      options.n = given.size(0), options.seed += 1;
      calibrate_fields(*fine_model_, options, spectrum);
      right = fine_model_->field();
    }
    fine_model_->set_field(*right);
    return *fine_model_;
  }
  // Coarse samples that are finite, n x c x h x w. `solver`: the run's own where empty.
  at::Tensor drawn_coarse(int64_t n, const std::string& solver, std::optional<uint64_t> seed = {}) {
    SampleOptions options = options_of(coarse_, device_);
    options.n = n;
    if (!solver.empty()) options.solver = solver;
    if (seed) options.seed = *seed;
    const at::Tensor drawn = drawn_fields(coarse(), options);
    return drawn.index_select(0, drawn.flatten(1).isfinite().all(1).nonzero().view({-1}));
  }

 private:
  Cell coarse_, fine_;
  const ReproduceOptions& o_;
  at::Device device_;
  std::unique_ptr<Model> coarse_model_, fine_model_;
  std::array<std::optional<FieldTransform>, 2> right_;  // the fine model's way to values, without and with its spectrum
};

Json score_coarse(Cascade& cascade, const ReproduceOptions& o, at::Device device) {
  const Cell& cell = cascade.coarse_cell();
  const SamplesFile samples{fmt::format("{}/{}.npy", o.folder, cell.name)};
  const Model& model = cascade.coarse();
  const SampleResult drawn = sample_fields(model, options_of(cell, device), samples.path);
  Json j = scored_samples(cell.config.data.path, samples.path, cell.name, o);
  j["steps"] = model.step, j["skipped_steps"] = model.skipped, j["diverged"] = drawn.diverged;
  return j;
}

// The samples of the cascade by the solver that the cell's name says, and the same with the means that were given.
Json score_cascade(Cascade& cascade, const std::string& name, const GivenCases& cases, const ReproduceOptions& o,
                   at::Device device) {
  const Cell& fine = cascade.fine_cell();
  const SamplesFile samples{fmt::format("{}/{}.npy", o.folder, name)},
      exact{fmt::format("{}/{}-exact.npy", o.folder, name)};
  SampleOptions options = options_of(fine, device);
  if (name.ends_with(kHeun)) options.solver = "heun";
  const at::Tensor given = cascade.drawn_coarse(options.n, options.solver);
  options.condition = {condition_rows(given), 1};
  const Model& model = cascade.fine(name.ends_with(kSpectrum));
  const SampleResult drawn = sample_fields(model, options, samples.path);
  Json j = scored_samples(o.data, samples.path, name, o);
  j["blocks"] = block_figures(samples.path, given, model.field()->threshold.value_or(0));
  j["rows"] = nearest_ensembles(samples.path, cases);
  write_exact_means(samples.path, given, model, exact.path);
  j["exact"] = scored_samples(o.data, exact.path, name + "-exact", o);
  j["exact"]["cell"] = name + ", exact means";
  j["steps"] = model.step, j["skipped_steps"] = model.skipped, j["diverged"] = drawn.diverged;
  j["coarse_steps"] = cascade.coarse().step, j["coarse_config"] = format_config(cascade.coarse_cell().config);
  j["coarse_lost"] = options.n - given.size(0);
  j["nfe"] = drawn.evaluations, j["seconds"] = drawn.seconds;
  return j;
}

// A cascade that was kept is of these coarse settings, or it goes.
void drop_other_cascade(const std::string& path, const RunConfig& coarse) {
  if (!std::filesystem::exists(path)) return;
  const Json kept = Json::parse(read_file(path), nullptr, false);
  if (!kept.is_object() || kept.value("coarse_config", "") != format_config(coarse)) std::filesystem::remove(path);
}

// Before anything is written: whether any cell is asked for.
void check_wanted(const ReproduceOptions& o) {
  bool any = false;
  for (int64_t k = 0; k < o.seeds; ++k)
    for (const char* name : {"coarse-alpha-1.7-seed{}", "cascade-alpha-1.7-seed{}", "cascade-alpha-1.7-seed{}-heun",
                             "cascade-alpha-1.7-seed{}-spectrum", "given-alpha-1.7-seed{}"})
      any |= o.wants(fmt::format(fmt::runtime(name), o.common.seed + k));
  if (!any) throw no_cell_matches();
}

}  // namespace

Json reproduce_weather_cascade(const ReproduceOptions& o) {
  if (o.data.empty())
    throw InputError("[--data] expected a set of fields that htfm prepare wrote, got none: give --data rain.fields");
  if (processes()) throw InputError("[--comm] expected one process, since cells share trainings, got several");
  check_wanted(o);
  const at::Device device = choose_device(o.common.device, "ncsnpp");
  const GivenCases cases = held_out_cases(o.data);
  const std::string data = weather_set(o, SetValues::scores), coarse_data = coarse_set(o, data, cases);
  ReproduceOptions of_fine = o;
  of_fine.settings = settings_of(o.settings, false);
  std::vector<Cell> cells;
  std::vector<Json> coarse, fine;
  for (int64_t k = 0; k < o.seeds; ++k) {
    const auto seed = static_cast<uint64_t>(o.common.seed + k);
    Cascade cascade(coarse_cell(o, coarse_data, seed), given_cell(of_fine, data, seed, cases.grid()), o, device);
    std::vector<Cell> all_ways;  // the run's solver, Heun, and the run's with the spectrum set right
    for (const std::string end : {"", kHeun, kSpectrum}) {
      Cell cell{fmt::format("cascade-alpha-1.7-seed{}{}", seed, end), cascade.fine_cell().config};
      if (end == kHeun) cell.config.sample.solver = "heun";
      drop_other_cascade(fmt::format("{}/cells/{}.json", o.folder, cell.name), cascade.coarse_cell().config);
      all_ways.push_back(std::move(cell));
    }
    const auto add = [&](const Cell& cell, std::vector<Json>& results, const std::function<Json()>& score) {
      if (!o.wants(cell.name)) return;
      results.push_back(run_cells({cell}, o.folder, [&](const Cell&) {
                          Json j = score();
                          j["cell"] = cell.name;
                          return j;
                        }).front());
      cells.push_back(cell);
    };
    add(cascade.coarse_cell(), coarse, [&] { return score_coarse(cascade, o, device); });
    for (const Cell& cell : all_ways) {
      if (!o.wants(cell.name)) continue;
      add(cell, fine, [&] { return score_cascade(cascade, cell.name, cases, o, device); });
      if (fine.back().contains("exact")) fine.push_back(fine.back()["exact"]);
    }
    add(cascade.fine_cell(), fine,
        [&] { return score_given_cell(cascade.fine_cell(), cascade.fine(), cases, of_fine, device); });
  }
  report::Page page("Weather fields in two steps", "Means over blocks of 8 x 8 points, then fields given these.");
  if (!coarse.empty())
    page.section("Coarse fields").table(weather_table(coarse, "Means against those of the held-out part."));
  fmt::print(table_output(), "\n");
  if (!fine.empty()) {
    page.section("Fields").table(weather_table(fine, fmt::format("Against the held-out part of {}.", o.data)));
    fmt::print(table_output(), "\n");
    page.section("Ensembles").table(ensemble_table(fine));
  }
  add_maps(page, cells, o);
  std::vector<Json> all = coarse;
  all.insert(all.end(), fine.begin(), fine.end());
  Json out{{"experiment", "weather-cascade"}, {"cells", all}};
  write_experiment(o.folder, "weather-cascade", page, out);
  return out;
}

}  // namespace htfm::app
