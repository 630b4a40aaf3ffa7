#include "htfm/metric/product.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/zeros.h>

#include "htfm/base/one_thread.h"
#include "htfm/base/parallel.h"

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
      for (const Tile& t : tiles(tile.rows, tile.columns, part, side / 2)) out.push_back({i + t.i, t.rows, j + t.j, t.columns});
    }
  return out;
}

/// Calls task(tile) for each of them, LibTorch on one thread.
template <class Task>
void for_tiles(int64_t n, int64_t m, Part part, const Task& task) {
  const std::vector<Tile> all = tiles(n, m, part);
  parallel_for(static_cast<int64_t>(all.size()), [&](int64_t k) {
    const OneThread one;
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

at::Tensor congruence(const at::Tensor& l, const at::Tensor& s) {
  const int64_t d = l.size(0);
  at::Tensor right = at::zeros({d, d}, s.options()), out = at::zeros({d, d}, s.options());
  // Columns j and on of l begin at row j.
  for_tiles(d, d, Part::all, [&](const Tile& t) {
    cut(right, t).addmm_(cut(s, {t.i, t.rows, t.j, d - t.j}), cut(l, {t.j, d - t.j, t.j, t.columns}));
  });
  for_tiles(d, d, Part::lower, [&](const Tile& t) {
    cut(out, t).addmm_(cut(l, {t.i, d - t.i, t.i, t.rows}).t(), cut(right, {t.i, d - t.i, t.j, t.columns}));
  });
  return out;
}

}  // namespace htfm
