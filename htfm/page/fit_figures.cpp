#include "htfm/page/fit_figures.h"

#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "htfm/base/random.h"
#include "htfm/metric/tails.h"
#include "htfm/report/figures.h"
#include "htfm/report/text.h"
#include "htfm/stat/sort.h"

namespace htfm {

namespace {

constexpr int64_t kColumnsShown = 8, kPairsShown = 6;

// What the models are held against: the rows set apart, or the training rows where there are none.
const at::Tensor& reference(const TableFit& fit) {
  return fit.held_out_numbers.size(0) > 1 ? fit.held_out_numbers : fit.train_numbers;
}
const char* reference_name(const TableFit& fit) {
  return fit.plan.held_out.rows.size(0) > 1 ? "held out" : "training rows";
}

std::vector<int64_t> varying(const TableFit& fit) {
  std::vector<int64_t> out;
  for (int64_t k = 0; k < fit.plan.transform.columns(); ++k)
    if (!fit.plan.transform.list()[k].constant) out.push_back(k);
  return out;
}

struct Spread {
  double low, high;
};

// Bootstrap intervals of quantiles of ascending values.
std::vector<Spread> bootstrap(const std::vector<double>& sorted, const std::vector<double>& levels, Key key) {
  const auto n = static_cast<int64_t>(sorted.size());
  const int64_t rounds = std::clamp<int64_t>(20'000'000 / n, 50, 400);
  std::vector<std::vector<double>> drawn(levels.size());
  std::vector<int32_t> counts(sorted.size());
  std::vector<double> again(sorted.size());
  for (int64_t r = 0; r < rounds; ++r) {
    std::fill(counts.begin(), counts.end(), 0);
    const Key own = key.child(static_cast<uint64_t>(r));
    for (int64_t i = 0; i < n; ++i) ++counts[own.below(static_cast<uint64_t>(n), static_cast<uint64_t>(i))];
    auto to = again.begin();
    for (size_t i = 0; i < sorted.size(); ++i) to = std::fill_n(to, counts[i], sorted[i]);
    for (size_t l = 0; l < levels.size(); ++l) drawn[l].push_back(quantile_of_sorted(again, levels[l]));
  }
  std::vector<Spread> out;
  for (auto& d : drawn) {
    std::sort(d.begin(), d.end());
    out.push_back({quantile_of_sorted(d, 0.025), quantile_of_sorted(d, 0.975)});
  }
  return out;
}

std::string level_text(double level) {
  if (level == 0.5) return "median";
  const bool above = level > 0.5;
  const double share = above ? 1 - level : level;
  return fmt::format("{:g} %: {} once in {}", 100 * level, above ? "exceeded" : "fallen below",
                     report::count(std::llround(1 / share)));
}

// A level that the reference is too small to speak about gets no interval.
bool within_reach(double level, size_t n) { return std::min(level, 1 - level) * static_cast<double>(n) >= 1; }

report::Table quantile_table(const TableFit& fit, int64_t column) {
  report::Table table;
  const std::vector<double> held = sorted_column(reference(fit), column);
  // A bounded column has its extremes on one side.
  const ColumnTransform& kind = fit.plan.transform.list()[column];
  std::vector<double> levels;
  if (!kind.bounded || kind.flip) levels.insert(levels.end(), {0.0001, 0.001, 0.01, 0.05});
  levels.push_back(0.5);
  if (!kind.bounded || !kind.flip) levels.insert(levels.end(), {0.95, 0.99, 0.999, 0.9999});
  const std::vector<Spread> spread = bootstrap(held, levels, Key(11).child(static_cast<uint64_t>(column)));
  table.caption = fmt::format("{}: quantiles, which are also return levels, with 95 % bootstrap intervals of the {}.",
                              column_name(fit.plan.train, column), reference_name(fit));
  table.columns = {{"quantile"}, {reference_name(fit)}, {"interval"}};
  std::vector<std::vector<double>> sorted;
  for (const TableModel& m : fit.models)
    table.columns.push_back({m.name}), sorted.push_back(sorted_column(m.rows, column));
  for (size_t l = 0; l < levels.size(); ++l) {
    const bool reach = within_reach(levels[l], held.size());
    std::vector<report::Cell> cells{
        level_text(levels[l]),
        reach ? report::Cell(report::number(quantile_of_sorted(held, levels[l]))) : report::Cell("beyond the rows"),
        reach ? report::Cell(fmt::format("{} to {}", report::number(spread[l].low), report::number(spread[l].high)))
              : report::Cell()};
    for (const auto& v : sorted)
      cells.emplace_back(v.empty() || !within_reach(levels[l], v.size())
                             ? report::Cell()
                             : report::Cell(report::number(quantile_of_sorted(v, levels[l]))));
    table.add(std::move(cells));
  }
  return table;
}

std::vector<double> distances(const at::Tensor& rows, int64_t column, double centre) {
  std::vector<double> v = sorted_column(rows, column);
  for (double& x : v) x = std::abs(x - centre);
  return v;
}

// Ranks of a column scaled to (0,1]: values that are equal get the rank of the last.
std::vector<double> ranks(const at::Tensor& rows, int64_t column, bool above) {
  const int64_t n = rows.size(0), d = rows.size(1);
  const double* x = rows.const_data_ptr<double>();
  std::vector<double> own(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) own[i] = above ? x[i * d + column] : -x[i * d + column];
  std::vector<double> sorted = own;
  std::sort(sorted.begin(), sorted.end());
  for (double& v : own)
    v = static_cast<double>(std::upper_bound(sorted.begin(), sorted.end(), v) - sorted.begin()) /
        static_cast<double>(n);
  return own;
}

// P(V beyond its q-quantile | U beyond its own), and its standard error.
std::pair<double, double> dependence(const at::Tensor& rows, int64_t a, int64_t b, bool above, double q) {
  const std::vector<double> u = ranks(rows, a, above), v = ranks(rows, b, above);
  double one = 0, both = 0;
  for (size_t i = 0; i < u.size(); ++i) one += 0.5 * ((u[i] > q) + (v[i] > q)), both += u[i] > q && v[i] > q;
  if (!(one > 0)) return {std::nan(""), 0};
  const double chi = both / one;
  return {chi, std::sqrt(std::max(chi * (1 - chi), 1 / one) / one)};
}

std::vector<std::pair<int64_t, int64_t>> pairs(const TableFit& fit) {
  const std::vector<int64_t> columns = varying(fit);
  std::vector<std::pair<int64_t, int64_t>> out;
  // Near pairs first: 1-2, 2-3, ..., then 1-3, ...
  for (size_t gap = 1; gap < columns.size(); ++gap)
    for (size_t k = 0; k + gap < columns.size() && out.size() < kPairsShown; ++k)
      out.emplace_back(columns[k], columns[k + gap]);
  return out;
}

}  // namespace

std::vector<double> sorted_column(const at::Tensor& rows, int64_t column) {
  const int64_t n = rows.size(0), d = rows.size(1);
  const double* x = rows.const_data_ptr<double>();
  std::vector<double> out;
  out.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    if (std::isfinite(x[i * d + column])) out.push_back(x[i * d + column]);
  sort_values(out);
  return out;
}

void add_radius_figures(report::Page& page, const TableFit& fit) {
  const QuantileYardstick view(reference(fit), {0.5});
  std::vector<report::Sample> models;
  for (const TableModel& m : fit.models)
    models.push_back({.name = m.name, .values = view.values(m.rows, view.views() - 1)});
  const report::Sample data{.name = reference_name(fit), .values = view.values(reference(fit), view.views() - 1)};
  report::TailOptions tail;
  if (const double p =
          SourceMean(fit.plan.model.source).tail_exponent(make_clock(fit.plan.model.clock)->tail_exponent());
      std::isfinite(p))
    tail.slopes = {p};
  page.figure(report::radial_tail(data, models, tail),
              "How often a row lies at least r from the medians, in units of the columns' quantile ranges. A power law "
              "is a straight line.");
  report::QuantileOptions options;
  options.x = {.label = "quantile of the " + std::string(reference_name(fit)), .scale = report::Scale::log};
  options.y = {.label = "quantile of the samples", .scale = report::Scale::log};
  page.figure(report::quantile_plot(data, models, options),
              "The same as quantiles against quantiles: the diagonal is right.");
}

void add_column_figures(report::Page& page, const TableFit& fit) {
  page.section("Columns");
  const std::vector<int64_t> columns = varying(fit);
  for (size_t i = 0; i < columns.size() && i < kColumnsShown; ++i) {
    const int64_t k = columns[i];
    page.heading(column_name(fit.plan.train, k)).table(quantile_table(fit, k));
    const std::vector<double> held = sorted_column(reference(fit), k);
    const double centre = quantile_of_sorted(held, 0.5);
    std::vector<report::Sample> models;
    for (const TableModel& m : fit.models) models.push_back({.name = m.name, .values = distances(m.rows, k, centre)});
    report::QuantileOptions options;
    options.x = {.label = "held-out distance from the median", .scale = report::Scale::log};
    options.y = {.label = "samples' distance from the median", .scale = report::Scale::log};
    const report::Sample data{.name = reference_name(fit), .values = distances(reference(fit), k, centre)};
    page.figure(report::quantile_plot(data, models, options),
                column_name(fit.plan.train, k) + ": quantiles of the distance from the median, on log axes.");
    report::TailOptions tail;
    tail.x.label = "distance from the median";
    tail.y.label = "share at least as far";
    page.figure(report::radial_tail(data, models, tail),
                column_name(fit.plan.train, k) + ": how often a value is at least this far from the median.");
  }
  if (columns.size() > kColumnsShown)
    page.text(fmt::format("The first {} of {} columns are shown; the comparison above is over all of them.",
                          kColumnsShown, columns.size()));
}

void add_pairs(report::Page& page, const TableFit& fit) {
  std::vector<std::string> rows{reference_name(fit)}, titles;
  std::vector<std::array<std::string, 2>> axes;
  std::vector<std::vector<at::Tensor>> panels(1 + fit.models.size());
  for (const TableModel& m : fit.models) rows.push_back(m.name);
  for (const auto& [a, b] : pairs(fit)) {
    axes.push_back({column_name(fit.plan.train, a), column_name(fit.plan.train, b)});
    titles.push_back(axes.back()[0] + ", " + axes.back()[1]);
    const auto both = [&, i = a, j = b](const at::Tensor& x) { return at::stack({x.select(1, i), x.select(1, j)}, 1); };
    panels[0].push_back(both(reference(fit)));
    for (size_t m = 0; m < fit.models.size(); ++m)
      panels[m + 1].push_back(
          both(fit.models[m].rows.narrow(0, 0, std::min<int64_t>(fit.models[m].rows.size(0), 4000))));
  }
  page.section("Pairs").figure(
      report::scatter_grid(rows, titles, panels, {.label = "Pairs of columns, data and models", .axes = axes}),
      fmt::format("Pairs of columns, each with its own scale, named below: → across, ↑ upwards. The first row is the "
                  "{}, the others are samples of the models.",
                  reference_name(fit)));
}

void add_tail_dependence(report::Page& page, const TableFit& fit) {
  const auto n = reference(fit).size(0);
  const double q = n >= 2000 ? 0.98 : 0.95;
  report::Table table;
  table.caption = fmt::format(
      "Tail dependence: how often one column is beyond its {:g} quantile when the other is, both above or both below. "
      "0 for columns that "
      "are never "
      "extreme together, {:g} for independent ones, 1 for ones that always are.",
      q, 1 - q);
  table.columns = {{"pair"}, {"side"}, {reference_name(fit), report::Best::none, 2}};
  for (const TableModel& m : fit.models) table.columns.push_back({m.name, report::Best::none, 2});
  for (const auto& [a, b] : pairs(fit))
    for (const bool above : {true, false}) {
      const auto [chi, error] = dependence(reference(fit), a, b, above, q);
      if (!std::isfinite(chi)) continue;
      report::Cell held(chi);
      held.spread(error);
      std::vector<report::Cell> cells{column_name(fit.plan.train, a) + ", " + column_name(fit.plan.train, b),
                                      above ? "above" : "below", held};
      for (const TableModel& m : fit.models) cells.emplace_back(dependence(m.rows, a, b, above, q).first);
      table.add(std::move(cells));
    }
  if (!table.rows.empty()) page.section("Tail dependence").table(table);
}

}  // namespace htfm
