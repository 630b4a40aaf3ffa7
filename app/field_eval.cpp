#include "app/field_eval.h"

#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include "htfm/base/error.h"
#include "htfm/data/image_set.h"
#include "htfm/io/npy.h"
#include "htfm/io/png.h"
#include "htfm/report/field_map.h"
#include "htfm/report/figures.h"

namespace htfm::app {
namespace {

struct Loaded {
  FieldStream stream;
  std::string description, hash;
};

Loaded from_set(const std::shared_ptr<const FieldSet>& set, const std::string& path, const std::string& part, int64_t channel) {
  auto index = std::make_shared<std::vector<int64_t>>();
  if (part != "train") *index = set->part(true);
  if (part != "held-out") {
    const std::vector<int64_t> own = set->part(false);
    index->insert(index->end(), own.begin(), own.end());
    std::sort(index->begin(), index->end());
  }
  if (index->empty()) throw InputError("[--part] {}: expected fields of the part {}, got none among {}", path, part, set->size());
  if (channel >= set->fields.size(1)) throw InputError("[--channel] {}: expected one below {}, got {}", path, set->fields.size(1), channel);
  Loaded out;
  out.stream = {static_cast<int64_t>(index->size()), set->fields.size(2), set->fields.size(3),
                [set, index, channel](int64_t begin, int64_t end) {
                  return set->take({index->begin() + begin, index->begin() + end}).select(1, channel);
                }};
  out.description = fmt::format("{} fields of {} ({})", index->size(), path, part);
  out.hash = set->hash;
  return out;
}

Loaded from_samples(const std::string& path, const ImageShape& shape, int64_t channel) {
  auto rows = std::make_shared<NpyRows>(path);
  if (rows->row_size() != shape.size())
    throw InputError("[--fake] {}: expected fields of {} = {} numbers, got {}", path, shape.text(), shape.size(), rows->row_size());
  Loaded out;
  out.stream = {rows->rows(), shape.height, shape.width, [rows, shape, channel](int64_t begin, int64_t end) {
                  return rows->read(begin, end).view({end - begin, shape.channels, shape.height, shape.width}).select(1, channel);
                }};
  out.description = fmt::format("{} samples of {}", rows->rows(), path);
  return out;
}

constexpr int64_t kLooked = 256;  // fields that maps are chosen from

// Fields evenly out of a stream.
at::Tensor evenly(const FieldStream& s, int64_t count) {
  std::vector<at::Tensor> out;
  count = std::min(count, s.n);
  for (int64_t k = 0; k < count; ++k) out.push_back(s.read(s.n * k / count, s.n * k / count + 1));
  return at::cat(out);
}

// Of these, some by the rank of their maximum, evenly over the upper half: dry fields look all alike. The largest comes last.
at::Tensor by_maximum(const at::Tensor& fields, int64_t count) {
  const at::Tensor order = std::get<1>(fields.amax({1, 2}).sort());
  const int64_t n = fields.size(0), shown = std::min(n, count), low = shown < n ? std::min(n / 2, n - shown) : 0;
  std::vector<at::Tensor> out;
  for (int64_t k = 0; k < shown; ++k)
    out.push_back(fields.select(0, order[low + (n - 1 - low) * (k + 1) / shown].item<int64_t>()).unsqueeze(0));
  return at::cat(out);
}

std::vector<double> column(const std::vector<Scored>& s, double Scored::*member) {
  std::vector<double> out(s.size());
  std::transform(s.begin(), s.end(), out.begin(), [&](const Scored& v) { return v.*member; });
  return out;
}

std::vector<report::Series> both(const FieldCurve& c) {
  const auto series = [&](const char* name, const std::vector<Scored>& s) {
    report::Series out{.name = name, .x = c.x, .y = column(s, &Scored::value)};
    if (!s.empty() && s.front().has_interval()) out.low = column(s, &Scored::low), out.high = column(s, &Scored::high);
    return out;
  };
  std::vector<report::Series> out{series("real", c.real), series("samples", c.fake)};
  out[0].color = report::Color::neutral;
  return out;
}

void add_figures(Json& j, const FieldScores& s, bool json) {
  const auto add = [&](const std::string& name, const Scored& v) {
    if (json || !v.has_interval())
      j[name] = v.value;
    else
      j[name] = fmt::format("{:.6g}  [{:.4g}, {:.4g}]", v.value, v.low, v.high);
    if (json) j[name + "_low"] = v.low, j[name + "_high"] = v.high;
  };
  j["n_real"] = s.real, j["n_fake"] = s.fake, j["nonfinite"] = s.nonfinite;
  add("kr", s.kr), add("sr", s.sr), add("tail_ks", s.tail_ks), add("tail_ks_own", s.tail_ks_own);
  add("tail_share", s.tail_share);
  j["tail_cut"] = s.cut;
  add("kurtosis_real", s.kurtosis_real), add("kurtosis_fake", s.kurtosis_fake);
  add("skewness_real", s.skewness_real), add("skewness_fake", s.skewness_fake);
  add("wet_real", s.wet_real), add("wet_fake", s.wet_fake), add("spectrum_distance", s.spectrum_distance);
  for (size_t k = 0; k < s.return_levels.x.size(); ++k) {
    add(fmt::format("return_level_{}_real", s.return_levels.x[k]), s.return_levels.real[k]);
    add(fmt::format("return_level_{}_fake", s.return_levels.x[k]), s.return_levels.fake[k]);
  }
  if (!json) return;
  for (const auto& [name, curve] : {std::pair{"exceedance", &s.exceedance}, {"spectrum", &s.spectrum}})
    j[name] = {{"x", curve->x}, {"real", column(curve->real, &Scored::value)}, {"fake", column(curve->fake, &Scored::value)}};
}

}  // namespace

void FieldEvalOptions::add(CLI::App& command) {
  command.add_option("--part", part, "Fields: part of a prepared set")
      ->check(CLI::IsMember({"held-out", "train", "all"}))
      ->capture_default_str();
  command.add_option("--channel", channel, "Fields: which channel, from 0")->check(not_negative())->capture_default_str();
  command.add_option("--wet", wet, "Fields: values of at least this are wet; the set's threshold, or 0.1, where not given")
      ->check(not_negative());
  command.add_option("--cut", scores.cut, "Fields: level at which tail KS cuts both sets")
      ->check(between(0.5, 0.999999))
      ->capture_default_str();
  command.add_option("--blocks", scores.blocks, "Fields: blocks of neighbouring fields that are drawn anew for the intervals")
      ->check(between(2, 65535))
      ->capture_default_str();
  command.add_option("--maps", maps, "Fields: maps of real ones and of samples, to write (.png)");
  command.add_option("--page", page, "Fields: page with scores, curves and maps, to write (.html)");
  command.add_option("--shown", shown, "Fields: maps of each set")->check(between(1, 200))->capture_default_str();
}

void add_field_sections(report::Page& page, const FieldScores& s, const at::Tensor& maps, const std::string& unit,
                        const std::string& reference) {
  report::Table table{fmt::format("Scores against {}; intervals by drawing blocks of fields anew.", reference),
                      {{"score"}, {"value"}, {"95 % interval"}, {"real"}, {"samples"}},
                      {}};
  const auto text = [](double v) { return fmt::format("{:.4g}", v); };
  const auto row = [&](const char* name, const Scored& v, const std::string& real, const std::string& fake) {
    table.add({name, text(v.value), v.has_interval() ? fmt::format("{:.4g} to {:.4g}", v.low, v.high) : "", real, fake});
  };
  row("KR: |1 - kurtosis ratio|", s.kr, text(s.kurtosis_real.value), text(s.kurtosis_fake.value));
  row("SR: |1 - skewness ratio|", s.sr, text(s.skewness_real.value), text(s.skewness_fake.value));
  row("tail KS, both cut at the real quantile", s.tail_ks, "", "");
  row("tail KS, each cut at its own", s.tail_ks_own, "", "");
  row("share beyond the cut, samples over real", s.tail_share, "", "");
  row("spectrum distance", s.spectrum_distance, "", "");
  row("wet area, real", s.wet_real, text(s.wet_real.value), "");
  row("wet area, samples", s.wet_fake, "", text(s.wet_fake.value));
  for (size_t k = 0; k < s.return_levels.x.size(); ++k) {
    const std::string name = fmt::format("maximum exceeded once in {} fields", s.return_levels.x[k]);
    row((name + ", real").c_str(), s.return_levels.real[k], text(s.return_levels.real[k].value), "");
    row((name + ", samples").c_str(), s.return_levels.fake[k], "", text(s.return_levels.fake[k].value));
  }
  page.section("Maps").figure(
      report::image_figure(maps, "Maps of real fields, then of samples"),
      "Real fields first, then as many samples, on one colour scale. Of 256 of each set these are evenly spaced by the rank of their "
      "maximum, from the median to the largest.");
  page.section("Scores").table(table);
  const std::string value = unit.empty() ? "value" : "value in " + unit;
  page.section("Tails")
      .figure(report::line_chart(both(s.exceedance), {.label = "Share of values of at least x, on log-log axes",
                                                      .x = {.label = value, .scale = report::Scale::log},
                                                      .y = {.label = "P(X ≥ x)", .scale = report::Scale::log},
                                                      .markers = false}),
              "How often a value is at least x. A power law is a straight line.")
      .figure(report::line_chart(both(s.return_levels), {.label = "Return levels of the field maximum",
                                                         .x = {.label = "one field in", .scale = report::Scale::log},
                                                         .y = {.label = value}}),
              "Return levels: the maximum of a field that one in so many exceeds.");
  page.section("Structure")
      .figure(report::line_chart(both(s.spectrum), {.label = "Radial power spectrum",
                                                    .x = {.label = "waves across the field", .scale = report::Scale::log},
                                                    .y = {.label = "power", .scale = report::Scale::log},
                                                    .markers = false}),
              "Power against wave number, mean over directions and fields. A line that lies higher at the right is too rough.");
}

FieldEval eval_fields(const FieldEvalOptions& o, bool json, const std::string& command) {
  if (!o.maps.empty() && !o.maps.ends_with(".png")) throw InputError("[--maps] expected a file that ends in .png, got '{}'", o.maps);
  const auto set = std::make_shared<const FieldSet>(open_field_set(o.real));
  const Loaded real = from_set(set, o.real, o.part, o.channel);
  const ImageShape shape{set->fields.size(1), set->fields.size(2), set->fields.size(3)};
  const Loaded fake = is_field_set(o.fake) ? from_set(std::make_shared<const FieldSet>(open_field_set(o.fake)), o.fake,
                                                      o.fake == o.real ? "train" : o.part, o.channel)
                                           : from_samples(o.fake, shape, o.channel);
  FieldScoreOptions scores = o.scores;
  scores.wet = o.wet >= 0 ? o.wet : set->transform.threshold.value_or(0.1);
  FieldEval out;
  out.scores = field_scores(real.stream, fake.stream, scores);
  Json& j = out.figures;
  j = {{"real", o.real},
       {"fake", o.fake},
       {"reference", real.description},
       {"data_hash", real.hash},
       {"channel", set->channels[static_cast<size_t>(o.channel)]}};
  add_figures(j, out.scores, json);
  j["wet_threshold"] = scores.wet, j["cut_level"] = scores.cut, j["blocks"] = scores.blocks;
  j["bootstrap"] = scores.bootstrap.rounds, j["seed"] = scores.bootstrap.seed;
  if (o.maps.empty() && o.page.empty()) return out;
  const at::Tensor looked = evenly(real.stream, kLooked);
  report::MapStyle style = report::map_style(looked);  // the same colours whatever the samples are
  style.columns = std::min<int64_t>(o.shown, 4);
  style.unit = set->units[static_cast<size_t>(o.channel)];
  style.south_first = set->south_first;
  const at::Tensor maps =
      report::field_maps(at::cat({by_maximum(looked, o.shown), by_maximum(evenly(fake.stream, kLooked), o.shown)}), style);
  if (!o.maps.empty()) write_png(o.maps, maps), j["maps"] = o.maps;
  if (!o.page.empty()) {
    report::Page page(fmt::format("Fields of {}", o.fake), fmt::format("Scored against {}.", real.description));
    add_field_sections(page, out.scores, maps, style.unit, real.description);
    page.provenance(
        {{"command", command}, {"program", version_text()}, {"real", real.description + ", " + real.hash}, {"samples", fake.description}});
    atomic_write(o.page, page.html());
    j["page"] = o.page;
  }
  return out;
}

}  // namespace htfm::app
