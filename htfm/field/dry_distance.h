// How far a dry point lies from the nearest wet one: a hidden value that falls smoothly away from the rain. What lies
// outside a window is known by the wet points there that are the nearest to some point of it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// The wet points outside each field that are the nearest to some point of it.
struct WetOutside {
  at::Tensor site = {};  ///< m x 2 float32: row and column, counted from the field's first point
  at::Tensor end = {};   ///< n x c int64: where the sites of a field's channel end; they begin where those before end

  bool there() const { return end.defined(); }
};

/// The distances, in points, of every point of some fields (of n x c x h x w float32) from the nearest value of at
/// least `threshold`, not more than `reach`: count x c x h x w float32, 0 where it is wet.
at::Tensor dry_distance(const at::Tensor& fields, const std::vector<int64_t>& index, const WetOutside& outside,
                        double threshold, double reach);

/// The wet point nearest to each point of a grid (exact Euclidean distances in two passes, Felzenszwalb and
/// Huttenlocher 2012).
class HTFM_PUBLIC NearestWet {
 public:
  struct Site {
    int32_t row = -1, column = -1;  ///< -1: the grid is dry
    bool operator==(const Site&) const = default;
  };
  /// `wet`: height x width, not 0 where it is wet.
  NearestWet(const std::vector<uint8_t>& wet, int64_t height, int64_t width);
  /// Of the points of a row.
  void row(int64_t j, std::vector<Site>& out) const;

 private:
  int64_t height_, width_;
  std::vector<int32_t> nearest_row_;  // within each column; -1: none
};

}  // namespace htfm
