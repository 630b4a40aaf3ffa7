#include "htfm/metric/ball_kernels.h"

#include "htfm/metric/tile.h"

namespace htfm {
namespace {

constexpr int kStack = 64;  // deeper than a balanced tree over 2^31 blocks

/// Coordinates of kLanes query points; D = 0 stands for a dimension known at run time.
template <int D>
struct Query {
  Vec x[D > 0 ? D : kMaxTreeDim];
  int64_t dim;

  Query(const BlockView& set, int64_t vector) : dim(D > 0 ? D : set.dim) {
    const double* p = vector_at(set.x, size(), vector);
    for (int64_t d = 0; d < size(); ++d) x[d] = load(p + d * kBlock);
  }
  int64_t size() const { return D > 0 ? D : dim; }

  /// Both distances sum in the same order, so rounding keeps the one to the box below those to the points inside.
  Vec distance2(const double* point) const {
    Vec sum = {};
    for (int64_t d = 0; d < size(); ++d) {
      const Vec difference = x[d] - point[d * kBlock];
      sum += difference * difference;
    }
    return sum;
  }
  Vec distance2_to_box(const double* box) const {
    Vec sum = {};
    for (int64_t d = 0; d < size(); ++d) {
      const Vec outside = max(max(box[d] - x[d], x[d] - box[size() + d]), Vec{});
      sum += outside * outside;
    }
    return sum;
  }
};

/// Lanes of a vector that hold points of the set.
inline int lanes_in_use(int64_t n, int64_t vector) {
  const int64_t left = n - vector * kLanes;
  return left >= kLanes ? kAllLanes : left > 0 ? (1 << left) - 1 : 0;
}

/// The `rank` smallest distances of each lane, in order: in registers for a rank R known here, else (R = 0) in memory.
template <int R>
class Smallest {
 public:
  Smallest(double* memory, int64_t rank) : memory_(memory), rank_(rank) {}

  /// Lanes not in use start at -1, which nothing can beat.
  void clear(int in_use) {
    Vec start;
    for (int i = 0; i < kLanes; ++i) start[i] = (in_use >> i & 1) ? __builtin_inf() : -1.0;
    for (int64_t i = 0; i < rank(); ++i) set(i, start);
  }
  Vec last() const { return get(rank() - 1); }
  void offer(Vec d) {
    if (!lanes_less(d, last())) return;
#pragma GCC unroll 16
    for (int64_t i = rank() - 1; i > 0; --i) set(i, min(get(i), max(get(i - 1), d)));
    set(0, min(get(0), d));
  }

 private:
  int64_t rank() const { return R > 0 ? R : rank_; }
  Vec get(int64_t i) const {
    if constexpr (R > 0)
      return local_[i];
    else
      return load(memory_ + i * kLanes);
  }
  void set(int64_t i, Vec v) {
    if constexpr (R > 0)
      local_[i] = v;
    else
      store(memory_ + i * kLanes, v);
  }

  Vec local_[R > 0 ? R : 1];
  double* memory_;
  int64_t rank_;
};

/// Walks the tree, the near side first. enter(node) says whether a node is worth a visit; leaf(block) returns true to
/// stop.
template <int D, class Enter, class Leaf>
inline void walk(const BlockView& set, const Query<D>& query, Enter enter, Leaf leaf) {
  int32_t stack[kStack];
  int top = 0;
  stack[top++] = 0;
  while (top > 0) {
    int32_t at = stack[--top];
    if (!enter(at)) continue;
    const KdNode& node = set.nodes[at];
    if (node.axis < 0) {
      for (int64_t block = node.begin; block < node.end; ++block)
        if (leaf(block)) return;
      continue;
    }
    const bool left_is_near = query.x[node.axis][0] < node.split;
    stack[top++] = left_is_near ? node.right : at + 1;
    stack[top++] = left_is_near ? at + 1 : node.right;
  }
}

template <int D, int R>
void nearest_tree(const BlockView& set, int64_t begin, int64_t end, int64_t rank, double* scratch, double* distance2) {
  for (int64_t vector = begin * kGroups; vector < end * kGroups; ++vector) {
    const Query<D> query(set, vector);
    Smallest<R> smallest(scratch, rank);
    smallest.clear(lanes_in_use(set.n, vector));
    walk(
        set, query,
        [&](int32_t node) {
          return lanes_less(query.distance2_to_box(set.boxes + 2 * query.size() * node), smallest.last()) != 0;
        },
        [&](int64_t block) {
          const double* points = set.x + block * query.size() * kBlock;
          for (int j = 0; j < kBlock; ++j) smallest.offer(query.distance2(points + j));
          return false;
        });
    store(distance2 + vector * kLanes, smallest.last());
  }
}

template <int D>
int64_t covered_tree(const BlockView& set, const BallView& balls, const BlockView& queries, int64_t begin,
                     int64_t end) {
  int64_t count = 0;
  for (int64_t vector = begin * kGroups; vector < end * kGroups; ++vector) {
    const Query<D> query(queries, vector);
    const int in_use = lanes_in_use(queries.n, vector);
    int open = in_use;  // lanes not yet found in a ball
    if (!open) continue;
    walk(
        set, query,
        [&](int32_t node) {
          return (lanes_less_equal(query.distance2_to_box(set.boxes + 2 * query.size() * node),
                                   splat(balls.reach2[node])) &
                  open) != 0;
        },
        [&](int64_t block) {
          const double* points = set.x + block * query.size() * kBlock;
          const double* radius2 = balls.radius2 + block * kBlock;
          for (int j = 0; j < kBlock; ++j) open &= ~lanes_less_equal(query.distance2(points + j), splat(radius2[j]));
          return open == 0;
        });
    count += __builtin_popcount(static_cast<unsigned>(in_use & ~open));
  }
  return count;
}

void nearest(const BlockView& set, int64_t begin, int64_t end, int64_t rank, double* scratch, double* distance2) {
  constexpr int kDefaultRank = 11;  // k = 10 and the point itself
  if (set.dim == 2 && rank == kDefaultRank)
    return nearest_tree<2, kDefaultRank>(set, begin, end, rank, scratch, distance2);
  switch (set.dim) {
    case 1: return nearest_tree<1, 0>(set, begin, end, rank, scratch, distance2);
    case 2: return nearest_tree<2, 0>(set, begin, end, rank, scratch, distance2);
    case 3: return nearest_tree<3, 0>(set, begin, end, rank, scratch, distance2);
    default: return nearest_tree<0, 0>(set, begin, end, rank, scratch, distance2);
  }
}

int64_t covered(const BlockView& set, const BallView& balls, const BlockView& query, int64_t begin, int64_t end) {
  switch (set.dim) {
    case 1: return covered_tree<1>(set, balls, query, begin, end);
    case 2: return covered_tree<2>(set, balls, query, begin, end);
    case 3: return covered_tree<3>(set, balls, query, begin, end);
    default: return covered_tree<0>(set, balls, query, begin, end);
  }
}

// Brute force works on tiles of kTileVectors query vectors against kTilePoints candidates: as many sums as registers
// hold.
constexpr int kTileVectors = kLanes == 8 ? 4 : 2;  // registers: 32 of them with AVX-512, else 16
constexpr int kTilePoints = 4;

void nearest_brute(const BlockView& set, int64_t begin, int64_t end, int64_t rank, double* scratch, double* distance2) {
  for (int64_t first = begin * kGroups; first < end * kGroups; first += kTileVectors) {
    const int vectors = end * kGroups - first < kTileVectors ? static_cast<int>(end * kGroups - first) : kTileVectors;
    for (int v = 0; v < vectors; ++v)
      Smallest<0>(scratch + v * rank * kLanes, rank).clear(lanes_in_use(set.n, first + v));
    for (int64_t block = 0; block < set.blocks; ++block) {
      for (int j = 0; j < kBlock; j += kTilePoints) {
        Vec sum[kTileVectors][kTilePoints];
        tile<0>(set.x, set.dim, first, vectors, set.x + block * set.dim * kBlock + j, sum);
        for (int v = 0; v < vectors; ++v) {
          Smallest<0> smallest(scratch + v * rank * kLanes, rank);
          for (int i = 0; i < kTilePoints; ++i) smallest.offer(sum[v][i]);
        }
      }
    }
    for (int v = 0; v < vectors; ++v)
      store(distance2 + (first + v) * kLanes, Smallest<0>(scratch + v * rank * kLanes, rank).last());
  }
}

int64_t covered_brute(const BlockView& set, const BallView& balls, const BlockView& query, int64_t begin, int64_t end) {
  int64_t count = 0;
  for (int64_t first = begin * kGroups; first < end * kGroups; first += kTileVectors) {
    const int vectors = end * kGroups - first < kTileVectors ? static_cast<int>(end * kGroups - first) : kTileVectors;
    int open[kTileVectors] = {};
    int any_open = 0;
    for (int v = 0; v < vectors; ++v) {
      open[v] = lanes_in_use(query.n, first + v);
      count += __builtin_popcount(static_cast<unsigned>(open[v]));
      any_open |= open[v];
    }
    for (int64_t block = 0; block < set.blocks && any_open; ++block) {
      any_open = 0;
      for (int j = 0; j < kBlock; j += kTilePoints) {
        Vec sum[kTileVectors][kTilePoints];
        tile<0>(query.x, query.dim, first, vectors, set.x + block * set.dim * kBlock + j, sum);
        for (int v = 0; v < vectors; ++v)
          for (int i = 0; i < kTilePoints; ++i)
            open[v] &= ~lanes_less_equal(sum[v][i], splat(balls.radius2[block * kBlock + j + i]));
      }
      for (int v = 0; v < vectors; ++v) any_open |= open[v];
    }
    for (int v = 0; v < vectors; ++v) count -= __builtin_popcount(static_cast<unsigned>(open[v]));
  }
  return count;
}

}  // namespace

HTFM_DEFINE_KERNELS(BallKernels, &nearest, &nearest_brute, &covered, &covered_brute)

}  // namespace htfm
