#include "htfm/risk/risk_layout.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "htfm/base/error.h"
#include "htfm/base/split.h"

namespace htfm {

namespace {

constexpr const char* kPortfolio = "portfolio";
constexpr int64_t kMostStressed = 12;
constexpr double kSamples = 100000;

bool side_by_name(const std::string& side, const std::string& part) {
  if (side != "high" && side != "low")
    throw InputError("[losses] expected high, low or column=high or column=low; got '{}'", part);
  return side == "high";
}

// "low,fire=high": a side for all, and sides of columns.
void set_sides(std::vector<RiskLoss>& losses, const std::string& text) {
  for (const bool all : {true, false})
    for (const std::string& part : split(text)) {
      const size_t equals = part.rfind('=');
      if ((equals == std::string::npos) != all) continue;
      const bool high = side_by_name(all ? part : part.substr(equals + 1), part);
      if (all) {
        for (RiskLoss& l : losses) l.high = high;
        continue;
      }
      const auto found = std::find_if(losses.begin(), losses.end(),
                                      [&](const RiskLoss& l) { return l.name == part.substr(0, equals); });
      if (found == losses.end()) {
        std::vector<std::string> names;
        for (const RiskLoss& l : losses) names.push_back(l.name);
        throw InputError("[losses] expected one of {}; got '{}'", fmt::join(names, ", "), part.substr(0, equals));
      }
      found->high = high;
    }
}

}  // namespace

std::vector<int64_t> loss_columns(const Model& model) {
  std::vector<int64_t> out;
  for (int64_t k = 0; k < model.transform().columns(); ++k)
    if (model.columns().empty() || model.columns()[static_cast<size_t>(k)].kind == ColumnKind::number) out.push_back(k);
  if (out.empty()) throw InputError("[risk] expected a model with a column of numbers, got categories and dates alone");
  return out;
}

std::vector<std::string> loss_names(const Model& model) {
  std::vector<std::string> out;
  const std::vector<std::string>& names = model.column_names();
  for (const int64_t k : loss_columns(model))
    out.push_back(k < static_cast<int64_t>(names.size()) ? names[static_cast<size_t>(k)]
                                                         : fmt::format("column {}", k + 1));
  return out;
}

RiskReport laid_out_report(const Model& model, const RiskOptions& o) {
  RiskReport r;
  r.options = o;
  const double wide = std::clamp(16 / static_cast<double>(model.transform().columns()), 0.2, 1.0);
  if (o.n == 0) r.options.n = static_cast<int64_t>(kSamples * wide);
  if (!o.seed) r.options.seed = static_cast<uint64_t>(model.config().seed);
  const std::vector<std::string> names = loss_names(model);
  r.with_portfolio = !o.portfolio.empty();
  for (const std::string& name : names) r.losses.push_back({.name = name});
  if (r.with_portfolio) {
    if (std::find(names.begin(), names.end(), kPortfolio) != names.end())
      throw InputError(
          "[portfolio] expected no column named '{}' in the table, since the weighted sum has this name; got one",
          kPortfolio);
    r.losses.push_back({.name = kPortfolio});
  }
  set_sides(r.losses, o.losses);
  for (RiskLoss& l : r.losses) {
    for (const double p : o.levels) l.measures.emplace_back().p = p;
    for (const double period : o.return_periods)
      l.return_levels.emplace_back().p = level_of_period(period * o.rows_per_period);
  }
  std::vector<int64_t> stressed;
  for (const std::string& name : o.stress) stressed.push_back(r.find(name));
  if (o.stress.empty()) {
    const std::vector<int64_t> columns = loss_columns(model);
    const auto varies = [&](size_t k) {
      return !model.transform().list()[static_cast<size_t>(columns[k])].constant ||
             model.transform().discrete().of(columns[k]);
    };
    for (size_t k = 0; k < names.size() && static_cast<int64_t>(stressed.size()) < kMostStressed; ++k)
      if (varies(k)) stressed.push_back(static_cast<int64_t>(k));
    if (r.with_portfolio) stressed.push_back(static_cast<int64_t>(names.size()));
  }
  for (const int64_t given : stressed) {
    StressTable t{.given = given};
    t.rows.resize(r.losses.size());
    for (StressRow& row : t.rows) row.quantiles.resize(o.stress_quantiles.size());
    r.stress.push_back(std::move(t));
  }
  return r;
}

}  // namespace htfm
