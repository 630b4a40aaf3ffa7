#include "htfm/page/risk_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "htfm/report/text.h"

namespace htfm {

std::string once_in_title(const RiskReport& r) {
  return r.options.rows_per_period == 1 ? "once in (rows)" : "once in (periods)";
}

std::string scored_text(const Scored& s) {
  if (std::isnan(s.value)) return "-";
  const std::string value = report::number(s.value);
  if (!s.has_interval()) return value;
  return fmt::format("{} ({} to {})", value, report::number(s.low), report::number(s.high));
}

std::string loss_name(const RiskLoss& loss) { return loss.high ? loss.name : loss.name + " (low)"; }

bool periods_are_levels(const RiskReport& r) {
  for (const RiskMeasure& far : r.losses[0].return_levels)
    if (std::none_of(r.options.levels.begin(), r.options.levels.end(),
                     [&](double p) { return std::abs(p - far.p) < 1e-12; }))
      return false;
  return true;
}

CellTable measure_cells(const RiskReport& r) {
  CellTable out{{"loss", "p", once_in_title(r), "value at risk, return level", "expected shortfall"}};
  for (const RiskLoss& l : r.losses)
    for (const RiskMeasure& m : l.measures)
      out.push_back({loss_name(l), fmt::format("{:g}", m.p),
                     fmt::format("{:.4g}", period_of_level(m.p) / r.options.rows_per_period), scored_text(m.quantile),
                     scored_text(m.sfall)});
  return out;
}

CellTable return_cells(const RiskReport& r) {
  CellTable out{{"loss", once_in_title(r), "return level", "expected shortfall"}};
  for (const RiskLoss& l : r.losses)
    for (size_t i = 0; i < l.return_levels.size(); ++i)
      out.push_back({loss_name(l), fmt::format("{:g}", r.options.return_periods[i]),
                     scored_text(l.return_levels[i].quantile), scored_text(l.return_levels[i].sfall)});
  return out;
}

size_t shown_level(const RiskReport& r) {
  size_t best = 0;
  for (size_t l = 0; l < r.options.levels.size(); ++l)
    if (std::abs(r.options.levels[l] - 0.99) < std::abs(r.options.levels[best] - 0.99)) best = l;
  return best;
}

CellTable pair_cells(const RiskReport& r, size_t level, size_t most) {
  CellTable out{{"a and b", "P(both beyond)", "P(b | a beyond)", "the same in the rows", "mean of b | a beyond",
                 "mean of a | b beyond"}};
  std::vector<const JointRisks*> pairs;
  for (const JointRisks& p : r.pairs) pairs.push_back(&p);
  std::stable_sort(pairs.begin(), pairs.end(), [&](const JointRisks* a, const JointRisks* b) {
    return a->levels[level].both.value > b->levels[level].both.value;
  });
  if (pairs.size() > most) pairs.resize(most);
  for (const JointRisks* p : pairs) {
    const JointRisk& j = p->levels[level];
    out.push_back({loss_name(r.losses[static_cast<size_t>(p->first)]) + " and " +
                       loss_name(r.losses[static_cast<size_t>(p->second)]),
                   scored_text(j.both), scored_text(j.second_given_first), scored_text(j.rows),
                   scored_text(j.mean_second), scored_text(j.mean_first)});
  }
  return out;
}

std::string stress_title(const RiskReport& r, const StressTable& t) {
  return fmt::format("{} beyond its {:g} quantile ({})", loss_name(r.losses[static_cast<size_t>(t.given)]),
                     r.options.stress_level, report::count(t.samples, "sample"));
}

CellTable stress_cells(const RiskReport& r, const StressTable& t) {
  CellTable out{{"given that", "mean"}};
  for (const double q : r.options.stress_quantiles) out[0].push_back(fmt::format("{:g} quantile", q));
  for (size_t k = 0; k < t.rows.size(); ++k) {
    std::vector<std::string> row{r.losses[k].name, scored_text(t.rows[k].mean)};
    for (const Scored& q : t.rows[k].quantiles) row.push_back(scored_text(q));
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace htfm
