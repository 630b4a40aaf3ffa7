// Curves over a parameter: line charts, losses, clock paths, dots for categories.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/report/chart.h"
#include "htfm/report/figures.h"
#include "htfm/report/matrix.h"
#include "htfm/report/text.h"

namespace htfm::report {
namespace {

void check_lengths(const char* where, const Series& series) {
  const size_t n = series.x.size();
  if (series.y.size() != n)
    throw InputError("[{}] expected {} ordinates in series '{}', got {}", where, n, series.name, series.y.size());
  if (series.low.size() != series.high.size() || (!series.low.empty() && series.low.size() != n))
    throw InputError("[{}] expected intervals at all {} points of series '{}', got {} and {}", where, n, series.name,
                     series.low.size(), series.high.size());
}

/// Mean of the drawable values in a window of `width` records around each of at most `limit` records, evenly spaced.
Series centred_mean(const Series& series, Scale scale, int64_t width, int64_t limit) {
  const int64_t n = static_cast<int64_t>(series.y.size()), points = std::min(n, limit);
  Series out;
  for (int64_t k = 0; k < points; ++k) {
    const int64_t i = points > 1 ? k * (n - 1) / (points - 1) : 0;
    double sum = 0;
    int64_t used = 0;
    for (int64_t j = std::max<int64_t>(0, i - width / 2); j <= std::min(n - 1, i + width / 2); ++j) {
      const double value = series.y[static_cast<size_t>(j)];
      if (drawable(value, scale)) sum += value, ++used;
    }
    if (used == 0 || !std::isfinite(sum)) continue;
    out.x.push_back(series.x[static_cast<size_t>(i)]);
    out.y.push_back(sum / static_cast<double>(used));
  }
  return out;
}

}  // namespace

Figure line_chart(const std::vector<Series>& series, const ChartOptions& options) {
  ChartLayout layout{
      .width = options.width, .height = options.height, .title = options.title, .x = options.x, .y = options.y};
  const auto marked = [&](const Series& one) { return options.markers && one.x.size() <= 40; };
  for (size_t i = 0; i < series.size(); ++i) {
    check_lengths("line_chart", series[i]);
    layout.x_extent.add(series[i].x, options.x.scale);
    for (const auto* values : {&series[i].y, &series[i].low, &series[i].high})
      layout.y_extent.add(*values, options.y.scale);
    using Key = LegendEntry::Key;
    const Key key = series[i].dashed ? Key::dashed : Key::line;
    if (!series[i].name.empty())
      layout.legend.push_back(
          {series[i].name, color_or(series[i].color, i), key, marked(series[i]), static_cast<Marker>(i % 4)});
  }
  if (std::any_of(series.begin(), series.end(), marked)) layout.x_padding = layout.y_padding = 0.05;
  Chart chart(layout);
  for (size_t i = 0; i < series.size(); ++i) {
    const Color color = color_or(series[i].color, i);
    if (!series[i].low.empty() && !marked(series[i]))
      chart.plot().band(series[i].x, series[i].low, series[i].high, color);
    chart.plot().line(series[i].x, series[i].y, color, series[i].dashed ? "ln dash" : "ln");
  }
  for (size_t i = 0; i < series.size(); ++i) {
    if (!marked(series[i])) continue;
    const Color color = color_or(series[i].color, i);
    for (size_t k = 0; k < series[i].x.size(); ++k) {
      if (!drawable(series[i].x[k], options.x.scale) || !drawable(series[i].y[k], options.y.scale))
        continue;  // counted with the line
      if (!series[i].low.empty()) chart.plot().interval(series[i].x[k], series[i].low[k], series[i].high[k], color);
      chart.plot().marker(series[i].x[k], series[i].y[k], color, static_cast<Marker>(i % 4));
    }
  }
  return chart.figure(options.label);
}

Figure loss_curve(const std::vector<Series>& series, const LossOptions& options) {
  ChartLayout layout{
      .width = options.width, .height = options.height, .title = options.title, .x = options.x, .y = options.y};
  layout.x_padding = 0.01;
  std::vector<Series> means;
  std::vector<bool> smoothed;
  std::vector<std::string> notes;
  int64_t widest = 0;
  for (size_t i = 0; i < series.size(); ++i) {
    check_lengths("loss_curve", series[i]);
    const int64_t width = std::llround(options.smoothing * static_cast<double>(series[i].y.size()));
    smoothed.push_back(width >= 2);
    means.push_back(width >= 2 ? centred_mean(series[i], options.y.scale, width, 600) : series[i]);
    if (width >= 2) widest = std::max(widest, 2 * (width / 2) + 1);
    layout.x_extent.add(series[i].x, options.x.scale);
    // Spikes of single records must not squeeze the curve: the axis covers the bulk of the records, and where the mean
    // begins and ends.
    std::vector<double> records = series[i].y;
    std::erase_if(records, [&](double value) { return !drawable(value, options.y.scale); });
    for (const double share : {0.002, 0.998}) layout.y_extent.add(quantile(records, share), options.y.scale);
    if (smoothed[i] && !means[i].y.empty())
      layout.y_extent.add(std::vector{means[i].y.front(), means[i].y.back()}, options.y.scale);
    if (!series[i].name.empty())
      layout.legend.push_back({series[i].name, color_or(series[i].color, i), LegendEntry::Key::line});
  }
  Chart chart(layout);
  int64_t outside = 0;
  const Range range = chart.plot().y().range;
  for (size_t i = 0; i < series.size(); ++i) {
    if (smoothed[i]) chart.plot().line(series[i].x, series[i].y, color_or(series[i].color, i), "ln thin");
    for (const double value : series[i].y)
      outside += drawable(value, options.y.scale) && (value < range.lo || value > range.hi);
  }
  for (size_t i = 0; i < series.size(); ++i) chart.plot().line(means[i].x, means[i].y, color_or(series[i].color, i));
  if (widest > 0)
    notes.push_back(fmt::format("Thin: every record; strong: centred mean of up to {} records.", count(widest)));
  if (outside > 0) notes.push_back(fmt::format("{} outside the axis.", count(outside, "record")));
  return chart.figure(options.label, std::move(notes));
}

Figure clock_paths(const std::vector<ClockFamily>& families, const ClockOptions& options) {
  std::vector<std::vector<std::vector<double>>> paths;
  std::vector<Extent> extents;
  for (const ClockFamily& family : families) {
    paths.emplace_back();
    std::vector<double> values;
    if (family.paths.defined()) {
      check_matrix(family.paths, 2);
      for (int64_t row = 0; row < std::min(family.paths.size(0), options.max_paths); ++row) {
        paths.back().push_back(matrix_row(family.paths, row));
        for (const double value : paths.back().back())
          if (drawable(value, options.scale)) values.push_back(value);
      }
    }
    // On a log axis the first steps of a clock reach down without end; the upper side is where the tails are and stays
    // whole.
    Extent extent;
    if (options.scale == Scale::log) extent.add(quantile(values, 0.015), options.scale);
    if (options.scale == Scale::linear) extent.add(quantile(values, 0), options.scale);
    extent.add(quantile(values, 1), options.scale);
    extents.push_back(extent);
  }
  Extent all;
  for (const Extent& extent : extents) all.add(extent.lo, options.scale), all.add(extent.hi, options.scale);

  Figure figure;
  figure.label = options.label;
  figure.columns = std::clamp(static_cast<int>(families.size()), 1, 3);
  for (size_t i = 0; i < families.size(); ++i) {
    const std::string title = families[i].note.empty() ? families[i].name : families[i].name + " · " + families[i].note;
    Chart chart({.width = options.width,
                 .height = options.height,
                 .title = title,
                 .x = {.label = "t", .range = Range{0, 1}},
                 .y = {.label = "clock T", .scale = options.scale},
                 .y_extent = options.shared_axis ? all : extents[i]});
    for (std::vector<double>& path : paths[i]) {
      std::vector<double> time(path.size());
      for (size_t k = 0; k < time.size(); ++k) time[k] = static_cast<double>(k) / static_cast<double>(time.size() - 1);
      // Every clock starts at 0, which has no place on a log axis: nothing is lost by leaving it out.
      const size_t first = options.scale == Scale::log && path[0] == 0 ? 1 : 0;
      const auto x = std::span(time).subspan(first), y = std::span(path).subspan(first);
      const std::string_view style = paths[i].size() > 8 ? "ln path" : "ln";
      if (families[i].jumps)
        chart.plot().steps(x, y, color_or(families[i].color, i), style);
      else
        chart.plot().line(x, y, color_or(families[i].color, i), style);
    }
    if (chart.plot().blank()) chart.plot().empty_message("no paths");
    chart.plot().note_dropped(figure.notes, families[i].name);
    figure.tiles.push_back(
        chart.tile(fmt::format("{}, {}", title, count(static_cast<int64_t>(paths[i].size()), "path"))));
  }
  return figure;
}

Figure dot_chart(const std::vector<std::string>& categories, const std::vector<DotSeries>& series,
                 const DotOptions& options) {
  ChartLayout layout{.width = options.width, .height = 0, .title = options.title, .x = options.x, .y = {}};
  for (size_t i = 0; i < series.size(); ++i) {
    const DotSeries& one = series[i];
    if (one.values.size() != categories.size() || one.low.size() != one.high.size() ||
        (!one.low.empty() && one.low.size() != categories.size()))
      throw InputError("[dot_chart] expected {} values in series '{}', got {} (intervals {} and {})", categories.size(),
                       one.name, one.values.size(), one.low.size(), one.high.size());
    for (const auto* values : {&one.values, &one.low, &one.high}) layout.x_extent.add(*values, options.x.scale);
    layout.legend.push_back(
        {one.name, color_or(one.color, i), one.hollow ? LegendEntry::Key::hollow : LegendEntry::Key::dot});
  }
  const double rows = static_cast<double>(std::max<size_t>(categories.size(), 1));
  const double head = head_height(options.width, options.title, "", layout.legend);
  Axis y{"", Scale::linear, {-0.5, rows - 0.5}, {}};
  for (size_t i = 0; i < categories.size(); ++i)
    y.ticks.push_back({rows - 1 - static_cast<double>(i), shortened(categories[i], kTickSize, options.width * 0.42)});
  const Box area = data_area({0, head, options.width, rows * options.row_height + (options.x.label.empty() ? 20 : 38)},
                             options.x, y);
  Plot plot(area, make_axis(options.x, layout.x_extent, area.width, true, 0.05), y);
  for (size_t i = 0; i < series.size(); ++i) {
    const Color color = color_or(series[i].color, i);
    // Series of one category stand a little apart, so that equal values can be told.
    const double shift = (static_cast<double>(series.size()) - 1 - 2 * static_cast<double>(i)) *
                         std::min(0.13, 0.3 / static_cast<double>(series.size()));
    for (size_t k = 0; k < categories.size(); ++k) {
      const double at = rows - 1 - static_cast<double>(k) + shift;
      if (std::isnan(series[i].values[k])) continue;
      if (!series[i].low.empty()) plot.interval_across(series[i].low[k], series[i].high[k], at, color);
      plot.marker(series[i].values[k], at, color, Marker::circle, series[i].hollow);
    }
  }
  if (plot.blank()) plot.empty_message("no data");
  Figure figure;
  figure.label = options.label.empty() ? options.title : options.label;
  plot.note_dropped(figure.notes);
  Canvas canvas(options.width, area.y + area.height + (options.x.label.empty() ? 20 : 38));
  draw_head(canvas, options.width, options.title, "", layout.legend);
  plot.draw(canvas);
  figure.tiles.push_back(canvas.tile(figure.label));
  return figure;
}

}  // namespace htfm::report
