#include "app/field_eval.h"

#include <fmt/format.h>

#include "htfm/io/file.h"
#include "htfm/io/png.h"
#include "htfm/page/field_page.h"

namespace htfm::app {
namespace {

Json curve_figures(const FieldCurve& curve) {
  const auto values = [](const std::vector<Scored>& side) {
    Json out = Json::array();
    for (const Scored& s : side) out.push_back(s.value);
    return out;
  };
  return {{"x", curve.x}, {"real", values(curve.real)}, {"fake", values(curve.fake)}};
}

}  // namespace

void FieldEvalOptions::add(CLI::App& command) {
  command.add_option("--part", evaluation.part, "Fields: part of a prepared set")
      ->check(one_of({"held-out", "train", "all"}))
      ->capture_default_str();
  command.add_option("--channel", evaluation.channel, "Fields: which channel, from 0")
      ->check(not_negative())
      ->capture_default_str();
  command
      .add_option("--wet", evaluation.wet,
                  "Fields: values of at least this are wet; by default the set's threshold, or 0.1")
      ->check(not_negative());
  command
      .add_option("--cut", evaluation.scores.cut, "Fields: level of the quantile beyond which tail scores are computed")
      ->check(between(0.5, 0.999999))
      ->capture_default_str();
  command
      .add_option("--blocks", evaluation.scores.blocks,
                  "Fields: number of blocks of neighbouring fields that the bootstrap for the intervals draws")
      ->check(between(2, 65535))
      ->capture_default_str();
  command.add_option("--maps", maps, "Fields: file to write with maps of real fields and of samples (.png)")
      ->check(output_file({".png"}));
  command.add_option("--page", page, "Fields: page to write with scores, curves and maps (.html)")
      ->check(output_file({".html"}));
  command.add_option("--shown", evaluation.shown, "Fields: number of maps of each set")
      ->check(between(1, 200))
      ->capture_default_str();
}

Json field_figures(const std::string& real, const std::string& fake, const FieldEvaluation& e, bool json) {
  Json j{{"real", real},
         {"fake", fake},
         {"reference", e.reference},
         {"data_hash", e.data_hash},
         {"channel", e.channel},
         {"n_real", e.scores.real},
         {"n_fake", e.scores.fake},
         {"nonfinite", e.scores.nonfinite}};
  add_values(j, field_values(e.scores), json);
  if (json) j["exceedance"] = curve_figures(e.scores.exceedance), j["spectrum"] = curve_figures(e.scores.spectrum);
  j["wet_threshold"] = e.options.wet, j["cut_level"] = e.options.cut, j["blocks"] = e.options.blocks;
  j["bootstrap"] = e.options.bootstrap.rounds, j["seed"] = e.options.bootstrap.seed;
  return j;
}

Json eval_fields(const std::string& real, const std::string& fake, const FieldEvalOptions& o, bool json) {
  FieldEvaluationOptions evaluation = o.evaluation;
  if (o.maps.empty() && o.page.empty()) evaluation.shown = 0;
  const FieldEvaluation scored = evaluate_fields(real, fake, evaluation);
  Json j = field_figures(real, fake, scored, json);
  if (!o.maps.empty()) write_png(o.maps, field_example_maps(scored)), j["maps"] = o.maps;
  if (!o.page.empty()) {
    const std::string command = fmt::format("htfm eval --real {} --fake {} --page {}", real, fake, o.page);
    atomic_write(o.page, field_page(fmt::format("{}{}: samples of {}", scored.channel,
                                                scored.unit.empty() ? "" : fmt::format(" ({})", scored.unit), fake),
                                    scored, page_origin(command)));
    j["page"] = o.page;
  }
  return j;
}

}  // namespace htfm::app
