// Weather fields: clocks and couplings at an equal budget on a prepared set, scored against the part that is held out.
#include <fmt/format.h>

#include <algorithm>

#include "app/field_eval.h"
#include "app/progress.h"
#include "experiment/weather_experiment.h"
#include "htfm/base/error.h"
#include "htfm/device/choose_device.h"
#include "htfm/field/field_set.h"
#include "htfm/fit/calibrated_sample.h"
#include "htfm/io/file.h"
#include "htfm/io/png.h"
#include "htfm/page/field_page.h"
#include "htfm/report/page.h"

namespace htfm::app {

namespace {

constexpr int64_t kBatch = 128;

struct WeatherVariant {
  std::string name;
  std::vector<std::string> settings;
  SetValues values = SetValues::spread;
};

// The clocks of the paper's table of weather fields, with its scores of two years of HRRR.
struct PaperClock {
  const char *name, *family, *parameter;
  double kr, sr, ks;
};
constexpr PaperClock kPaperClocks[] = {
    {"G", "clock.family=deterministic", "", 0.72, 0.68, 0.42},
    {"alpha-1.6", "clock.family=stable", "clock.alpha=1.6", 0.04, 0.11, 0.11},
    {"alpha-1.7", "clock.family=stable", "clock.alpha=1.7", 0.47, 0.06, 0.04},
    {"alpha-1.8", "clock.family=stable", "clock.alpha=1.8", 0.06, 0.31, 0.03},
    {"t-1.7", "clock.family=inverse-gamma", "clock.nu=1.7", 0.56, 0.14, 0.14},
    {"t-2.0", "clock.family=inverse-gamma", "clock.nu=2", 0.43, 0.52, 0.21},
    {"t-3.0", "clock.family=inverse-gamma", "clock.nu=3", 0.16, 0.41, 0.16},
};

WeatherVariant variant(const std::string& prefix, const PaperClock& clock, const std::vector<std::string>& more,
                       SetValues values = SetValues::spread) {
  WeatherVariant v{prefix + clock.name, {clock.family}, values};
  if (*clock.parameter) v.settings.emplace_back(clock.parameter);
  v.settings.insert(v.settings.end(), more.begin(), more.end());
  return v;
}

std::vector<WeatherVariant> weather_variants() {
  const std::vector<std::string> none, by_clock{"precondition.time=clock"},
      // A field meets the source whose radius has the same level in its law as the field's in the set.
      coupled{"coupling.kind=pool", "coupling.size=radius", "precondition.scale=clock"};
  std::vector<WeatherVariant> out;
  for (const PaperClock& c : kPaperClocks) out.push_back(variant("", c, none));
  for (const PaperClock& c : kPaperClocks)
    if (*c.parameter) out.push_back(variant("coupled-", c, coupled));
  for (const PaperClock& c : kPaperClocks) {
    const std::string name = c.name;
    const bool heavy = name == "alpha-1.7" || name == "t-3.0";
    if (heavy) out.push_back(variant("by-clock-", c, by_clock));
    if (heavy || name == "G") out.push_back(variant("scores-", c, none, SetValues::scores));
    if (heavy) out.push_back(variant("scores-coupled-", c, coupled, SetValues::scores));
  }
  return out;
}

// As the paper prints it: config/published/hrrr-vil.toml, but for the length of training, and a warm-up of the averaged
// weights, of which 4,200 steps without it would be the first ones still.
std::vector<WeatherVariant> published_variants() {
  std::vector<WeatherVariant> out;
  for (const PaperClock& c : kPaperClocks)
    out.push_back(variant(
        "published-", c,
        {"precondition.enabled=false", "precondition.time=path", "train.times=uniform", "feature.transform=per-path",
         "unet.attention_up=last", "unet.pyramid=strided", "train.precision=tf32", "sample.time_grid=uniform"},
        SetValues::plain));
  return out;
}

// The paper's scores of the clocks that these cells have.
std::vector<Json> paper_rows(const std::vector<Cell>& cells) {
  std::vector<Json> out;
  for (const PaperClock& c : kPaperClocks)
    if (std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) {
          return ("-" + cell.name).find(fmt::format("-{}-seed", c.name)) != std::string::npos;
        }))
      out.push_back({{"cell", fmt::format("paper, HRRR: {}", c.name)}, {"kr", c.kr}, {"sr", c.sr}, {"tail_ks", c.ks}});
  return out;
}

RunConfig cell_config(const WeatherVariant& v, uint64_t seed, bool heun, const std::string& data,
                      const ReproduceOptions& o) {
  std::vector<std::string> settings = weather_settings(data, seed);
  settings.insert(settings.end(), v.settings.begin(), v.settings.end());
  settings.insert(settings.end(), o.settings.begin(), o.settings.end());
  if (heun) settings.emplace_back("sample.solver=heun");
  return parse_config("", "reproduce", settings);
}

Json score_cell(const Cell& cell, const ReproduceOptions& o, at::Device device) {
  make_folder(o.folder + "/runs");
  // Both solvers sample one training.
  const std::string run = cell.name.ends_with(kHeun) ? cell.name.substr(0, cell.name.size() - 5) : cell.name;
  Model model = train_with_status(cell.config, {.folder = o.folder + "/runs/" + run, .device = device, .resume = true});
  SampleOptions options = sample_options(cell.config);
  options.device = device, options.report = sample_status();
  const int64_t calibrated = set_laws_right(model, options, std::min(kCalibrationFields, options.n));
  const std::string samples = fmt::format("{}/{}.npy", o.folder, cell.name),
                    maps = fmt::format("{}/{}.png", o.folder, cell.name);
  const ScoredFieldRun scored = score_field_run(model, options, samples, {.shown = 4});
  write_png(maps, field_example_maps(scored.evaluation));
  Json j = field_figures(o.data, samples, scored.evaluation, true);
  j["maps"] = maps;
  j["cell"] = cell.name, j["steps"] = model.step, j["skipped_steps"] = model.skipped;
  j["calibration_fields"] = calibrated;
  j["diverged"] = scored.sampled.diverged, j["nfe"] = scored.sampled.evaluations, j["seconds"] = scored.sampled.seconds;
  say(fmt::format("{:<24} KR {:.3f}, SR {:.3f}, tail KS {:.3f}, share {:.3f}, spectrum {:.3f}, diverged {}", cell.name,
                  j["kr"].get<double>(), j["sr"].get<double>(), j["tail_ks"].get<double>(),
                  j["tail_share"].get<double>(), j["spectrum_distance"].get<double>(), j["diverged"].get<int64_t>()));
  return j;
}

}  // namespace

std::string weather_set(const ReproduceOptions& o, SetValues values) {
  const bool scores = values == SetValues::scores;
  FieldSet set = open_field_set(o.data);
  const FieldTransform& own = set.transform;
  const bool plain = own.kind == "none" && !(own.quantum > 0);
  if (values == SetValues::plain ? plain : own.scored() == scores) return o.data;
  const std::string path = fmt::format("{}/{}.fields", o.folder,
                                       scores                       ? "scores"
                                       : values == SetValues::plain ? "plain"
                                                                    : "values");
  FieldTransform t{.kind = scores ? "scores" : "none", .threshold = own.threshold, .plain = own.plain};
  if (scores && t.threshold) t.reach = 16, t.depth = 1;
  if (values == SetValues::spread && t.threshold) t.quantum = *t.threshold, t.depth = 30 * *t.threshold;
  if (is_field_set(path) && open_field_set(path).hash == set.hash) return path;
  make_folder(o.folder);
  set.transform = fit_field_transform(t, set.fields, set.held_out, set.channels, o.data, set.outside);
  write_field_set(path, set);
  return path;
}

std::string epochs_of(const std::string& data, int64_t steps) {
  const auto rows = static_cast<int64_t>(open_field_set(data).part(false).size());
  const int64_t epoch = (rows + kBatch - 1) / kBatch;
  return fmt::format("train.epochs={}", std::max<int64_t>(1, (steps + epoch / 2) / epoch));
}

std::vector<std::string> weather_settings(const std::string& data, uint64_t seed) {
  constexpr int64_t kSteps = 4200;
  return {"net.kind=ncsnpp",
          "unet.base=32",
          "unet.multipliers=1,2,2,4,4",
          "unet.blocks=4",
          "unet.heads=4",
          "unet.attention=16",
          "data.kind=fields",
          fmt::format("data.path={}", data),
          fmt::format("train.batch={}", kBatch),
          "train.lr=1e-4",
          "train.warmup=1000",
          "train.weight_decay=0",
          "train.clip=5",
          "train.ema=0.9999",
          "train.ema_warmup=true",
          epochs_of(data, kSteps),
          "train.keep=1",
          "train.checkpoint_steps=2000",
          "train.log_steps=100",
          "sample.solver=ab2",
          "sample.nfe=50",
          "sample.n=4000",
          fmt::format("seed={}", seed)};
}

int64_t set_laws_right(Model& model, SampleOptions options, int64_t fields) {
  if (!needs_calibration(model)) return 0;
  options.n = fields, options.seed += 1;
  calibrated_sample(model, options);
  return fields;
}

Json reproduce_weather(const ReproduceOptions& o) {
  if (o.data.empty())
    throw InputError("[--data] expected a set of fields that htfm prepare wrote, got none: give --data rain.fields");
  const at::Device device = choose_device(o.common.device, "ncsnpp");
  std::vector<Cell> cells;
  for (const WeatherVariant& v : o.published ? published_variants() : weather_variants()) {
    std::string data;  // the set is made where one of its cells is wanted
    for (int64_t k = 0; k < o.seeds; ++k)
      for (const bool heun : {false, true}) {
        const auto seed = static_cast<uint64_t>(o.common.seed + k);
        const std::string name = fmt::format("{}-seed{}{}", v.name, seed, heun ? kHeun : "");
        if (!o.wants(v.name) && !o.wants(name)) continue;
        if (data.empty()) data = weather_set(o, v.values);
        cells.push_back({name, cell_config(v, seed, heun, data, o)});
      }
  }
  std::vector<Json> results = run_cells(
      cells, o.folder, [&](const Cell& c) { return score_cell(c, o, device); }, true);
  Json train =
      field_figures(o.data, o.data, evaluate_fields(o.data, o.data), true);  // the training part in place of samples
  train["cell"] = "training part", train["diverged"] = 0;
  results.push_back(train);

  const report::Table table = weather_table(
      results,
      fmt::format("Against the held-out part of {}; KS beyond the 99.9 % quantile. The paper's scores are "
                  "of other fields, HRRR's vertically integrated liquid.",
                  o.data),
      paper_rows(cells));

  report::Page page("Weather fields", "Clocks and couplings at an equal budget.");
  const report::Figure curves = weather_exceedance(results);
  page.section("Scores").table(table).figure(curves,
                                             "How often a value is at least x. A power law is a straight line.");
  add_pictures(page, "Maps", cells, o.folder, "real fields first, then samples, by the rank of their maximum.");
  Json out{{"experiment", "weather"}, {"cells", results}};
  page.provenance({{"set", train["data_hash"].get<std::string>()}});
  write_experiment(o.folder, "weather", page, out, &curves);
  return out;
}

}  // namespace htfm::app
