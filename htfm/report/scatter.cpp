// Scatter plots: the row of panels and the grid.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/report/figures.h"
#include "htfm/report/matrix.h"
#include "htfm/report/text.h"

namespace htfm::report {
namespace {

struct Cloud {
  std::vector<double> x, y;
};

Cloud cloud(const at::Tensor& points, std::array<int64_t, 2> coordinates) {
  if (!points.defined()) return {};
  const int64_t needed = std::max(coordinates[0], coordinates[1]) + 1;
  return {matrix_column(points, coordinates[0], needed), matrix_column(points, coordinates[1], needed)};
}

constexpr double kAlike = 5;  // columns whose ranges differ by more have no common unit

/// A window around the bulk: for both axes the larger of the two quantile ranges, or each its own where they are asked
/// to be apart or are of other sizes.
std::array<Range, 2> robust_window(const Cloud& points, bool apart = false) {
  double center[2] = {0, 0}, half[2] = {0, 0};
  const std::vector<double>* coordinates[2] = {&points.x, &points.y};
  for (int axis = 0; axis < 2; ++axis) {
    std::vector<double> values = *coordinates[axis];
    const double low = quantile(values, 0.005), high = quantile(values, 0.995);
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    center[axis] = std::clamp(low / 2 + high / 2, -1e299, 1e299);
    half[axis] = std::min(high / 2 - low / 2, 1e299);
  }
  const auto [least, most] = std::minmax(half[0], half[1]);
  if (!apart && (least * kAlike >= most || least < 1e-290)) half[0] = half[1] = most;
  std::array<Range, 2> window;
  for (int axis = 0; axis < 2; ++axis) {
    double h = half[axis] > 1e-290 ? 1.15 * half[axis] : std::max(1.0, std::abs(center[axis]));
    h = std::max(h, 1e-9 * std::abs(center[axis]));
    window[axis] = {center[axis] - h, center[axis] + h};
  }
  return window;
}

/// Width of a dot: fewer points are drawn larger.
double dot_diameter(size_t points, int64_t limit, double side) {
  const double shown = std::clamp(static_cast<double>(points), 1.0, static_cast<double>(std::max<int64_t>(limit, 1)));
  return std::clamp(side / 210 * 1.5 * std::pow(4000 / shown, 0.25), 1.1, 4.0);
}

/// Height of a plot of this width for units of equal length on both axes, where they are alike.
double equal_aspect(const std::array<Range, 2>& window, double width) {
  const double ratio = (window[1].hi - window[1].lo) / (window[0].hi - window[0].lo);
  if (ratio > kAlike || ratio < 1 / kAlike) return width;
  return std::clamp(width * (window[1].hi - window[1].lo) / (window[0].hi - window[0].lo), 0.3 * width, 3 * width);
}

void check_window(const std::array<Range, 2>& window) {
  for (const Range& range : window) nice_ticks(Scale::linear, range, 2);
}

}  // namespace

Figure scatter_panels(const std::vector<PointPanel>& panels, const ScatterOptions& options) {
  std::vector<Cloud> clouds;
  clouds.reserve(panels.size());
  for (const PointPanel& panel : panels) clouds.push_back(cloud(panel.points, options.coordinates));
  const std::array<Range, 2> window =
      options.window ? *options.window : robust_window(clouds.empty() ? Cloud{} : clouds[0]);
  check_window(window);

  Figure figure;
  figure.label = options.label;
  figure.columns = options.columns > 0 ? options.columns : std::clamp(static_cast<int>(panels.size()), 1, 5);
  bool thinned = false;
  for (size_t i = 0; i < panels.size(); ++i) {
    const AxisOptions x{options.x_label, Scale::linear, window[0]}, y{options.y_label, Scale::linear, window[1]};
    const double head = options.y_label.empty() ? 26 : 42;
    const Axis y_axis = make_axis(y, {}, options.size * 0.75, false);
    Box area = data_area({0, head, options.size, 1000}, x, y_axis);
    area.height = equal_aspect(window, area.width);
    Plot plot(area, make_axis(x, {}, area.width, true), y_axis);

    const Cloud& points = clouds[i];
    const Color color =
        panels[i].color == Color::automatic && i == 0 ? Color::neutral : color_or(panels[i].color, i - 1);
    const double diameter = dot_diameter(points.x.size(), options.max_points, area.width);
    const int64_t outside = plot.dots(points.x, points.y, color, options.max_points, diameter);
    if (points.x.empty()) plot.empty_message("no points");
    thinned |= static_cast<int64_t>(points.x.size()) > options.max_points;

    const double foot = area.y + area.height + (options.x_label.empty() ? 33 : 50);
    Canvas canvas(options.size, foot + 5);
    const double note = panels[i].note.empty() ? 0 : text_width(panels[i].note, kTickSize) + 8;
    canvas.text(area.x, 14, shortened(panels[i].title, kTitleSize, std::max(60.0, area.width - note)), "ti");
    if (note > 0)
      canvas.text(area.x + area.width, 14, shortened(panels[i].note, kTickSize, area.width * 0.7), "", Anchor::end);
    plot.draw(canvas);
    std::string remark = fmt::format("{} of {} outside", count(outside), count(static_cast<int64_t>(points.x.size())));
    if (plot.not_finite() > 0) remark += fmt::format(", {} not finite", count(plot.not_finite()));
    if (!points.x.empty()) canvas.text(area.x, foot, remark);
    figure.tiles.push_back(
        canvas.tile(fmt::format("{}, {}", panels[i].title, count(static_cast<int64_t>(points.x.size()), "point"))));
  }
  if (thinned)
    figure.notes.push_back(fmt::format("At most {} of each panel are drawn.", count(options.max_points, "point")));
  return figure;
}

Figure scatter_grid(const std::vector<std::string>& rows, const std::vector<std::string>& columns,
                    const std::vector<std::vector<at::Tensor>>& panels, const GridOptions& options) {
  if (panels.size() != rows.size())
    throw InputError("[scatter_grid] expected {} rows of panels, got {}", rows.size(), panels.size());
  for (const auto& row : panels)
    if (row.size() != columns.size())
      throw InputError("[scatter_grid] expected {} panels in a row, got {}", columns.size(), row.size());
  if (!options.windows.empty() && options.windows.size() != columns.size())
    throw InputError("[scatter_grid] expected {} windows, got {}", columns.size(), options.windows.size());

  if (!options.axes.empty() && options.axes.size() != columns.size())
    throw InputError("[scatter_grid] expected the names of {} pairs of axes, got {}", columns.size(),
                     options.axes.size());
  constexpr double kGap = 10, kHead = 26, kLine = 16;
  double left = 0;
  for (const std::string& row : rows) left = std::max(left, std::min(text_width(row, kTitleSize) + 14, 150.0));
  const double side = options.size, step = side + kGap;
  Canvas canvas(left + std::max(side, static_cast<double>(columns.size()) * step - kGap),
                kHead + std::max(side, static_cast<double>(rows.size()) * step - kGap) +
                    (options.axes.empty() ? 0 : 2 * kLine + 4));
  Figure figure;
  figure.label = options.label;
  for (size_t c = 0; c < columns.size(); ++c) {
    const std::string title = shortened(columns[c], kTitleSize, side);
    canvas.text(left + static_cast<double>(c) * step + side / 2, 15, title, "ti", Anchor::middle);
    std::array<Range, 2> window =
        options.windows.empty()
            ? robust_window(rows.empty() ? Cloud{} : cloud(panels[0][c], {0, 1}), !options.axes.empty())
            : options.windows[c];
    check_window(window);
    for (size_t r = 0; r < rows.size(); ++r) {
      const Cloud points = cloud(panels[r][c], {0, 1});
      const Box area{left + static_cast<double>(c) * step, kHead + static_cast<double>(r) * step, side, side};
      canvas.rect(area, "pn", 4);
      Plot plot(area, Axis{"", Scale::linear, window[0], {}}, Axis{"", Scale::linear, window[1], {}});
      plot.dots(points.x, points.y, r == 0 ? Color::neutral : color_or(Color::automatic, r - 1), options.max_points,
                dot_diameter(points.x.size(), options.max_points, side) * 1.1);
      if (points.x.empty()) plot.empty_message("no points");
      plot.draw_marks(canvas);
      plot.note_dropped(figure.notes, rows[r] + ", " + columns[c]);
    }
    for (size_t axis = 0; axis < 2 && !options.axes.empty(); ++axis) {
      const std::string range =
          fmt::format("{} {} to {}", axis == 0 ? "→" : "↑", number(window[axis].lo, 2), number(window[axis].hi, 2));
      const double y = kHead + static_cast<double>(rows.size()) * step - kGap + (static_cast<double>(axis) + 1) * kLine;
      const double room = side - text_width(range, kTickSize) - 6;
      canvas.text(left + static_cast<double>(c) * step, y,
                  range + "  " + shortened(options.axes[c][axis], kTickSize, std::max(20.0, room)));
    }
  }
  for (size_t r = 0; r < rows.size(); ++r)
    canvas.text(0, kHead + static_cast<double>(r) * step + side / 2 + 5, shortened(rows[r], kTitleSize, left - 8),
                "ti");
  figure.tiles.push_back(canvas.tile(options.label));
  figure.least = std::min(canvas.width(), std::max(320.0, canvas.width() * 0.7));
  return figure;
}

}  // namespace htfm::report
