#include "htfm/coupling/assignment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <span>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/coupling/assignment_kernels.h"

namespace htfm {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

size_t at(int64_t i) { return static_cast<size_t>(i); }

// What is known of the order of rows and columns.
enum class Order { any, nearby };  // nearby: 2k and 2k + 1 are alike

// The shortest augmenting path method (Jonker and Volgenant). Its paths are short where it starts from good prices, so
// a problem of half the size is solved first: its columns' prices say what rows can get, and each column takes the
// highest price that none of them objects to. Where neighbours stand together the small problem is that of their means,
// and every row is asked; otherwise it is that of every second row and column, and these rows are. Paths are also short
// where rows that follow one another are far apart, since neighbours ask for the same columns. An auction saves as much
// where tails are light and nothing where they are heavy, and short lists of candidates cost more in branches than they
// save in arithmetic.
class Solver {
 public:
  Solver(int64_t n, const double* cost, Order order)
      : n_(n),
        cost_(cost),
        order_(order),
        price_(at(n), kInfinity),
        column_(at(n), -1),
        owner_(at(n), -1),
        distance_(at(n)),
        from_(at(n)) {}

  void solve() {
    constexpr int64_t kSmall = 32;
    if (n_ <= kSmall) {
      for (int64_t i = 0; i < n_; ++i) kernels_.lower(n_, row(i), 0, price_.data());
    } else {
      price_by_half();
    }
    for (const int64_t i : take_best_columns()) augment(i);
  }

  Assignment result() && {
    Assignment out{std::move(column_), std::vector<double>(at(n_)), std::move(price_)};
    for (int64_t i = 0; i < n_; ++i) {
      const int64_t j = out.column[at(i)];
      out.row_price[at(i)] = row(i)[j] - out.column_price[at(j)];
    }
    return out;
  }

 private:
  const double* row(int64_t i) const { return cost_ + i * n_; }

  // The costs of a row for the columns of the problem of half the size: every second, or means of two.
  void halve_columns(const double* from, double* to) const {
    const int64_t pairs = order_ == Order::any ? 0 : n_ / 2;
    for (int64_t j = 0; j < pairs; ++j) to[j] = 0.5 * (from[2 * j] + from[2 * j + 1]);
    for (int64_t j = pairs; 2 * j < n_; ++j) to[j] = from[2 * j];
  }

  void price_by_half() {
    const int64_t half = (n_ + 1) / 2;
    const auto part = std::make_unique_for_overwrite<double[]>(at(half * half));
    std::vector<double> mean(at(n_)), few(at(half));
    for (int64_t i = 0; i < half; ++i) {
      const double *from = row(2 * i), *second = row(2 * i + 1);
      if (order_ == Order::nearby && 2 * i + 1 < n_) {
        for (int64_t j = 0; j < n_; ++j) mean[at(j)] = 0.5 * (from[j] + second[j]);
        from = mean.data();
      }
      halve_columns(from, part.get() + i * half);
    }
    Solver solver(half, part.get(), order_);
    solver.solve();
    const Assignment solved = std::move(solver).result();
    if (order_ == Order::any) {
      for (int64_t i = 0; i < half; ++i) kernels_.lower(n_, row(2 * i), solved.row_price[at(i)], price_.data());
      return;
    }
    for (int64_t i = 0; i < n_; ++i) {
      halve_columns(row(i), few.data());
      kernels_.lower(n_, row(i), kernels_.best_two(half, few.data(), solved.column_price.data()).best, price_.data());
    }
  }

  // Each row takes its best column and lowers its price until the next best is as good; a row that had the column looks
  // again, while the number of such turns is bounded. Returns the rows that are left.
  std::vector<int64_t> take_best_columns() {
    const int64_t stride = order_ == Order::any ? 1 : 32;
    std::vector<int64_t> open, left;
    open.reserve(at(n_));
    for (int64_t first = 0; first < stride; ++first)
      for (int64_t i = first; i < n_; i += stride) open.push_back(n_ - 1 - i);
    for (int64_t turns = n_; !open.empty();) {
      const int64_t i = open.back();
      open.pop_back();
      const BestTwo best = kernels_.best_two(n_, row(i), price_.data());
      const double fall = n_ > 1 ? best.second - best.best : 0;
      const int64_t before = owner_[at(best.at)];
      if (before >= 0 && (!(fall > 0) || --turns < 0)) {
        left.push_back(i);
        continue;
      }
      price_[at(best.at)] -= fall;
      owner_[at(best.at)] = i;
      column_[at(i)] = best.at;
      if (before < 0) continue;
      column_[at(before)] = -1;
      open.push_back(before);
    }
    return left;
  }

  // Dijkstra over reduced costs from a free row to a free column; lowers prices so that the pairs along the path are
  // tight.
  void augment(int64_t start) {
    open_price_ = price_;
    std::fill(distance_.begin(), distance_.end(), kInfinity);
    done_.clear();
    int64_t i = start;
    double offset = 0;
    Nearest nearest;
    for (;;) {
      nearest = kernels_.relax(n_, row(i), open_price_.data(), offset, static_cast<double>(i), distance_.data(),
                               from_.data());
      const int64_t j = nearest.at;
      if (owner_[at(j)] < 0) break;
      done_.push_back({nearest.distance, j});
      distance_[at(j)] = kInfinity;
      open_price_[at(j)] = -kInfinity;  // so that it is never reached again
      i = owner_[at(j)];
      offset = nearest.distance - (row(i)[j] - price_[at(j)]);
    }
    for (const Nearest& column : done_) price_[at(column.at)] += column.distance - nearest.distance;
    for (int64_t j = nearest.at;;) {
      const auto before = static_cast<int64_t>(from_[at(j)]);
      owner_[at(j)] = before;
      std::swap(j, column_[at(before)]);
      if (before == start) break;
    }
  }

  const AssignmentKernels& kernels_ = kernels<AssignmentKernels>();
  int64_t n_;
  const double* cost_;
  Order order_;
  std::vector<double> price_;            // of the columns
  std::vector<int64_t> column_, owner_;  // of a row, of a column; -1 for none
  std::vector<double> open_price_, distance_, from_;
  std::vector<Nearest> done_;  // columns in the order in which a search reached them
};

Assignment solve(int64_t n, const double* cost, Order order) {
  Solver solver(n, cost, order);
  solver.solve();
  return std::move(solver).result();
}

// Puts points that are near each other side by side: halves of an even number of points, cut across the widest side of
// the box around them.
void order_nearby(const double* x, int64_t dim, std::span<int64_t> order) {
  const auto n = static_cast<int64_t>(order.size());
  if (n <= 2) return;
  int64_t widest = 0;
  double width = -1;
  for (int64_t d = 0; d < dim; ++d) {
    const auto [low, high] = std::minmax_element(order.begin(), order.end(),
                                                 [&](int64_t a, int64_t b) { return x[a * dim + d] < x[b * dim + d]; });
    if (x[*high * dim + d] - x[*low * dim + d] > width) width = x[*high * dim + d] - x[*low * dim + d], widest = d;
  }
  const int64_t cut = (n / 2 + 1) / 2 * 2;
  std::nth_element(order.begin(), order.begin() + cut, order.end(),
                   [&](int64_t a, int64_t b) { return x[a * dim + widest] < x[b * dim + widest]; });
  order_nearby(x, dim, order.first(at(cut)));
  order_nearby(x, dim, order.subspan(at(cut)));
}

std::vector<int64_t> nearby(int64_t n, const double* x, int64_t dim) {
  std::vector<int64_t> order(at(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  order_nearby(x, dim, order);
  return order;
}

}  // namespace

Assignment assign_costs(int64_t n, const double* cost) {
  if (n < 0) throw InputError("[assign] expected a size of at least 0, got {}", n);
  for (int64_t i = 0; i < n * n; ++i)
    if (!std::isfinite(cost[i])) throw InputError("[assign] expected finite costs, got {} in row {}", cost[i], i / n);
  return solve(n, cost, Order::any);
}

Assignment assign_points(int64_t n, const double* x0, const double* x1, int64_t dim, double p) {
  if (!(p >= 1 && p <= kLargestPower))
    throw InputError("[assign] expected a power p in [1, {}], got {}", kLargestPower, p);
  if (n < 0 || dim < 1) throw InputError("[assign] expected points of at least one dimension, got {} x {}", n, dim);
  const double largest = std::pow(10.0, 300 / std::max(2.0, p));  // squares and costs are finite
  for (int64_t k = 0; k < n * dim; ++k)
    for (const double x : {x0[k], x1[k]})
      if (!(std::abs(x) < largest))
        throw InputError("[assign] expected finite points below {:.3g}, got {} in row {}", largest, x, k / dim);
  const std::vector<int64_t> rows = nearby(n, x1, dim), sources = nearby(n, x0, dim);
  std::vector<double> columns(at(n * dim));
  for (int64_t j = 0; j < n; ++j)
    for (int64_t d = 0; d < dim; ++d) columns[at(d * n + j)] = x0[sources[at(j)] * dim + d];
  const auto cost = std::make_unique_for_overwrite<double[]>(at(n * n));
  parallel_ranges(n, 32, [&](int64_t a, int64_t b) {
    for (int64_t i = a; i < b; ++i)
      kernels<AssignmentKernels>().cost_row(n, dim, x1 + rows[at(i)] * dim, columns.data(), p, cost.get() + i * n);
  });
  const Assignment solved = solve(n, cost.get(), Order::nearby);
  Assignment out{std::vector<int64_t>(at(n)), std::vector<double>(at(n)), std::vector<double>(at(n))};
  for (int64_t k = 0; k < n; ++k) {
    out.column[at(rows[at(k)])] = sources[at(solved.column[at(k)])];
    out.row_price[at(rows[at(k)])] = solved.row_price[at(k)];
    out.column_price[at(sources[at(k)])] = solved.column_price[at(k)];
  }
  return out;
}

std::vector<int64_t> assign(int64_t n, const double* x0, const double* x1, int64_t dim, double p) {
  return assign_points(n, x0, x1, dim, p).column;
}

}  // namespace htfm
