// Scores of models of fields beside each other.
#include <fmt/format.h>

#include <cmath>

#include "experiment/weather_experiment.h"
#include "htfm/report/figures.h"

namespace htfm::app {

namespace {

struct ShownScore {
  const char* title;
  const char* key;
};

constexpr ShownScore kShown[] = {{"KR", "kr"},
                                 {"SR", "sr"},
                                 {"tail KS", "tail_ks"},
                                 {"own cut", "tail_ks_own"},
                                 {"share beyond", "tail_share"},
                                 {"spectrum", "spectrum_distance"},
                                 {"wet", "wet_fake"},
                                 {"1 in 10", "return_level_10_fake"},
                                 {"1 in 100", "return_level_100_fake"},
                                 {"1 in 1000", "return_level_1000_fake"}};

// A score with its interval; of the real fields where they have it too.
std::string shown_value(const Json& r, const std::string& key, bool real) {
  std::string own = key;
  const bool has_real = own.ends_with("_fake");
  if (real && !has_real) return "";
  if (real) own = own.substr(0, own.size() - 4) + "real";
  if (!r.contains(own) || !r[own].is_number()) return "";
  if (!std::isfinite(r[own].get<double>())) return "–";  // too few values to tell
  std::string value = fmt::format("{:.3g}", r[own].get<double>());
  if (r.contains(own + "_low") && r[own + "_low"].is_number())
    value += fmt::format(" ({:.3g} to {:.3g})", r[own + "_low"].get<double>(), r[own + "_high"].get<double>());
  return value;
}

}  // namespace

report::Table weather_table(const std::vector<Json>& results, const std::string& caption,
                            const std::vector<Json>& paper) {
  report::Table table;
  table.caption = caption;
  table.columns = {{"model"}};
  std::string head = "| model |", line = "|---|";
  for (const ShownScore& s : kShown) {
    table.columns.push_back({s.title});
    head += fmt::format(" {} |", s.title), line += "---|";
  }
  fmt::print(table_output(), "{}\n{}\n", head, line);
  const auto add_row = [&](const Json& r, const std::string& name, bool real) {
    std::vector<report::Cell> row{name};
    std::string text = fmt::format("| {} |", name);
    for (const ShownScore& s : kShown) {
      const std::string value = shown_value(r, s.key, real);
      row.emplace_back(value), text += fmt::format(" {} |", value);
    }
    table.add(std::move(row));
    fmt::print(table_output(), "{}\n", text);
  };
  for (const Json& r : results) add_row(r, r["cell"].get<std::string>(), false);
  add_row(results.front(), "held out", true);
  for (const Json& r : paper) add_row(r, r["cell"].get<std::string>(), false);
  return table;
}

report::Figure weather_exceedance(const std::vector<Json>& results) {
  std::vector<report::Series> series;
  const auto add = [&](const Json& r, const std::string& name, const char* side) {
    report::Series s{.name = name};
    for (size_t k = 0; k < r["exceedance"]["x"].size(); ++k) {
      const Json& y = r["exceedance"][side][k];
      if (!y.is_number() || y.get<double>() <= 0) continue;
      s.x.push_back(r["exceedance"]["x"][k].get<double>()), s.y.push_back(y.get<double>());
    }
    series.push_back(std::move(s));
  };
  add(results.front(), "held out", "real");
  series.front().color = report::Color::neutral;
  for (const Json& r : results) add(r, r["cell"].get<std::string>(), "fake");
  report::ChartOptions chart;
  chart.label = "Share of values of at least x";
  chart.x = {.label = "value", .scale = report::Scale::log},
  chart.y = {.label = "P(X ≥ x)", .scale = report::Scale::log};
  chart.markers = false;
  return report::line_chart(series, chart);
}

}  // namespace htfm::app
