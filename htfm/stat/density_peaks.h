// Where the rows of a table crowd: the starting points of a search for clusters.
#pragma once

#include <cstdint>
#include <vector>

#include "htfm/stat/points.h"

namespace htfm {

/// A row of which none that lies more densely is near.
struct DensityPeak {
  int64_t row = 0;
  double spacing = 0;   ///< the distance of its k-th neighbour, k = n / 60
  double distance = 0;  ///< to the nearest row with a smaller spacing, infinite for the densest
  /// Far over 1 in the middle of a cluster, about 1 elsewhere.
  double height() const { return distance / spacing; }
};

/// The rows in the order of their heights, the highest first, at most `most` of them (Rodriguez and Laio's rule, with
/// the spacing of neighbours for a density, which heavy tails do not disturb). Time and memory grow with the square of
/// n.
std::vector<DensityPeak> density_peaks(const PointsView& points, int64_t most);

}  // namespace htfm
