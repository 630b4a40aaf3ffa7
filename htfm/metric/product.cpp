#include "htfm/metric/product.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/zeros.h>

#include "htfm/base/one_thread.h"
#include "htfm/base/parallel.h"

namespace htfm {
namespace {

constexpr int64_t kRows = 256, kColumns = 256;  // of a tile

/// Calls task(first row, rows, first column, columns) for each tile of n x m.
template <class Task>
void for_tiles(int64_t n, int64_t m, Part part, const Task& task) {
  const int64_t down = (n + kRows - 1) / kRows, across = (m + kColumns - 1) / kColumns;
  parallel_for(down * across, [&](int64_t k) {
    const int64_t i = k / across * kRows, j = k % across * kColumns;
    const int64_t rows = std::min(kRows, n - i), columns = std::min(kColumns, m - j);
    if (part == Part::lower && j > i + rows - 1) return;
    const OneThread one;
    task(i, rows, j, columns);
  });
}

}  // namespace

void add_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b, Part part) {
  if (out.is_cuda()) {
    out.addmm_(a, b);
    return;
  }
  for_tiles(out.size(0), out.size(1), part, [&](int64_t i, int64_t rows, int64_t j, int64_t columns) {
    out.narrow(0, i, rows).narrow(1, j, columns).addmm_(a.narrow(0, i, rows), b.narrow(1, j, columns));
  });
}

at::Tensor congruence(const at::Tensor& l, const at::Tensor& s) {
  const int64_t d = l.size(0);
  at::Tensor right = at::zeros({d, d}, s.options()), out = at::zeros({d, d}, s.options());
  // Column tile j of l begins at row j.
  for_tiles(d, d, Part::all, [&](int64_t i, int64_t rows, int64_t j, int64_t columns) {
    const at::Tensor own = l.narrow(0, j, d - j).narrow(1, j, columns);
    right.narrow(0, i, rows).narrow(1, j, columns).addmm_(s.narrow(0, i, rows).narrow(1, j, d - j), own);
  });
  for_tiles(d, d, Part::lower, [&](int64_t i, int64_t rows, int64_t j, int64_t columns) {
    const at::Tensor own = l.narrow(0, i, d - i).narrow(1, i, rows).t();
    out.narrow(0, i, rows).narrow(1, j, columns).addmm_(own, right.narrow(0, i, d - i).narrow(1, j, columns));
  });
  return out;
}

}  // namespace htfm
