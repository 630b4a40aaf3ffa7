#include "htfm/metric/kd_tree.h"

#include "htfm/base/error.h"

namespace htfm {

BlockedPoints::BlockedPoints(const Points& points, bool with_tree)
    : n_(points.n), blocks_(block_count(points.n)), dim_(points.dim) {
  if (with_tree && dim_ > kMaxTreeDim)
    throw Error("[k-d tree] expected at most {} dimensions, got {}", kMaxTreeDim, dim_);
  x_.resize(blocked_size(n_, dim_));
  if (!with_tree) {
    fill_blocks(points.x.data(), dim_, nullptr, n_, x_.data());
    return;
  }
  std::vector<Entry> order(static_cast<size_t>(n_));
  for (int64_t i = 0; i < n_; ++i) order[static_cast<size_t>(i)] = {0.0, i};
  nodes_.reserve(static_cast<size_t>(2 * blocks_));
  boxes_.reserve(static_cast<size_t>(4 * blocks_ * dim_));
  grow(points, order, 0, blocks_);
  std::vector<int64_t> rows(order.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = order[i].row;
  fill_blocks(points.x.data(), dim_, rows.data(), n_, x_.data());
}

void BlockedPoints::grow(const Points& points, std::vector<Entry>& order, int64_t begin, int64_t end) {
  const auto first = order.begin() + begin * kBlock, last = order.begin() + std::min(end * kBlock, n_);
  const size_t at = nodes_.size();
  nodes_.push_back({0.0, -1, -1, static_cast<int32_t>(begin), static_cast<int32_t>(end)});

  const double* row = points.row(first->row);
  boxes_.insert(boxes_.end(), row, row + dim_);
  boxes_.insert(boxes_.end(), row, row + dim_);
  double* low = boxes_.data() + boxes_.size() - 2 * dim_;
  double* high = low + dim_;
  for (auto it = first; it != last; ++it) {
    row = points.row(it->row);
    for (int64_t d = 0; d < dim_; ++d) {
      low[d] = std::min(low[d], row[d]);
      high[d] = std::max(high[d], row[d]);
    }
  }
  if (end - begin == 1) return;

  int64_t axis = 0;
  for (int64_t d = 1; d < dim_; ++d)
    if (high[d] - low[d] > high[axis] - low[axis]) axis = d;
  const int64_t middle =
      begin + (end - begin + 1) / 2;  // whole blocks on the left, so that only the last one is part-filled
  const auto cut = order.begin() + middle * kBlock;
  for (auto it = first; it != last; ++it) it->key = points.row(it->row)[axis];
  std::nth_element(first, cut, last, [](const Entry& a, const Entry& b) { return a.key < b.key; });
  nodes_[at].split = cut->key;
  nodes_[at].axis = static_cast<int32_t>(axis);
  grow(points, order, begin, middle);
  nodes_[at].right = static_cast<int32_t>(nodes_.size());
  grow(points, order, middle, end);
}

BlockView BlockedPoints::view() const {
  return {n_, blocks_, dim_, x_.data(), has_tree() ? nodes_.data() : nullptr, has_tree() ? boxes_.data() : nullptr};
}

std::vector<double> BlockedPoints::largest_below(const std::vector<double>& values) const {
  std::vector<double> largest(nodes_.size());
  for (size_t i = nodes_.size(); i-- > 0;) {  // children stand behind their parents
    const KdNode& node = nodes_[i];
    if (node.axis < 0)
      largest[i] =
          *std::max_element(values.begin() + int64_t{node.begin} * kBlock, values.begin() + int64_t{node.end} * kBlock);
    else
      largest[i] = std::max(largest[i + 1], largest[static_cast<size_t>(node.right)]);
  }
  return largest;
}

}  // namespace htfm
