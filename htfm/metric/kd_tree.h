// Points in blocks of eight, coordinate by coordinate, and a balanced k-d tree over the blocks.
//
// Why a tree of our own: the score asks whether a point lies in some ball, each ball with its own radius. Nodes that
// carry the largest radius below them answer that with an early exit, and eight neighbouring queries walk the tree
// together; library trees can only list every point in every ball.
#pragma once

#include <vector>

#include "htfm/metric/ball_kernels.h"
#include "htfm/stat/points.h"

namespace htfm {

class BlockedPoints {
 public:
  /// Blocks the points; with_tree also orders them along a k-d tree (dimensions up to kMaxTreeDim).
  BlockedPoints(const Points& points, bool with_tree);

  bool has_tree() const { return !nodes_.empty(); }
  BlockView view() const;
  /// For each node the largest of the given values (blocks x kBlock) below it.
  std::vector<double> largest_below(const std::vector<double>& values) const;

 private:
  struct Entry {
    double key;
    int64_t row;
  };
  void grow(const Points& points, std::vector<Entry>& order, int64_t begin, int64_t end);

  int64_t n_, blocks_, dim_;
  std::vector<double> x_;
  std::vector<KdNode> nodes_;
  std::vector<double> boxes_;
};

}  // namespace htfm
