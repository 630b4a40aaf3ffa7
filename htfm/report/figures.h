// The figures of the reports. Each function takes plain data and returns a Figure (svg.h): .svg() is a file of its own,
// a Page takes it whole.
//
// Series get their colours by position (Color::automatic), data and references are neutral; give the same order to
// every figure of a page and a model keeps its colour. No data, constant data and values that are not finite are drawn
// as far as possible and counted in the notes.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "htfm/report/svg.h"

namespace htfm::report {

/// Two-dimensional points of one panel: n x d with d >= 2, float32 or float64.
struct PointPanel {
  std::string title = {};
  at::Tensor points = {};
  std::string note = {};  // at the right of the title, such as a score
  Color color = Color::automatic;
};

struct ScatterOptions {
  std::string label = "Scatter plot";
  /// Window of both axes. Without one: the 0.5 % and 99.5 % quantiles of the first panel's points, enlarged, with equal
  /// aspect unless one range is more than 5 times the other.
  std::optional<std::array<Range, 2>> window = {};
  std::array<int64_t, 2> coordinates{0, 1};
  std::string x_label = {}, y_label = {};
  int64_t max_points = 4000;  // drawn of each panel
  double size = 250;          // width of a panel
  int columns = 0;            // 0: all panels in one row, up to 5
};

/// A row of scatter plots in one window: data | model | model ... The first panel is neutral.
Figure scatter_panels(const std::vector<PointPanel>& panels, const ScatterOptions& options = {});

struct GridOptions {
  std::string label = "Grid of scatter plots";
  int64_t max_points = 2000;
  double size = 176;  // width of a panel
  /// A window for each column; without them from the first row, as in scatter_panels.
  std::vector<std::array<Range, 2>> windows = {};
  /// What the two axes of each column are: then each axis has a scale of its own, which is told below.
  std::vector<std::array<std::string, 2>> axes = {};
};

/// Rows x columns of scatter plots without ticks; panels[r][c] may be undefined where there is nothing. The first row
/// is neutral.
Figure scatter_grid(const std::vector<std::string>& rows, const std::vector<std::string>& columns,
                    const std::vector<std::vector<at::Tensor>>& panels, const GridOptions& options = {});

/// One curve. low and high, where given, are an interval at each point.
struct Series {
  std::string name = {};
  std::vector<double> x = {}, y = {};
  std::vector<double> low = {}, high = {};
  Color color = Color::automatic;
  bool dashed = false;
};

struct ChartOptions {
  std::string label = {};  // what the chart shows, in words; the title where empty
  std::string title = {};
  AxisOptions x = {}, y = {};
  bool markers = true;  // at the points, where a series has at most 40
  double width = 520, height = 330;
};

/// Curves on linear or log axes, such as a score against the number of evaluations.
Figure line_chart(const std::vector<Series>& series, const ChartOptions& options = {});

struct LossOptions {
  std::string label = "Training loss against step";
  std::string title = {};
  AxisOptions x{.label = "step"}, y{.label = "loss", .scale = Scale::log};
  double smoothing = 0.02;  // width of the centred mean as a share of the records; 0: none
  double width = 520, height = 330;
};

/// Loss curves: every record as a thin line, and its centred mean as a strong one.
Figure loss_curve(const std::vector<Series>& series, const LossOptions& options = {});

/// Drawn clocks of one family: n x (N+1) values on the uniform grid of [0,1].
struct ClockFamily {
  std::string name = {};
  at::Tensor paths = {};
  std::string note = {};
  Color color = Color::automatic;
  bool jumps = true;  // constant between grid points; otherwise linear
};

struct ClockOptions {
  std::string label = "Drawn clock paths";
  Scale scale = Scale::log;
  bool shared_axis = true;
  int64_t max_paths = 24;  // drawn of each family
  double width = 342, height = 270;
};

/// Clock paths T_t, one small plot for each family.
Figure clock_paths(const std::vector<ClockFamily>& families, const ClockOptions& options = {});

/// Distances of the rows from the origin (or from a centre).
std::vector<double> radii(const at::Tensor& points, std::span<const double> center = {});

/// A sample of one number: radii, or values.
struct Sample {
  std::string name = {};
  std::vector<double> values = {};
  Color color = Color::automatic;
};

struct TailOptions {
  std::string label = "Survival function of the radius on log-log axes";
  std::string title = {};
  AxisOptions x{.label = "r", .scale = Scale::log}, y{.label = "P(R ≥ r)", .scale = Scale::log};
  std::vector<double> slopes = {};  // reference lines r^-p through the data's curve
  double anchor = 0.003;            // probability near which they start; at least 20 points lie beyond
  double width = 520, height = 360;
};

/// Empirical P(R >= r) of data and models: a power law of index p is a straight line of slope -p.
Figure radial_tail(const Sample& data, const std::vector<Sample>& models, const TailOptions& options = {});

struct QuantileOptions {
  std::string label = "Quantiles of samples against quantiles of data";
  std::string title = {};
  AxisOptions x{.label = "quantile of the data"}, y{.label = "quantile of the samples"};
  double width = 400, height = 400;
};

/// Quantiles of each sample against those of the data at the same probabilities, with the diagonal.
Figure quantile_plot(const Sample& data, const std::vector<Sample>& samples, const QuantileOptions& options = {});

/// Values of one method for every category; nan where there is none.
struct DotSeries {
  std::string name = {};
  std::vector<double> values = {};
  std::vector<double> low = {}, high = {};
  Color color = Color::automatic;
  bool hollow = false;  // for values of another source, such as the paper's
};

struct DotOptions {
  std::string label = {};
  std::string title = {};
  AxisOptions x = {};
  double width = 520, row_height = 26;
};

/// A dot for each category and series on a common axis.
Figure dot_chart(const std::vector<std::string>& categories, const std::vector<DotSeries>& series,
                 const DotOptions& options = {});

}  // namespace htfm::report
