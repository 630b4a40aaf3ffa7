#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "htfm/fit/fit_table.h"

namespace htfm {

std::vector<std::string> comparison_sentences(const TableFit& fit) {
  std::vector<std::string> out;
  if (!fit.yardstick) return out;
  const QuantileYardstick::Score& own = fit.models[0].score;
  for (size_t m = 1; m < fit.models.size(); ++m) {
    const std::string& name = fit.models[m].name;
    const QuantileYardstick::Score& other = fit.models[m].score;
    if (!std::isfinite(own.error) || !std::isfinite(other.error)) {
      out.push_back(fmt::format("{} cannot be compared: too many of the quantiles are zero.", name));
      continue;
    }
    const std::string figures = fmt::format("{:.3f} against {:.3f}, difference {:+.3f} in [{:+.3f}, {:+.3f}]",
                                            own.error, other.error, other.difference, other.lower, other.upper);
    if (!other.differs())
      out.push_back(
          fmt::format("{} is {} on the held-out rows, but the interval of the difference includes zero: these rows "
                      "cannot tell the two apart ({}).",
                      name, other.difference > 0 ? "a little better" : "a little worse", figures));
    else
      out.push_back(fmt::format("{} is {} on the held-out rows, by more than chance ({}).", name,
                                other.difference > 0 ? "better" : "worse", figures));
  }
  return out;
}

std::string fit_json(const TableFit& fit) {
  const TablePlan& plan = fit.plan;
  nlohmann::ordered_json j;
  if (!fit.folder.empty()) j["run"] = fit.folder;
  j["clock"] = plan.model.clock.describe();
  j["scores"] = plan.model.data.normalise == "scores" ? nlohmann::ordered_json(plan.model.data.scores) : nullptr;
  j["extremes"] = plan.joint.sentence;
  j["tails"] = verdict_name(plan.diagnosis.verdict);
  j["source"] = plan.model.source_law.empty() ? "symmetric" : plan.model.source_law;
  j["rows_train"] = plan.train.rows.size(0);
  j["rows_held_out"] = plan.held_out.rows.size(0);
  j["columns"] = plan.transform.columns();
  for (const DiscreteShares& d : fit.discrete) {
    nlohmann::ordered_json& own = j["discrete"][column_name(plan.train, d.column)];
    own["distance"] = d.distance;
    if (d.missing > 0 || d.missing_drawn > 0) own["missing"] = d.missing, own["missing_drawn"] = d.missing_drawn;
  }
  if (fit.copies)
    j["near_copies"] = {{"samples", fit.copies->samples},
                        {"held_out", fit.copies->held_out},
                        {"exact_samples", fit.copies->exact_samples},
                        {"exact_held_out", fit.copies->exact_held_out}};
  if (fit.model.condition().there()) j["condition"] = fit.model.condition().describe();
  j["steps"] = fit.model.step;
  j["best_step"] = fit.judged_step;
  j["refitted"] = fit.refitted;
  j["diverged"] = fit.diverged;
  if (!fit.samples_file.empty()) j["samples"] = fit.samples_file;
  if (!fit.page_file.empty()) j["report"] = fit.page_file;
  if (fit.yardstick)
    for (const TableModel& m : fit.models) j["log_quantile_error"][m.name] = m.score.error;
  j["seconds"] = fit.seconds;
  return j.dump(1);
}

}  // namespace htfm
