#include "htfm/page/tail_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "htfm/page/joint_text.h"
#include "htfm/page/tail_cells.h"
#include "htfm/page/tail_figures.h"
#include "htfm/report/figures.h"
#include "htfm/report/text.h"

namespace htfm {

namespace {

void add_tail_table(report::Page& page, const Diagnosis& d) {
  report::Table table;
  table.caption =
      "Tail indices with 95 % intervals; ∞ stands for no power law. The index combines the estimators, at two "
      "thresholds, with an allowance for bias.";
  table.columns = {{"tail"},        {"verdict"}, {"index"}, {"Hill"}, {"moment"}, {"generalised Pareto"},
                   {"exceedances"}, {"beyond"}};
  for (const TailReport* r : listed_tails(d)) {
    const TailChoice& c = r->choice;
    if (c.k == 0)
      table.add({r->name, verdict_name(r->verdict), "-", "-", "-", "-", 0, "-"});
    else
      table.add({r->name, verdict_name(r->verdict),
                 index_text(c.index()) + " (" + interval_text(c.index_interval()) + ")", estimate_text(c.hill),
                 estimate_text(c.moment), estimate_text(c.fit.estimate()), c.k,
                 report::number(r->centre + r->sign * c.threshold)});
  }
  page.table(table);
}

void add_skewness_table(report::Page& page, const Diagnosis& d) {
  report::Table skew;
  skew.caption =
      "The two sides of each column with 95 % intervals. Octile skewness is that of the body, between −1 and 1. "
      "Distances are measured from the median to the point beyond which the stated share of the rows lies, on each "
      "side. Tails are called heavier on one side if the ratio of the distances or the difference of γ = 1 / index is "
      "more than chance: this happens by chance in one of a hundred symmetric tables.";
  for (const char* title : kSkewTitles) skew.columns.push_back({title});
  for (const Skewness& s : d.skewness) {
    const auto cells = skewness_cells(s);
    skew.add({cells[0], cells[1], cells[2], cells[3], cells[4]});
  }
  page.table(skew);
}

void add_directions(report::Page& page, const Diagnosis& d) {
  if (d.directions.empty()) return;
  const DirectionCounts counts = count_directions(d);
  const Interval range = d.direction_indices();
  page.text(fmt::format(
      "Of {} random directions {} are heavy, {} light, {} too small to tell; their indices go from {} to {}.",
      d.directions.size(), counts.heavy, counts.light, counts.unclear, index_text(range.lower),
      index_text(range.upper)));
  report::DotSeries dots{.name = "direction"};
  std::vector<std::string> names;
  for (const TailReport& r : d.directions) {
    if (r.choice.k == 0 || names.size() >= 16) continue;
    names.push_back(r.name);
    dots.values.push_back(r.choice.gamma);
    dots.low.push_back(r.choice.gamma_interval.lower);
    dots.high.push_back(r.choice.gamma_interval.upper);
  }
  page.figure(
      report::dot_chart(names, {dots},
                        {.label = "gamma by direction", .x = {.label = "γ = 1 / index"}, .row_height = 18}),
      fmt::format("γ in {} of the random directions of the standardised columns, with intervals.", names.size()));
}

}  // namespace

void add_tail_sections(report::Page& page, const Diagnosis& d, int64_t columns) {
  page.section("Verdict").text(d.sentence);
  for (const std::string& name : d.constant) page.remark(fmt::format("{} is constant and left out.", name));
  add_tail_table(page, d);
  add_skewness_table(page, d);
  add_directions(page, d);
  page.section("Radius").text(
      fmt::format("Distances from the medians, each of the {} columns in units of its quantile range.",
                  d.columns - static_cast<int64_t>(d.constant.size())));
  add_tail_figures(page, d.radius);
  for (int64_t column = 0; column < std::min(columns, d.columns); ++column) {
    const TailReport &above = d.sides[static_cast<size_t>(2 * column)],
                     &below = d.sides[static_cast<size_t>(2 * column + 1)];
    if (above.choice.k == 0 && below.choice.k == 0) continue;
    page.section(d.skewness[static_cast<size_t>(column)].name);
    for (const TailReport* side : {&above, &below}) {
      page.heading(side->sign > 0 ? "Above the median" : "Below the median");
      add_tail_figures(page, *side);
    }
  }
  if (columns < d.columns)
    page.remark(fmt::format("Plots are shown for the first {} of {} columns.", columns, d.columns));
}

std::string tail_page(const std::string& name, const Dataset& data, const Diagnosis& diagnosis,
                      const ChosenClock& clock, const report::KeyValues& origin, const JointExtremes& joint) {
  report::Page page("Tails of " + name, data.origin + ".");
  std::string parameters;
  for (const auto& [key, value] : clock.spec.parameters)
    parameters += fmt::format("{}{} = {:g}", parameters.empty() ? "" : ", ", key, value);
  page.highlights({{"verdict", verdict_name(diagnosis.verdict), diagnosis.decisive()->name},
                   {"suggested clock", clock.spec.family, parameters}});
  add_joint_section(page, joint);
  add_tail_sections(page, diagnosis);
  page.section("Suggested clock").text(clock.explanation);
  report::KeyValues provenance = origin;
  provenance.emplace_back("data hash", data.hash);
  page.provenance(provenance);
  return page.html();
}

}  // namespace htfm
