// One plot with its title, legend and axes: what most figures are.
#pragma once

#include <string>
#include <vector>

#include "htfm/report/svg.h"

namespace htfm::report {

struct ChartLayout {
  double width, height;
  std::string title = {};
  AxisOptions x = {}, y = {};
  Extent x_extent = {}, y_extent = {};
  std::vector<LegendEntry> legend = {};
  double x_padding = 0.04, y_padding = 0.04;
};

class Chart {
 public:
  explicit Chart(const ChartLayout& layout);

  Plot& plot() { return plot_; }
  /// The finished figure of one tile; says so where no series had anything to draw.
  Figure figure(const std::string& label, std::vector<std::string> notes = {});
  Tile tile(const std::string& label) const;

 private:
  ChartLayout layout_;
  double head_;
  Plot plot_;
};

}  // namespace htfm::report
