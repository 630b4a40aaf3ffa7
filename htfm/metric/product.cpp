#include "htfm/metric/product.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include "htfm/base/parallel.h"
#include "htfm/base/single_thread_guard.h"

namespace htfm {
namespace {

constexpr int64_t kTile = 512;

struct Tile {
  int64_t i, rows, j, columns;
};

/// The tiles of n x m in side x side pieces; of the lower triangle alone, those on the diagonal in smaller ones.
std::vector<Tile> tiles(int64_t n, int64_t m, Part part, int64_t side = kTile) {
  std::vector<Tile> out;
  for (int64_t i = 0; i < n; i += side)
    for (int64_t j = 0; j < m; j += side) {
      const Tile tile{i, std::min(side, n - i), j, std::min(side, m - j)};
      if (part == Part::lower && j > i) continue;
      if (part == Part::all || j < i || side < kTile) {
        out.push_back(tile);
        continue;
      }
      for (const Tile& t : tiles(tile.rows, tile.columns, part, side / 2))
        out.push_back({i + t.i, t.rows, j + t.j, t.columns});
    }
  return out;
}

/// Calls task(tile) for each of them, LibTorch on one thread.
template <class Task>
void for_tiles(int64_t n, int64_t m, Part part, const Task& task) {
  const std::vector<Tile> all = tiles(n, m, part);
  parallel_for(static_cast<int64_t>(all.size()), [&](int64_t k) {
    const SingleThreadGuard one;
    task(all[static_cast<size_t>(k)]);
  });
}

at::Tensor cut(const at::Tensor& x, const Tile& t) { return x.narrow(0, t.i, t.rows).narrow(1, t.j, t.columns); }

}  // namespace

void add_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b, Part part) {
  if (out.is_cuda()) {
    out.addmm_(a, b);
    return;
  }
  for_tiles(out.size(0), out.size(1), part,
            [&](const Tile& t) { cut(out, t).addmm_(a.narrow(0, t.i, t.rows), b.narrow(1, t.j, t.columns)); });
}

// Row block by row block, as LAPACK's dsygst: d^3 operations, where two plain products take four times as many. With
// the rows above already done, the rows K of s add N' L + L' N to them, where L = l[K, above] and N = s[K, above]
// l[above, above] + s[K, K] L / 2.
at::Tensor congruence(const at::Tensor& l, const at::Tensor& s) {
  constexpr int64_t kStep = 192;
  const int64_t d = l.size(0);
  at::Tensor out = at::zeros({d, d}, s.options());
  const auto product = [](const at::Tensor& a, const at::Tensor& b) {
    at::Tensor c = at::zeros({a.size(0), b.size(1)}, a.options());
    add_product(c, a, b);
    return c;
  };
  for (int64_t k = 0; k < d; k += kStep) {
    const int64_t rows = std::min(kStep, d - k);
    const at::Tensor corner = cut(l, {k, rows, k, rows}), own = cut(s, {k, rows, k, rows});
    if (k > 0) {
      const at::Tensor above = cut(l, {k, rows, 0, k}), half = product(own, above).mul_(0.5);
      at::Tensor left = half.clone();
      for_tiles(rows, k, Part::all, [&](const Tile& t) {  // column t.j of l begins at row t.j
        cut(left, t).addmm_(cut(s, {k + t.i, t.rows, t.j, k - t.j}), cut(l, {t.j, k - t.j, t.j, t.columns}));
      });
      add_product(cut(out, {0, k, 0, k}), at::cat({left, above}).t(), at::cat({above, left}), Part::lower);
      add_product(cut(out, {k, rows, 0, k}), corner.t(), left.add_(half));
    }
    add_product(cut(out, {k, rows, k, rows}), product(corner.t(), own), corner);
  }
  return out;
}

}  // namespace htfm
