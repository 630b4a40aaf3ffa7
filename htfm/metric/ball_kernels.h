// Inner loops of the k-NN score: the radius of each point's ball, and which points lie in some ball.
// A vector holds as many query points as it has lanes; candidates are broadcast, so that one code serves every
// dimension.
#pragma once

#include <cstdint>

#include "htfm/base/dispatch.h"
#include "htfm/metric/blocks.h"

namespace htfm {

/// Above this dimension a tree saves nothing: measured on 12,000 normal points, brute force is level with it at 8.
inline constexpr int kMaxTreeDim = 8;

/// A node of the k-d tree over blocks [begin, end). Preorder: the left child follows its parent.
struct KdNode {
  double split;  // points of the right child have at least this coordinate
  int32_t axis;  // -1: a leaf
  int32_t right;
  int32_t begin, end;
};

/// A blocked set. Lanes behind the last point hold infinity; without a tree, nodes is null.
struct BlockView {
  int64_t n;
  int64_t blocks;
  int64_t dim;
  const double* x;      // blocks x dim x kBlock
  const KdNode* nodes;  // preorder
  const double* boxes;  // nodes x (low corner, high corner)
};

/// Squared radii of the balls, for each point and the largest below each node.
struct BallView {
  const double* radius2;  // blocks x kBlock; negative behind the last point
  const double* reach2;   // one for each node; null without a tree
};

struct BallKernels {
  /// For the points of blocks [begin, end): the rank-th smallest squared distance to a point of the set, the point
  /// itself counted. scratch: 4 * rank * kBlock doubles.
  void (*nearest)(const BlockView& set, int64_t begin, int64_t end, int64_t rank, double* scratch, double* distance2);
  /// The same, every pair looked at.
  void (*nearest_brute)(const BlockView& set, int64_t begin, int64_t end, int64_t rank, double* scratch,
                        double* distance2);
  /// How many points of the query blocks [begin, end) lie in some ball.
  int64_t (*covered)(const BlockView& set, const BallView& balls, const BlockView& query, int64_t begin, int64_t end);
  int64_t (*covered_brute)(const BlockView& set, const BallView& balls, const BlockView& query, int64_t begin,
                           int64_t end);
};
HTFM_DECLARE_KERNELS(BallKernels)

}  // namespace htfm
