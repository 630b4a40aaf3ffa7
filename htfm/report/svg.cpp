#include "htfm/report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "htfm/report/text.h"

namespace htfm::report {
namespace {

/// A coordinate with at most one decimal.
std::string coordinate(double value) {
  std::string out = fmt::format("{:.1f}", value);
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out == "-0" ? "0" : out;
}

void put_tenths(std::string& out, int64_t tenths) {
  if (tenths < 0) out += '-', tenths = -tenths;
  if (tenths >= 10 || tenths == 0) fmt::format_to(std::back_inserter(out), "{}", tenths / 10);
  if (tenths % 10 != 0) out += '.', out += static_cast<char>('0' + tenths % 10);
}

std::string svg_open(double width, double height) {
  return fmt::format("viewBox=\"0 0 {} {}\"", coordinate(width), coordinate(height));
}

/// The text in lines of at most `width` units, broken between words.
std::vector<std::string> wrapped(std::string_view text, double font_size, double width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string word = shortened(text.substr(0, end), font_size, width);
    if (!lines.back().empty() && text_width(lines.back() + " " + word, font_size) > width) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

void Canvas::text(double x, double y, std::string_view text, std::string_view style, Anchor anchor) {
  static constexpr std::string_view kAnchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  body_ += fmt::format("<text x=\"{}\" y=\"{}\"{}", coordinate(x), coordinate(y), kAnchors[static_cast<int>(anchor)]);
  if (!style.empty()) body_ += fmt::format(" class=\"{}\"", style);
  body_.append(">").append(escape(text)).append("</text>");
}

void Canvas::line(double x0, double y0, double x1, double y1, std::string_view style) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>", coordinate(x0), coordinate(y0),
                       coordinate(x1), coordinate(y1), style);
}

void Canvas::rect(const Box& box, std::string_view style, double radius) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\"", coordinate(box.x),
                       coordinate(box.y), coordinate(box.width), coordinate(box.height), style);
  if (radius > 0) body_ += fmt::format(" rx=\"{}\"", coordinate(radius));
  body_ += "/>";
}

void Path::put(char command, int64_t dx, int64_t dy) {
  // A command letter may be left out where it repeats ("m" is followed by an implied "l").
  const bool implied = command == command_ || (command == 'l' && command_ == 'm');
  if (!implied || command == 'm')
    data_ += command;
  else if (dx >= 0)
    data_ += ' ';
  put_tenths(data_, dx);
  if (dy >= 0) data_ += ' ';
  put_tenths(data_, dy);
  command_ = command;
}

void Path::move(double x, double y) {
  const int64_t to_x = std::llround(x * 10), to_y = std::llround(y * 10);
  put('m', to_x - x_, to_y - y_);
  x_ = to_x, y_ = to_y;
}

void Path::line(double x, double y) {
  const int64_t to_x = std::llround(x * 10), to_y = std::llround(y * 10);
  if (to_x == x_ && to_y == y_ && command_ == 'l') return;
  put('l', to_x - x_, to_y - y_);
  x_ = to_x, y_ = to_y;
}

double Figure::width() const {
  double widest = 0, row = 0;
  for (size_t i = 0; i < tiles.size(); ++i) {
    row = i % static_cast<size_t>(std::max(columns, 1)) == 0 ? tiles[i].width : row + 14 + tiles[i].width;
    widest = std::max(widest, row);
  }
  return widest;
}

std::string Figure::html() const {
  std::string out;
  const auto drawing = [](const Tile& tile, std::string_view name) {
    return fmt::format("<svg class=\"fig\" {} role=\"img\" aria-label=\"{}\">{}</svg>",
                       svg_open(tile.width, tile.height), escape(name), tile.body);
  };
  if (tiles.size() == 1 || least > 0) {
    const std::string name = tiles.empty() ? label : label.empty() ? tiles[0].label : label;
    for (const Tile& tile : tiles) {
      const double narrowest = least > 0 ? least : 0;
      out += fmt::format("<div class=\"scroll\"{} style=\"--least:{}px;--most:{}px\">{}</div>",
                         least > 0 ? " tabindex=\"0\" role=\"group\"" : "", coordinate(narrowest),
                         coordinate(tile.width * 1.1), drawing(tile, name));
    }
    return out;
  }
  double widest = 0;
  for (const Tile& tile : tiles) widest = std::max(widest, tile.width);
  out = fmt::format("<div class=\"tiles\" style=\"--least:{}px;--most:{}px\">", coordinate(widest * 0.66),
                    coordinate(widest * 1.12));
  for (const Tile& tile : tiles) out += drawing(tile, label.empty() ? tile.label : label + ": " + tile.label);
  return out + "</div>";
}

std::string Figure::svg() const {
  constexpr double kMargin = 12, kGap = 14;
  const double inner = std::max(width(), 160.0);
  std::string body;
  double y = kMargin;
  for (size_t first = 0; first < tiles.size(); first += static_cast<size_t>(std::max(columns, 1))) {
    double x = kMargin, height = 0;
    for (size_t i = first; i < std::min(tiles.size(), first + static_cast<size_t>(std::max(columns, 1))); ++i) {
      const Tile& tile = tiles[i];
      body +=
          fmt::format("<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}>{}</svg>", coordinate(x), coordinate(y),
                      coordinate(tile.width), coordinate(tile.height), svg_open(tile.width, tile.height), tile.body);
      x += tile.width + kGap;
      height = std::max(height, tile.height);
    }
    y += height + kGap;
  }
  Canvas remarks(inner, 0);
  for (const std::string& note : notes) {
    for (const std::string& line : wrapped(note, kTickSize, inner)) remarks.text(kMargin, y += 4, line), y += kTickSize;
  }
  const double width = inner + 2 * kMargin, height = y + kMargin - (notes.empty() ? kGap : 0);
  Canvas ground(width, height);
  ground.rect({0, 0, width, height}, "bg");
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fig\" width=\"{}\" height=\"{}\" {} role=\"img\">"
      "<title>{}</title><style>{}</style>{}{}{}</svg>\n",
      coordinate(width), coordinate(height), svg_open(width, height), escape(label), standalone_style(), ground.body(),
      body, remarks.body());
}

}  // namespace htfm::report
