// A small SVG canvas, a plot with axes on it, and the figure that is made of one or several such tiles.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/report/scale.h"
#include "htfm/report/style.h"

namespace htfm HTFM_PUBLIC {
namespace report {

struct Box {
  double x, y, width, height;
};

/// One drawing with its own coordinates; what a page may move to another line on a narrow screen.
struct Tile {
  double width, height;
  std::string label;  // says in words what is shown
  std::string body;   // SVG markup
};

/// A figure: tiles in rows, and remarks that belong to them (points outside the window, values that could not be
/// drawn).
struct Figure {
  std::string label;
  std::vector<Tile> tiles;
  std::vector<std::string> notes;
  int columns = 1;  // tiles in a row where there is room
  double least =
      0;  // narrowest legible width in pixels; below it the page lets the figure scroll. 0: the tiles may be stacked

  /// The whole figure as an SVG file with its own style sheet, for light and dark.
  std::string svg() const;
  /// The figure for a page that carries page_style(): its tiles flow, notes are left to the caption.
  std::string html() const;
  /// Width of a row at its own size.
  double width() const;
};

enum class Anchor { start, middle, end };

/// Markup of one tile. Text is escaped; coordinates are written with one decimal.
class Canvas {
 public:
  Canvas(double width, double height) : width_(width), height_(height) {}

  double width() const { return width_; }
  double height() const { return height_; }
  void text(double x, double y, std::string_view text, std::string_view style = "", Anchor anchor = Anchor::start);
  void line(double x0, double y0, double x1, double y1, std::string_view style);
  void rect(const Box& box, std::string_view style, double radius = 0);
  void markup(std::string_view trusted) { body_ += trusted; }
  const std::string& body() const { return body_; }
  Tile tile(std::string label) const { return {width_, height_, std::move(label), body_}; }

 private:
  double width_, height_;
  std::string body_;
};

/// Data of an SVG path: coordinates rounded to a tenth, relative, without needless characters.
class Path {
 public:
  void move(double x, double y);
  void line(double x, double y);
  void close() { data_ += 'z', command_ = 'z'; }
  bool empty() const { return data_.empty(); }
  const std::string& data() const { return data_; }

 private:
  void put(char command, int64_t dx, int64_t dy);
  std::string data_;
  int64_t x_ = 0, y_ = 0;
  char command_ = 0;
};

enum class Marker { circle, square, triangle, diamond };

struct LegendEntry {
  std::string name = {};
  Color color = Color::neutral;
  enum class Key { line, dashed, dot, hollow } key = Key::line;
  bool marked = false;  // a marker on the line
  Marker marker = Marker::circle;
};

/// A rectangle with two axes. Values that have no place on an axis are left out and counted.
class Plot {
 public:
  /// `area` is the rectangle of the data on the canvas.
  Plot(Box area, Axis x, Axis y);

  const Axis& x() const { return x_; }
  const Axis& y() const { return y_; }
  const Box& area() const { return area_; }

  /// A line through the points in order, broken at values that cannot be drawn; style is a class list such as "ln
  /// thin".
  void line(std::span<const double> x, std::span<const double> y, Color color, std::string_view style = "ln");
  /// A step function that keeps each value until the next abscissa.
  void steps(std::span<const double> x, std::span<const double> y, Color color, std::string_view style = "ln");
  /// The area between two curves.
  void band(std::span<const double> x, std::span<const double> low, std::span<const double> high, Color color);
  /// Small round dots, at most `limit` of them (evenly spaced in the given order); returns how many finite points lie
  /// outside.
  int64_t dots(std::span<const double> x, std::span<const double> y, Color color, int64_t limit, double diameter);
  void marker(double x, double y, Color color, Marker shape, bool hollow = false);
  /// A vertical (or horizontal) bar for an interval.
  void interval(double x, double low, double high, Color color);
  void interval_across(double low, double high, double y, Color color);
  /// A dotted straight line between two points on the page, with a label near its far end.
  void reference(double x0, double y0, double x1, double y1, std::string_view label = "");
  /// Says in the middle that there is nothing to show.
  void empty_message(std::string_view text);

  /// Puts grid, data, axes and axis labels on the canvas; the label of the y axis stands above it, unless it is drawn
  /// elsewhere.
  void draw(Canvas& canvas, bool y_label = true) const;
  /// Puts the data alone.
  void draw_marks(Canvas& canvas) const;

  /// Whether nothing has been drawn so far.
  bool blank() const { return body_.empty(); }
  int64_t not_finite() const { return not_finite_; }
  int64_t not_positive() const { return not_positive_; }
  /// Adds a sentence on what was left out to the notes, where something was.
  void note_dropped(std::vector<std::string>& notes, std::string_view where = "") const;

 private:
  bool placed(double x, double y, double& px, double& py);
  void polyline(std::span<const double> x, std::span<const double> y, Color color, std::string_view style,
                bool stepped);

  Box area_;
  Axis x_, y_;
  std::string body_, labels_;
  std::vector<Box> label_boxes_;
  int64_t not_finite_ = 0, not_positive_ = 0;
};

/// Height of the head of a chart (title, label of the y axis, legend) and its drawing.
double head_height(double width, const std::string& title, const std::string& y_label,
                   const std::vector<LegendEntry>& legend);
void draw_head(Canvas& canvas, double width, const std::string& title, const std::string& y_label,
               const std::vector<LegendEntry>& legend);

/// The data rectangle inside `outer`, leaving room for the tick labels and the label of the x axis.
Box data_area(const Box& outer, const AxisOptions& x, const Axis& y);

}  // namespace report
}  // namespace htfm
