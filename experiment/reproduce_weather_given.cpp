// Weather fields given their means on a grid of an eighth: 16 x 16 of 128 x 128. A model that is given them, with and
// without an exact correction, against interpolation and against the nearest samples of an unconditional model.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/field_eval.h"
#include "app/progress.h"
#include "experiment/weather_experiment.h"
#include "htfm/base/error.h"
#include "htfm/device/choose_device.h"
#include "htfm/field/block_means.h"
#include "htfm/field/field_set.h"
#include "htfm/io/file.h"
#include "htfm/io/png.h"
#include "htfm/metric/ensemble_scores.h"
#include "htfm/page/field_page.h"
#include "htfm/report/field_map.h"
#include "htfm/report/page.h"
#include "htfm/sample/sample_fields.h"

namespace htfm::app {

namespace {

constexpr int64_t kBlock = 8, kCases = 64, kMembers = 16;

// Held-out fields, evenly over the part, and what is given of them.
struct Cases {
  at::Tensor truth;  // cases x c x h x w
  at::Tensor means;  // cases x c x h/8 x w/8
  at::Tensor all;    // the means of all held-out fields
};

Cases held_out_cases(const std::string& path) {
  const FieldSet set = open_field_set(path);
  const std::vector<int64_t> part = set.part(true);
  if (part.empty()) throw InputError("[--data] {}: expected fields that are held out, got none", path);
  const int64_t height = set.fields.size(2), width = set.fields.size(3);
  if (height % kBlock != 0 || width % kBlock != 0)
    throw InputError("[--data] {}: expected fields whose sizes {} divides, got {} x {}", path, kBlock, height, width);
  const auto n = static_cast<int64_t>(part.size()), count = std::min(n, kCases);
  std::vector<int64_t> chosen;
  for (int64_t k = 0; k < count; ++k) chosen.push_back(part[static_cast<size_t>(n * k / count)]);
  Cases out;
  out.truth = set.take(chosen);
  out.means = block_means(out.truth, height / kBlock, width / kBlock);
  std::vector<at::Tensor> all;
  for (const int64_t i : part) all.push_back(block_means(set.take({i}), height / kBlock, width / kBlock));
  out.all = at::cat(all);
  return out;
}

at::Tensor flat(const at::Tensor& fields) { return fields.to(at::kDouble).reshape({fields.size(0), -1}).contiguous(); }

// `members`: (cases m) x c x h x w, the members of a case one after the other.
Json ensemble_figures(const Cases& cases, const at::Tensor& members) {
  const int64_t count = cases.truth.size(0);
  const EnsembleScores s = ensemble_scores(flat(members).view({count, -1, cases.truth[0].numel()}), flat(cases.truth));
  const at::Tensor own = block_means(members, cases.means.size(2), cases.means.size(3)),
                   given = cases.means.repeat_interleave(members.size(0) / count, 0);
  return {{"crps", s.crps},
          {"error", s.error},
          {"spread", s.spread},
          {"spread_skill", s.spread_skill},
          {"mean_error", (own - given).abs().sum().item<double>() / given.abs().sum().item<double>()}};
}

std::vector<bool> positive_channels(const Model& model) {
  std::vector<bool> out;
  for (int64_t c = 0; c < model.image()->channels; ++c)
    out.push_back(model.field()->threshold && !model.field()->is_plain(c));
  return out;
}

// Scores of many samples as the page of weather fields has them.
Json tail_figures(const Model& model, const SampleOptions& options, const std::string& name,
                  const ReproduceOptions& o) {
  const std::string samples = fmt::format("{}/{}.npy", o.folder, name);
  const ScoredFieldRun scored = score_field_run(model, options, samples, {.shown = 4});
  write_png(fmt::format("{}/{}.png", o.folder, name), field_example_maps(scored.evaluation));
  Json j = field_figures(o.data, samples, scored.evaluation, true);
  j["diverged"] = scored.sampled.diverged, j["nfe"] = scored.sampled.evaluations;
  return j;
}

at::Tensor drawn_fields(const Model& model, const SampleOptions& options) {
  std::vector<at::Tensor> parts;
  sample_fields(model, options, [&](const at::Tensor& values) { parts.push_back(values); });
  const ImageShape shape = *model.image();
  return at::cat(parts).view({-1, shape.channels, shape.height, shape.width});
}

Json score_given(const Model& model, const SampleOptions& options, const Cases& cases, const std::string& name,
                 const ReproduceOptions& o) {
  SampleOptions own = options;
  own.condition = {flat(cases.means), kMembers};
  own.n = cases.truth.size(0) * kMembers;
  at::Tensor members = drawn_fields(model, own);
  Json rows = Json::object();
  rows["given"] = ensemble_figures(cases, members);
  match_block_means(members, cases.means.repeat_interleave(kMembers, 0), positive_channels(model));
  rows["given, exact means"] = ensemble_figures(cases, members);
  const at::Tensor fine =
      at::upsample_bilinear2d(cases.means, {cases.truth.size(2), cases.truth.size(3)}, /*align_corners=*/false);
  rows["interpolation"] = ensemble_figures(cases, fine);
  SampleOptions many = options;
  many.condition = {flat(cases.all), 1};
  Json j = tail_figures(model, many, name, o);
  j["rows"] = rows;
  return j;
}

// Of `candidates` the ones whose means lie nearest to those of a case: by the root of values, so that a single heavy
// block does not decide alone.
at::Tensor nearest_members(const at::Tensor& candidates, const Cases& cases) {
  const auto bent = [](const at::Tensor& means) {
    const at::Tensor x = flat(means);
    return x.sign() * x.abs().sqrt();
  };
  const at::Tensor own = bent(block_means(candidates, cases.means.size(2), cases.means.size(3))),
                   given = bent(cases.means);
  std::vector<at::Tensor> out;
  for (int64_t k = 0; k < given.size(0); ++k) {
    const at::Tensor distance = (own - given[k]).square().sum(1);
    out.push_back(candidates.index_select(0, std::get<1>(distance.topk(std::min(kMembers, own.size(0)), 0, false))));
  }
  return at::cat(out);
}

Json score_plain(const Model& model, const SampleOptions& options, const Cases& cases, const std::string& name,
                 const ReproduceOptions& o) {
  const at::Tensor candidates = drawn_fields(model, options);
  Json rows = Json::object();
  rows["nearest of unconditional"] = ensemble_figures(
      cases,
      nearest_members(candidates.index_select(0, candidates.flatten(1).isfinite().all(1).nonzero().view({-1})), cases));
  Json j = tail_figures(model, options, name, o);
  j["rows"] = rows;
  return j;
}

void print_scores(const std::vector<Json>& results, report::Page& page) {
  report::Table table;
  table.caption = fmt::format(
      "{} members of each of up to {} held-out fields. Error of means: the sum of |mean of a block - given| over that "
      "of "
      "the given; error: root mean square of the ensemble's mean.",
      kMembers, kCases);
  table.columns = {{"model"},
                   {"what"},
                   {"error of means", report::Best::lowest, 4},
                   {"CRPS", report::Best::lowest, 5},
                   {"error", report::Best::lowest, 4},
                   {"spread / error", report::Best::none, 3}};
  fmt::print("| model | what | error of means | CRPS | error | spread / error |\n|---|---|---|---|---|---|\n");
  for (const Json& r : results)
    for (const auto& [what, s] : r["rows"].items()) {
      const auto name = r["cell"].get<std::string>();
      const auto means = s["mean_error"].get<double>(), crps = s["crps"].get<double>(),
                 error = s["error"].get<double>(), ratio = s["spread_skill"].get<double>();
      fmt::print("| {} | {} | {:.4f} | {:.5f} | {:.4f} | {:.3f} |\n", name, what, means, crps, error, ratio);
      table.add({name, what, means, crps, error, ratio});
    }
  page.section("Ensembles").table(table);
  const std::vector<std::pair<const char*, const char*>> shown{{"tail KS", "tail_ks"},
                                                               {"share beyond", "tail_share"},
                                                               {"spectrum", "spectrum_distance"},
                                                               {"wet", "wet_fake"},
                                                               {"wet, held out", "wet_real"},
                                                               {"1 in 100", "return_level_100_fake"},
                                                               {"1 in 100, held out", "return_level_100_real"}};
  report::Table tails;
  tails.columns = {{"model"}};
  std::string head = "| model |", line = "|---|";
  for (const auto& [title, key] : shown) {
    tails.columns.push_back({title});
    head += fmt::format(" {} |", title), line += "---|";
  }
  fmt::print("\n{}\n{}\n", head, line);
  for (const Json& r : results) {
    std::vector<report::Cell> row{r["cell"].get<std::string>()};
    std::string text = fmt::format("| {} |", r["cell"].get<std::string>());
    for (const auto& [title, key] : shown) {
      const std::string value = r[key].is_number() ? fmt::format("{:.3g}", r[key].get<double>()) : "";
      row.emplace_back(value), text += fmt::format(" {} |", value);
    }
    fmt::print("{}\n", text);
    tails.add(std::move(row));
  }
  page.section("Laws").table(tails);
}

}  // namespace

Json reproduce_weather_given(const ReproduceOptions& o) {
  if (o.data.empty()) throw InputError("[--data] expected a set of fields (htfm prepare), got none");
  const at::Device device = choose_device(o.common.device, "ncsnpp");
  const Cases cases = held_out_cases(o.data);
  const std::string grid = fmt::format("{}x{}", cases.means.size(2), cases.means.size(3)), data = weather_set(o, true);
  std::vector<Cell> cells;
  for (int64_t k = 0; k < o.seeds; ++k)
    for (const bool given : {true, false}) {
      const auto seed = static_cast<uint64_t>(o.common.seed + k);
      const std::string name = fmt::format("{}-alpha-1.7-seed{}", given ? "given" : "plain", seed);
      if (!o.wants(name)) continue;
      std::vector<std::string> settings = weather_settings(data, seed);
      settings.insert(settings.end(), {"clock.family=stable", "clock.alpha=1.7", "train.optimiser=muon"});
      if (given) settings.push_back("condition.field=" + grid);
      settings.insert(settings.end(), o.settings.begin(), o.settings.end());
      cells.push_back({name, parse_config("", "reproduce", settings)});
    }
  const auto work = [&](const Cell& cell) {
    make_folder(o.folder + "/runs");
    Model model =
        train_with_status(cell.config, {.folder = o.folder + "/runs/" + cell.name, .device = device, .resume = true});
    SampleOptions options = sample_options(cell.config);
    options.device = device, options.report = sample_status();
    set_laws_right(model, options);
    Json j = model.condition().there() ? score_given(model, options, cases, cell.name, o)
                                       : score_plain(model, options, cases, cell.name, o);
    j["cell"] = cell.name, j["steps"] = model.step, j["skipped_steps"] = model.skipped;
    return j;
  };
  const std::vector<Json> results = run_cells(cells, o.folder, work, true);
  report::Page page("Weather fields given coarse ones", "Fields given their means over blocks of 8 x 8 points.");
  print_scores(results, page);
  auto& maps = page.section("Maps");
  for (const Cell& c : cells)
    maps.figure(report::image_figure(read_png(fmt::format("{}/{}.png", o.folder, c.name)), "Maps of " + c.name),
                fmt::format("{}: real fields first, then samples, by the rank of their maximum.", c.name));
  Json out{{"experiment", "weather-given"}, {"cells", results}};
  write_experiment(o.folder, "weather-given", page, out);
  return out;
}

}  // namespace htfm::app
