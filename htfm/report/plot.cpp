// The plot of svg.h: grid, axes, marks, and the head above it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "htfm/report/svg.h"
#include "htfm/report/text.h"

namespace htfm::report {
namespace {

constexpr double kFarAway = 5000;  // pixels; what lies beyond is clipped anyway and must not overflow
constexpr double kLegendRow = 18, kSwatch = 20;

std::string color_class(Color color) { return fmt::format("k{}", std::max(0, static_cast<int>(color)) % kColors); }

/// A marker around (x, y) as markup; shapes have about the same area.
std::string marker_markup(double x, double y, Color color, Marker shape, bool hollow) {
  Path path;
  const std::string style = fmt::format("{} {}", hollow ? "ho" : "mk", color_class(color));
  switch (shape) {
    case Marker::circle:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" class=\"{}\"/>", x, y, hollow ? 3.6 : 4.2,
                         style);
    case Marker::square:
      path.move(x - 3.7, y - 3.7), path.line(x + 3.7, y - 3.7), path.line(x + 3.7, y + 3.7),
          path.line(x - 3.7, y + 3.7);
      break;
    case Marker::triangle: path.move(x, y - 5), path.line(x + 4.9, y + 3.6), path.line(x - 4.9, y + 3.6); break;
    case Marker::diamond:
      path.move(x, y - 5.3), path.line(x + 5.3, y), path.line(x, y + 5.3), path.line(x - 5.3, y);
      break;
  }
  path.close();
  return fmt::format("<path d=\"{}\" class=\"{}\"/>", path.data(), style);
}

void draw_key(Canvas& canvas, double x, double y, const LegendEntry& entry) {
  using Key = LegendEntry::Key;
  const double middle = y - 4;
  const bool hollow = entry.key == Key::hollow, dot = entry.key == Key::dot || hollow;
  if (!dot) {
    Path path;
    path.move(x, middle), path.line(x + kSwatch - 4, middle);
    const std::string_view style = entry.key == Key::dashed ? "ln dash" : "ln";
    canvas.markup(fmt::format("<path d=\"{}\" class=\"{} {}\"/>", path.data(), style, color_class(entry.color)));
  }
  if (dot || entry.marked) canvas.markup(marker_markup(x + 8, middle, entry.color, entry.marker, hollow));
}

struct Head {
  std::vector<std::pair<double, double>> places;  // of the legend's entries
  std::vector<std::string> names;
  double label_y = 0, height = 0;
};

/// Title, then the y label at the left and the legend in the same row where both fit, in rows above it where not.
Head lay_out_head(double width, const std::string& title, const std::string& y_label,
                  const std::vector<LegendEntry>& legend) {
  Head head;
  double y = title.empty() ? 0 : 22, x = 0, total = 0;
  for (const LegendEntry& entry : legend) {
    head.names.push_back(shortened(entry.name, kLabelSize, width - kSwatch - 8));
    total += kSwatch + text_width(head.names.back(), kLabelSize) + 14;
  }
  const double label = y_label.empty() ? 0 : text_width(y_label, kLabelSize) + 22;
  const bool one_row = !legend.empty() && label + total - 8 <= width;
  if (one_row) x = width - total + 8;
  if (!legend.empty()) y += kLegendRow;
  for (const std::string& name : head.names) {
    const double step = kSwatch + text_width(name, kLabelSize);
    if (!one_row && x > 0 && x + step > width) x = 0, y += kLegendRow;
    head.places.emplace_back(x, y - 4);
    x += step + 14;
  }
  if (!y_label.empty() && !one_row) y += kLegendRow;
  head.label_y = y - 4;
  head.height = y + (y > 0 ? 6 : 8);
  return head;
}

}  // namespace

Plot::Plot(Box area, Axis x, Axis y) : area_(area), x_(std::move(x)), y_(std::move(y)) {}

bool Plot::placed(double x, double y, double& px, double& py) {
  if (!drawable(x, x_.scale) || !drawable(y, y_.scale)) {
    (std::isfinite(x) && std::isfinite(y) ? not_positive_ : not_finite_) += 1;
    return false;
  }
  px = std::clamp(x_.place(x) * area_.width, -kFarAway, kFarAway);
  py = std::clamp((1 - y_.place(y)) * area_.height, -kFarAway, kFarAway);
  return true;
}

void Plot::polyline(std::span<const double> x, std::span<const double> y, Color color, std::string_view style,
                    bool stepped) {
  Path path;
  bool open = false;
  double px = 0, py = 0;
  // Of the points that share one column of pixels, the first, the lowest, the highest and the last are enough to draw
  // the line.
  struct Point {
    double x, y;
  };
  std::vector<Point> column;
  const auto flush = [&] {
    if (column.empty()) return;
    size_t low = 0, high = 0;
    for (size_t i = 1; i < column.size(); ++i) {
      if (column[i].y < column[low].y) low = i;
      if (column[i].y > column[high].y) high = i;
    }
    size_t keep[] = {0, std::min(low, high), std::max(low, high), column.size() - 1};
    for (size_t k = 0; k < 4; ++k) {
      if (k > 0 && keep[k] == keep[k - 1]) continue;
      if (!std::exchange(open, true))
        path.move(column[keep[k]].x, column[keep[k]].y);
      else
        path.line(column[keep[k]].x, column[keep[k]].y);
    }
    column.clear();
  };
  bool last_drawn = false;
  double last_y = 0;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (!placed(x[i], y[i], px, py)) {
      flush();
      open = last_drawn = false;
      continue;
    }
    const auto add = [&](double to_x, double to_y) {
      if (!column.empty() && std::floor(column.front().x) != std::floor(to_x)) flush();
      column.push_back({to_x, to_y});
    };
    if (stepped && last_drawn && std::abs(py - last_y) >= 0.05) add(px, last_y);
    if (!stepped || !last_drawn || std::abs(py - last_y) >= 0.05 || i + 1 == x.size()) {
      add(px, py);
      last_y = py;
    }
    last_drawn = true;
  }
  flush();
  if (!path.empty()) body_ += fmt::format("<path d=\"{}\" class=\"{} {}\"/>", path.data(), style, color_class(color));
}

void Plot::line(std::span<const double> x, std::span<const double> y, Color color, std::string_view style) {
  polyline(x, y, color, style, false);
}

void Plot::steps(std::span<const double> x, std::span<const double> y, Color color, std::string_view style) {
  polyline(x, y, color, style, true);
}

void Plot::band(std::span<const double> x, std::span<const double> low, std::span<const double> high, Color color) {
  std::vector<std::array<double, 3>> points;
  for (size_t i = 0; i < x.size(); ++i) {
    double px, bottom, top;
    if (placed(x[i], low[i], px, bottom) && placed(x[i], high[i], px, top)) points.push_back({px, bottom, top});
  }
  if (points.size() < 2) return;
  Path path;
  path.move(points[0][0], points[0][2]);
  for (size_t i = 1; i < points.size(); ++i) path.line(points[i][0], points[i][2]);
  for (size_t i = points.size(); i-- > 0;) path.line(points[i][0], points[i][1]);
  path.close();
  body_ += fmt::format("<path d=\"{}\" class=\"ar {}\"/>", path.data(), color_class(color));
}

int64_t Plot::dots(std::span<const double> x, std::span<const double> y, Color color, int64_t limit, double diameter) {
  // Overlap inside one path does not darken, so dots are spread over a few translucent layers: density shows.
  constexpr int kLayers = 4;
  constexpr int64_t kBand = 60;  // tenths of a pixel
  struct Dot {
    int64_t x, y;
    bool operator==(const Dot&) const = default;
  };
  std::vector<Dot> inside;
  int64_t outside = 0;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    double px, py;
    if (!placed(x[i], y[i], px, py)) continue;
    if (px < 0 || px > area_.width || py < 0 || py > area_.height)
      ++outside;
    else
      inside.push_back({std::llround(px * 10), std::llround(py * 10)});
  }
  const int64_t total = static_cast<int64_t>(inside.size()), shown = std::min(total, limit);
  for (int layer = 0; layer < kLayers; ++layer) {
    std::vector<Dot> dots;
    for (int64_t i = layer; i < shown; i += kLayers) dots.push_back(inside[static_cast<size_t>(i * total / shown)]);
    // Neighbours follow each other to and fro along bands, which keeps the relative moves, and so the file, short.
    std::sort(dots.begin(), dots.end(), [](const Dot& a, const Dot& b) {
      const int64_t band = a.y / kBand;
      if (band != b.y / kBand) return band < b.y / kBand;
      return band % 2 == 0 ? std::tie(a.x, a.y) < std::tie(b.x, b.y) : std::tie(b.x, b.y) < std::tie(a.x, a.y);
    });
    dots.erase(std::unique(dots.begin(), dots.end()), dots.end());
    if (dots.empty()) continue;
    std::string data;
    Dot at{0, 0};
    for (const Dot& dot : dots) {
      data += fmt::format("m{}{}{}h0", dot.x - at.x, dot.y < at.y ? "" : " ", dot.y - at.y);
      at = dot;
    }
    body_ += fmt::format(
        "<path transform=\"scale(.1)\" d=\"{}\" class=\"pt {}\" stroke-width=\"{:.0f}\" stroke-opacity=\".6\"/>", data,
        color_class(color), diameter * 10);
  }
  return outside;
}

void Plot::marker(double x, double y, Color color, Marker shape, bool hollow) {
  double px, py;
  if (placed(x, y, px, py)) body_ += marker_markup(px, py, color, shape, hollow);
}

void Plot::interval(double x, double low, double high, Color color) {
  double px, bottom, top;
  if (!placed(x, low, px, bottom) || !placed(x, high, px, top)) return;
  Path path;
  path.move(px, bottom), path.line(px, top);
  for (const double end : {bottom, top}) path.move(px - 3, end), path.line(px + 3, end);
  body_ += fmt::format("<path d=\"{}\" class=\"ln {}\" stroke-opacity=\".6\"/>", path.data(), color_class(color));
}

void Plot::interval_across(double low, double high, double y, Color color) {
  double left, right, py;
  if (!placed(low, y, left, py) || !placed(high, y, right, py)) return;
  Path path;
  path.move(left, py), path.line(right, py);
  body_ += fmt::format("<path d=\"{}\" class=\"ln {}\" stroke-opacity=\".55\"/>", path.data(), color_class(color));
}

void Plot::reference(double x0, double y0, double x1, double y1, std::string_view label) {
  double left, top, right, bottom;
  if (!placed(x0, y0, left, top) || !placed(x1, y1, right, bottom)) return;
  Path path;
  path.move(left, top), path.line(right, bottom);
  body_ += fmt::format("<path d=\"{}\" class=\"rf\"/>", path.data());
  if (label.empty()) return;
  // The label stands at the right above the line, shortly before it leaves the plot, and gives way to labels that are
  // there already.
  double share = 1;
  if (right > area_.width) share = std::min(share, (area_.width - left) / (right - left));
  if (bottom > area_.height) share = std::min(share, (area_.height - top) / (bottom - top));
  if (bottom < 0) share = std::min(share, top / (top - bottom));
  share *= 0.85;
  if (share < 0 || top < 0 || top > area_.height || left > area_.width) return;
  const double width = 1.15 * text_width(label, kTickSize);  // larger type on narrow screens
  Box box{std::clamp(left + share * (right - left) + 6, 0.0, area_.width - width),
          std::clamp(top + share * (bottom - top) - 5, 12.0, area_.height - 5), width, 13};
  const auto overlaps = [&](const Box& other) {
    return box.x < other.x + other.width && other.x < box.x + box.width && std::abs(box.y - other.y) < 13;
  };
  for (int tries = 0; tries < 20 && std::any_of(label_boxes_.begin(), label_boxes_.end(), overlaps); ++tries)
    box.y -= 6;
  label_boxes_.push_back(box);
  Canvas text(0, 0);
  text.text(box.x, box.y, label, "halo");
  labels_ += text.body();
}

void Plot::empty_message(std::string_view text) {
  Canvas message(0, 0);
  message.text(area_.width / 2, area_.height / 2 + 4, text, "", Anchor::middle);
  labels_ += message.body();
}

void Plot::draw_marks(Canvas& canvas) const {
  // A drawing inside the drawing clips what lies outside the axes, and needs no name that is unique on the page.
  canvas.markup(fmt::format("<svg x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">{}{}</svg>", area_.x,
                            area_.y, area_.width, area_.height, body_, labels_));
}

void Plot::draw(Canvas& canvas, bool y_label) const {
  const double right = area_.x + area_.width, bottom = area_.y + area_.height;
  for (const bool major : {false, true}) {
    for (const Tick& tick : x_.ticks) {
      const double at = area_.x + x_.place(tick.value) * area_.width;
      if (tick.label.empty() == !major) canvas.line(at, area_.y, at, bottom, major ? "gr" : "gm");
    }
    for (const Tick& tick : y_.ticks) {
      const double at = area_.y + (1 - y_.place(tick.value)) * area_.height;
      if (tick.label.empty() == !major) canvas.line(area_.x, at, right, at, major ? "gr" : "gm");
    }
  }
  canvas.line(area_.x, bottom, right, bottom, "ax");
  draw_marks(canvas);
  for (const Tick& tick : x_.ticks) {
    const double inner = canvas.width() - text_width(tick.label, kTickSize) / 2;
    if (!tick.label.empty())
      canvas.text(std::min(area_.x + x_.place(tick.value) * area_.width, inner), bottom + 15, tick.label, "",
                  Anchor::middle);
  }
  for (const Tick& tick : y_.ticks)
    if (!tick.label.empty())
      canvas.text(area_.x - 6, area_.y + (1 - y_.place(tick.value)) * area_.height + 4, tick.label, "", Anchor::end);
  if (!x_.label.empty())
    canvas.text(area_.x + area_.width / 2, bottom + 33, shortened(x_.label, kLabelSize, canvas.width()), "lb",
                Anchor::middle);
  if (y_label && !y_.label.empty()) canvas.text(0, area_.y - 9, shortened(y_.label, kLabelSize, canvas.width()), "lb");
}

void Plot::note_dropped(std::vector<std::string>& notes, std::string_view where) const {
  std::string what;
  if (not_finite_ > 0) what = count(not_finite_) + " not finite";
  if (not_positive_ > 0) what += (what.empty() ? "" : ", ") + count(not_positive_) + " not positive on a log axis";
  if (what.empty()) return;
  notes.push_back(fmt::format("Not drawn{}{}: {}.", where.empty() ? "" : " in ", where, what));
}

double head_height(double width, const std::string& title, const std::string& y_label,
                   const std::vector<LegendEntry>& legend) {
  return lay_out_head(width, title, y_label, legend).height;
}

void draw_head(Canvas& canvas, double width, const std::string& title, const std::string& y_label,
               const std::vector<LegendEntry>& legend) {
  const Head head = lay_out_head(width, title, y_label, legend);
  if (!title.empty()) canvas.text(0, 14, shortened(title, kTitleSize, width), "ti");
  for (size_t i = 0; i < legend.size(); ++i) {
    draw_key(canvas, head.places[i].first, head.places[i].second, legend[i]);
    canvas.text(head.places[i].first + kSwatch, head.places[i].second, head.names[i], "lb ink");
  }
  if (!y_label.empty()) canvas.text(0, head.label_y, shortened(y_label, kLabelSize, width), "lb");
}

Box data_area(const Box& outer, const AxisOptions& x, const Axis& y) {
  double left = 8;
  for (const Tick& tick : y.ticks) left = std::max(left, text_width(tick.label, kTickSize) + 8);
  const double bottom = x.label.empty() ? 20 : 38, right = 14;
  return {outer.x + left, outer.y, std::max(20.0, outer.width - left - right), std::max(20.0, outer.height - bottom)};
}

}  // namespace htfm::report
