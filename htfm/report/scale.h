// Scales of an axis: ranges that always can be drawn, and ticks at round numbers.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {
namespace report {

enum class Scale { linear, log };

struct Range {
  double lo, hi;
};

/// Whether a value has a place on the scale: finite, and positive on a log scale.
bool drawable(double value, Scale scale);

/// The smallest and largest drawable value seen.
struct Extent {
  double lo = std::numeric_limits<double>::infinity();
  double hi = -std::numeric_limits<double>::infinity();
  void add(double value, Scale scale);
  void add(std::span<const double> values, Scale scale);
};

/// A range to draw: finite, lo < hi, positive on a log scale, enlarged on both sides by the share `padding` of its
/// length.
Range drawn_range(Extent extent, Scale scale, double padding = 0.04);

/// Quantile of the finite values (linear between order statistics); nan where there are none. Reorders the values.
double quantile(std::vector<double>& values, double probability);

struct Tick {
  double value;
  std::string label;  // empty for a minor tick
};

/// Ticks inside the range, ascending, about `target` of them with a label: multiples of 1, 2 or 5 times a power of ten
/// on a linear scale, powers of ten on a log scale (multiples of 1, 2, 5 where there are too few).
std::vector<Tick> nice_ticks(Scale scale, Range range, int target);

/// What a figure is told about an axis. Without a range it is taken from the data.
struct AxisOptions {
  std::string label = {};
  Scale scale = Scale::linear;
  std::optional<Range> range = {};
};

/// An axis ready to draw.
struct Axis {
  std::string label;
  Scale scale;
  Range range;
  std::vector<Tick> ticks;

  /// Place of a drawable value along the axis, 0 at lo and 1 at hi.
  double place(double value) const;
};

/// The axis for data of this extent; `length` in pixels sets the number of ticks, and along x (horizontal) labels do
/// not collide.
Axis make_axis(const AxisOptions& options, Extent extent, double length, bool horizontal, double padding = 0.04);

}  // namespace report
}  // namespace htfm
