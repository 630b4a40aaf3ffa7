#include "experiment/given_means.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/field_eval.h"
#include "app/progress.h"
#include "htfm/base/error.h"
#include "htfm/evaluate/fields.h"
#include "htfm/field/block_means.h"
#include "htfm/field/field_set.h"
#include "htfm/io/file.h"
#include "htfm/io/npy.h"
#include "htfm/io/png.h"
#include "htfm/io/row_file.h"
#include "htfm/metric/ensemble_scores.h"
#include "htfm/page/field_page.h"
#include "htfm/sample/sample_fields.h"

namespace htfm::app {

namespace {

constexpr int64_t kBlock = 8, kCases = 64, kMembers = 16;
constexpr int64_t kTogether = 256;  // fields of a file in memory

at::Tensor flat(const at::Tensor& fields) { return fields.to(at::kDouble).reshape({fields.size(0), -1}).contiguous(); }

// Reads a file of samples part by part, as n x c x h x w.
template <class Visit>
void visit_samples(const NpyRows& rows, const at::Tensor& like, const Visit& visit) {
  for (int64_t first = 0; first < rows.rows(); first += kTogether) {
    const int64_t end = std::min(rows.rows(), first + kTogether);
    visit(first, rows.read(first, end).view({end - first, like.size(1), -1, rows.shape().back()}));
  }
}

// What was given to samples first to first + n.
at::Tensor given_of(const at::Tensor& given, int64_t first, int64_t n) {
  std::vector<at::Tensor> out;
  for (int64_t i = first; i < first + n; ++i) out.push_back(given.select(0, i % given.size(0)).unsqueeze(0));
  return at::cat(out).to(at::kDouble);
}

// `members`: (cases m) x c x h x w, the members of a case one after the other.
Json ensemble_figures(const GivenCases& cases, const at::Tensor& members) {
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

// By the root of values, so that a single heavy block does not decide alone.
at::Tensor bent(const at::Tensor& means) {
  const at::Tensor x = flat(means);
  return x.sign() * x.abs().sqrt();
}

// Settings of the condition are for models that are given one.
Cell field_cell(const std::string& name, std::vector<std::string> settings, bool given, const ReproduceOptions& o) {
  for (const std::string& s : o.settings)
    if (given || !s.starts_with("condition.")) settings.push_back(s);
  return {name, parse_config("", "reproduce", settings)};
}

std::vector<std::string> stable_settings(const std::string& data, uint64_t seed) {
  std::vector<std::string> out = weather_settings(data, seed);
  out.insert(out.end(), {"clock.family=stable", "clock.alpha=1.7", "train.optimiser=muon"});
  return out;
}

}  // namespace

std::string GivenCases::grid() const { return fmt::format("{}x{}", means.size(2), means.size(3)); }

GivenCases held_out_cases(const std::string& path) {
  const FieldSet set = open_field_set(path);
  const std::vector<int64_t> part = set.part(true);
  if (part.empty()) throw InputError("[--data] {}: expected fields that are held out, got none", path);
  const int64_t height = set.fields.size(2), width = set.fields.size(3);
  if (height % kBlock != 0 || width % kBlock != 0)
    throw InputError("[--data] {}: expected fields whose sizes {} divides, got {} x {}", path, kBlock, height, width);
  const auto n = static_cast<int64_t>(part.size()), count = std::min(n, kCases);
  std::vector<int64_t> chosen;
  for (int64_t k = 0; k < count; ++k) chosen.push_back(part[static_cast<size_t>(n * k / count)]);
  GivenCases out;
  out.truth = set.take(chosen);
  out.means = block_means(out.truth, height / kBlock, width / kBlock);
  std::vector<at::Tensor> all;
  for (const int64_t i : part) all.push_back(block_means(set.take({i}), height / kBlock, width / kBlock));
  out.all = at::cat(all);
  return out;
}

// Blocks of 64 points are decided at a logarithm of signal to noise of about -2; what is coarser is given.
Cell given_cell(const ReproduceOptions& o, const std::string& data, uint64_t seed, const std::string& grid) {
  std::vector<std::string> settings = stable_settings(data, seed);
  settings.insert(settings.end(), {"condition.field=" + grid, "train.times_centre=-0.5", "train.times_spread=1.6",
                                   "sample.time_centre=-0.5", "sample.time_spread=1.3"});
  return field_cell(fmt::format("given-alpha-1.7-seed{}", seed), std::move(settings), true, o);
}

Cell plain_cell(const ReproduceOptions& o, const std::string& data, uint64_t seed) {
  std::vector<std::string> settings = stable_settings(data, seed);
  settings.insert(settings.end(),
                  {"train.times_centre=-1", "train.times_spread=2", "sample.time_centre=-1", "sample.time_spread=1.6"});
  return field_cell(fmt::format("plain-alpha-1.7-seed{}", seed), std::move(settings), false, o);
}

at::Tensor condition_rows(const at::Tensor& fields) { return flat(fields); }

Model train_cell(const Cell& cell, const ReproduceOptions& o, at::Device device) {
  make_folder(o.folder + "/runs");
  return train_with_status(cell.config, {.folder = o.folder + "/runs/" + cell.name, .device = device, .resume = true});
}

SamplesFile::~SamplesFile() {
  std::error_code none;
  std::filesystem::remove(path, none);
}

at::Tensor drawn_fields(const Model& model, const SampleOptions& options) {
  std::vector<at::Tensor> parts;
  sample_fields(model, options, [&](const at::Tensor& values) { parts.push_back(values); });
  const ImageShape shape = *model.image();
  return at::cat(parts).view({-1, shape.channels, shape.height, shape.width});
}

Json given_ensembles(const Model& model, const SampleOptions& options, const GivenCases& cases) {
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
  return rows;
}

Json nearest_ensembles(const std::string& samples, const GivenCases& cases) {
  const NpyRows rows(samples);
  std::vector<at::Tensor> means;
  visit_samples(rows, cases.truth, [&](int64_t, const at::Tensor& fields) {
    means.push_back(block_means(fields, cases.means.size(2), cases.means.size(3)));
  });
  const at::Tensor own = bent(at::cat(means)), given = bent(cases.means);
  std::vector<at::Tensor> members;
  for (int64_t k = 0; k < given.size(0); ++k) {
    // A sample that is not finite is far from everything.
    const at::Tensor distance = (own - given[k]).square().sum(1).nan_to_num(1e300, 1e300);
    const at::Tensor nearest = std::get<1>(distance.topk(std::min(kMembers, own.size(0)), 0, false));
    for (int64_t m = 0; m < nearest.numel(); ++m) {
      const auto i = nearest[m].item<int64_t>();
      members.push_back(rows.read(i, i + 1).view(cases.truth[0].sizes()).unsqueeze(0));
    }
  }
  return {{"nearest samples", ensemble_figures(cases, at::cat(members))}};
}

Json block_figures(const std::string& samples, const at::Tensor& given, double threshold) {
  const NpyRows rows(samples);
  const double least = threshold / static_cast<double>(2 * kBlock * kBlock);  // half of what one wet point gives
  double error = 0, all = 0, lacking = 0, added = 0, wet = 0, dry = 0;
  visit_samples(rows, given, [&](int64_t first, const at::Tensor& fields) {
    const at::Tensor own = block_means(fields, given.size(2), given.size(3)).nan_to_num(0, 0, 0),
                     meant = given_of(given, first, fields.size(0));
    const at::Tensor meant_wet = meant >= least, own_wet = own >= least;
    error += (own - meant).abs().sum().item<double>(), all += meant.abs().sum().item<double>();
    wet += meant_wet.sum().item<double>(), dry += (~meant_wet).sum().item<double>();
    lacking += (meant_wet & ~own_wet).sum().item<double>(), added += (own_wet & ~meant_wet).sum().item<double>();
  });
  return {{"mean_error", error / all}, {"dry_where_wet", lacking / wet}, {"wet_where_dry", added / dry}};
}

void write_exact_means(const std::string& samples, const at::Tensor& given, const Model& model,
                       const std::string& output) {
  const NpyRows rows(samples);
  RowFile file(output, {{rows.shape().begin() + 1, rows.shape().end()}, at::kFloat}, rows.rows(), "exact means", false);
  visit_samples(rows, given, [&](int64_t first, const at::Tensor& fields) {
    at::Tensor moved = fields.clone();
    match_block_means(moved, given_of(given, first, fields.size(0)), positive_channels(model));
    file.append(moved);
  });
  file.finish();
}

Json scored_samples(const std::string& data, const std::string& samples, const std::string& name,
                    const ReproduceOptions& o) {
  const FieldEvaluation scored = evaluate_fields(data, samples, {.shown = 8});
  write_png(fmt::format("{}/{}.png", o.folder, name), field_example_maps(scored));
  return field_figures(data, samples, scored, true);
}

Json score_given_cell(const Cell& cell, const Model& model, const GivenCases& cases, const ReproduceOptions& o,
                      at::Device device) {
  SampleOptions options = sample_options(cell.config);
  options.device = device, options.report = sample_status(cell.name);
  const bool given = model.condition().there();
  Json rows = given ? given_ensembles(model, options, cases) : Json::object();
  if (given) options.condition = {flat(cases.all), 1}, options.n = cases.all.size(0);
  const SamplesFile samples{fmt::format("{}/{}.npy", o.folder, cell.name)};
  const SampleResult drawn = sample_fields(model, options, samples.path);
  Json j = scored_samples(cell.config.data.path, samples.path, cell.name, o);
  if (given)
    j["blocks"] = block_figures(samples.path, cases.all, model.field()->threshold.value_or(0));
  else
    rows = nearest_ensembles(samples.path, cases);
  j["rows"] = rows;
  j["cell"] = cell.name, j["steps"] = model.step, j["skipped_steps"] = model.skipped;
  j["diverged"] = drawn.diverged, j["nfe"] = drawn.evaluations, j["seconds"] = drawn.seconds;
  return j;
}

void add_maps(report::Page& page, const std::vector<Cell>& cells, const ReproduceOptions& o) {
  add_pictures(page, "Maps", cells, o.folder, "real fields first, then samples, by the rank of their maximum.");
}

report::Table ensemble_table(const std::vector<Json>& results) {
  report::Table table;
  table.caption = fmt::format(
      "{} members of each of up to {} held-out fields. Error of means: the sum of |mean of a block - given| over that "
      "of the given; error: root mean square of the ensemble's mean.",
      kMembers, kCases);
  table.columns = {{"model"},
                   {"what"},
                   {"error of means", report::Best::lowest, 4},
                   {"CRPS", report::Best::lowest, 5},
                   {"error", report::Best::lowest, 4},
                   {"spread / error", report::Best::none, 3}};
  fmt::print(table_output(),
             "| model | what | error of means | CRPS | error | spread / error |\n|---|---|---|---|---|---|\n");
  for (const Json& r : results) {
    if (!r.contains("rows")) continue;
    for (const auto& [what, s] : r["rows"].items()) {
      const auto name = r["cell"].get<std::string>();
      const auto means = s["mean_error"].get<double>(), crps = s["crps"].get<double>(),
                 error = s["error"].get<double>(), ratio = s["spread_skill"].get<double>();
      fmt::print(table_output(), "| {} | {} | {:.4f} | {:.5f} | {:.4f} | {:.3f} |\n", name, what, means, crps, error,
                 ratio);
      table.add({name, what, means, crps, error, ratio});
    }
  }
  fmt::print(table_output(), "\n");
  return table;
}

}  // namespace htfm::app
