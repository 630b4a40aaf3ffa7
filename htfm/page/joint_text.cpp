#include "htfm/page/joint_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "htfm/page/tail_cells.h"
#include "htfm/report/text.h"

namespace htfm {

namespace {

std::string corner_name(const CornerExtremes& c) {
  if (c.first_above == c.second_above) return c.first_above ? "both large" : "both small";
  return c.first_above ? "large, small" : "small, large";
}

std::string figure_text(const JointFigure& f) {
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", f.value, f.interval.lower, f.interval.upper);
}

std::vector<std::string> corner_cells(const JointExtremes& j, const PairExtremes& p, const CornerExtremes& c) {
  std::vector<std::string> out{j.names[static_cast<size_t>(p.first)] + " and " + j.names[static_cast<size_t>(p.second)],
                               corner_name(c), joint_verdict_name(c.verdict)};
  for (const JointFigure& f : c.chi) out.push_back(figure_text(f));
  out.push_back(figure_text(c.chi_bar[c.chi_bar.size() / 2]));
  out.push_back(c.exceedances > 0 ? figure_text(c.eta) : "-");
  return out;
}

std::vector<std::string> corner_titles(const JointExtremes& j) {
  std::vector<std::string> out{"pair", "corner", "extremes"};
  for (const double u : j.levels) out.push_back(fmt::format("chi({:g})", u));
  out.push_back(fmt::format("chi-bar({:g})", j.levels[j.levels.size() / 2]));
  out.push_back("eta");
  return out;
}

// By how much extremes come together, the strongest first.
std::vector<const PairExtremes*> by_strength(const JointExtremes& j) {
  std::vector<const PairExtremes*> out;
  for (const PairExtremes& p : j.pairs) out.push_back(&p);
  const auto strength = [](const PairExtremes* p) {
    const CornerExtremes& c = p->strongest();
    return c.chi[c.chi.size() / 2].value;
  };
  std::stable_sort(out.begin(), out.end(), [&](auto* a, auto* b) { return strength(a) > strength(b); });
  return out;
}

nlohmann::ordered_json figure_json(const JointFigure& f) {
  return {{"value", f.value}, {"interval", {f.interval.lower, f.interval.upper}}};
}

}  // namespace

std::string joint_text(const JointExtremes& joint, size_t most) {
  if (joint.pairs.empty()) return {};
  std::vector<std::vector<std::string>> cells{corner_titles(joint)};
  for (const PairExtremes* p : by_strength(joint))
    if (cells.size() <= most) cells.push_back(corner_cells(joint, *p, p->strongest()));
  std::string out = aligned_text(cells);
  if (joint.pairs.size() > most) out += fmt::format("(the {} strongest of {} pairs)\n", most, joint.pairs.size());
  return out + "\nextremes: " + joint.sentence + "\n";
}

std::string joint_json(const JointExtremes& joint) {
  nlohmann::ordered_json j{{"sentence", joint.sentence}, {"together", joint.any_together()}};
  j["groups"] = nlohmann::ordered_json::array();
  for (const std::vector<int64_t>& g : joint.groups) {
    nlohmann::ordered_json names;
    for (const int64_t k : g) names.push_back(joint.names[static_cast<size_t>(k)]);
    j["groups"].push_back(names);
  }
  j["pairs"] = nlohmann::ordered_json::array();
  for (const PairExtremes& p : joint.pairs) {
    nlohmann::ordered_json pair{
        {"columns", {joint.names[static_cast<size_t>(p.first)], joint.names[static_cast<size_t>(p.second)]}},
        {"verdict", joint_verdict_name(p.strongest().verdict)}};
    for (const CornerExtremes& c : p.corners) {
      nlohmann::ordered_json& corner = pair["corners"][corner_name(c)];
      corner["verdict"] = joint_verdict_name(c.verdict);
      for (size_t l = 0; l < joint.levels.size(); ++l) {
        const std::string level = fmt::format("{:g}", joint.levels[l]);
        corner["chi"][level] = figure_json(c.chi[l]), corner["chi_bar"][level] = figure_json(c.chi_bar[l]);
      }
      corner["eta"] = figure_json(c.eta), corner["exceedances"] = c.exceedances;
    }
    j["pairs"].push_back(pair);
  }
  return j.dump();
}

void add_joint_section(report::Page& page, const JointExtremes& joint, size_t most) {
  if (joint.pairs.empty()) return;
  page.section("Extremes together or alone").text(joint.sentence);
  report::Table table;
  table.caption =
      "Pairs of columns with 95 % intervals, each in the corner where extremes come together most and in the opposite "
      "one. chi(u): how often the second column lies beyond its u-quantile, given that the first does; 1 − u if they "
      "are independent. chi-bar(u) and eta: the probability that both are beyond falls like (1 − u)^(1/eta); 1 if "
      "extremes come together however far out, 1/2 (chi-bar 0) if columns are independent. Alone: eta is surely below "
      "1.";
  for (const std::string& title : corner_titles(joint)) table.columns.push_back({title});
  size_t shown = 0;
  for (const PairExtremes* p : by_strength(joint)) {
    if (shown++ == most) break;
    const CornerExtremes& strongest = p->strongest();
    for (const CornerExtremes& c : p->corners) {
      const bool opposite = c.first_above != strongest.first_above && c.second_above != strongest.second_above;
      if (&c != &strongest && !opposite) continue;
      std::vector<report::Cell> row;
      for (const std::string& cell : corner_cells(joint, *p, c)) row.emplace_back(cell);
      table.add(std::move(row));
    }
  }
  page.table(table);
  if (joint.pairs.size() > most) page.remark(fmt::format("The {} strongest of {} pairs.", most, joint.pairs.size()));
}

}  // namespace htfm
