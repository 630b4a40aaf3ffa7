#include "htfm/report/chart.h"

#include <utility>

namespace htfm::report {
namespace {

Plot lay_out(const ChartLayout& layout, double head) {
  const Box outer{0, head, layout.width, layout.height - head};
  const Axis y = make_axis(layout.y, layout.y_extent, outer.height - 38, false, layout.y_padding);
  const Box area = data_area(outer, layout.x, y);
  return Plot(area, make_axis(layout.x, layout.x_extent, area.width, true, layout.x_padding), y);
}

}  // namespace

Chart::Chart(const ChartLayout& layout)
    : layout_(layout),
      head_(head_height(layout.width, layout.title, layout.y.label, layout.legend)),
      plot_(lay_out(layout, head_)) {}

Tile Chart::tile(const std::string& label) const {
  Canvas canvas(layout_.width, layout_.height);
  draw_head(canvas, layout_.width, layout_.title, layout_.y.label, layout_.legend);
  plot_.draw(canvas, false);
  return canvas.tile(label);
}

Figure Chart::figure(const std::string& label, std::vector<std::string> notes) {
  Figure figure;
  figure.label = label.empty() ? layout_.title : label;
  figure.notes = std::move(notes);
  plot_.note_dropped(figure.notes);
  if (plot_.blank()) plot_.empty_message("no data");
  figure.tiles.push_back(tile(figure.label));
  return figure;
}

}  // namespace htfm::report
