#include "htfm/coupling/sinkhorn.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/coupling/assignment.h"
#include "htfm/coupling/assignment_kernels.h"
#include "htfm/coupling/sinkhorn_kernels.h"

namespace htfm {
namespace {

constexpr int64_t kBlock = 512;  // columns at a time: their costs stay in the first-level cache
constexpr int64_t kRows = 32;    // a task
constexpr int64_t kDirect = 4;   // up to this dimension a cost is computed when needed, above it is stored

size_t as_size(int64_t i) { return static_cast<size_t>(i); }

// Weights exp((f_i + g_j - c_ij) / epsilon) between some rows (data) and some columns (sources); those of a row shall
// sum to the number of columns, those of a column to the number of rows. An update corrects a potential by the
// logarithm of the sum that it gave, so exponents stay near or below 0 and float32 suffices: an error of the cost far
// out only moves a far point by a part in 1e7.
class Plan {
 public:
  Plan(const std::vector<float>& data, std::vector<int64_t> rows, const std::vector<float>& source,
       std::vector<int64_t> columns, int64_t dim, double p)
      : rows_(std::move(rows)),
        columns_(std::move(columns)),
        dim_(dim),
        p_(p),
        x_(as_size(row_count() * dim)),
        y_(as_size(column_count() * dim)) {
    for (int64_t i = 0; i < row_count(); ++i)
      for (int64_t d = 0; d < dim; ++d) x_[as_size(i * dim + d)] = data[as_size(rows_[as_size(i)] * dim + d)];
    for (int64_t j = 0; j < column_count(); ++j)
      for (int64_t d = 0; d < dim; ++d)
        y_[as_size(d * column_count() + j)] = source[as_size(columns_[as_size(j)] * dim + d)];
    if (dim <= kDirect) return;
    stored_.resize(as_size(row_count() * column_count()));
    parallel_ranges(row_count(), kRows, [&](int64_t a, int64_t b) {
      for (int64_t i = a; i < b; ++i) compute_cost(i, 0, column_count(), stored_.data() + i * column_count());
    });
  }

  int64_t row_count() const { return static_cast<int64_t>(rows_.size()); }
  int64_t column_count() const { return static_cast<int64_t>(columns_.size()); }
  const std::vector<int64_t>& rows() const { return rows_; }
  const std::vector<int64_t>& columns() const { return columns_; }
  std::vector<float> f, g;
  double epsilon = 1;

  /// The first f for a given g: the largest that gives no weight above 1; then the one with the right sums.
  void start_rows() {
    f.assign(as_size(row_count()), std::numeric_limits<float>::infinity());
    for_rows([this](int64_t i, int64_t first, int64_t n, const float* c) {
      f[as_size(i)] = std::min(f[as_size(i)], kernels_.least(n, c, g.data() + first));
    });
    update_rows();
  }
  void start_columns() {
    g.assign(as_size(column_count()), std::numeric_limits<float>::infinity());
    for_columns([this](int64_t i, int64_t first, int64_t n, const float* c) {
      kernels_.lower(n, c, f[as_size(i)], g.data() + first);
    });
    update_columns();
  }

  void update_rows() {
    std::vector<double> sum(as_size(row_count()));
    for_rows([&](int64_t i, int64_t first, int64_t n, const float* c) {
      sum[as_size(i)] += kernels_.weights(n, c, g.data() + first, f[as_size(i)], rate(), nullptr);
    });
    for (int64_t i = 0; i < row_count(); ++i)
      f[as_size(i)] -= correction(sum[as_size(i)] / static_cast<double>(column_count()));
  }

  /// Returns the mean relative error of the columns' sums before the update.
  double update_columns() {
    std::vector<float> sum(as_size(column_count()));
    for_columns([&](int64_t i, int64_t first, int64_t n, const float* c) {
      kernels_.add_weights(n, c, g.data() + first, f[as_size(i)], rate(), sum.data() + first);
    });
    double error = 0;
    for (int64_t j = 0; j < column_count(); ++j) {
      const double share = sum[as_size(j)] / static_cast<double>(row_count());
      error += std::abs(share - 1);
      g[as_size(j)] -= correction(share);
    }
    return error / static_cast<double>(column_count());
  }

  void balance(const SinkhornOptions& options) {
    for (int k = 0; k < options.iterations && update_columns() > options.tolerance; ++k) update_rows();
  }

  /// A column for each row, drawn with the row's weights from one uniform number a row.
  std::vector<int64_t> draw_columns(Key key) const {
    std::vector<int64_t> drawn(as_size(row_count()));
    parallel_ranges(row_count(), kRows, [&](int64_t a, int64_t b) {
      std::vector<float> weight(as_size(column_count())), block(as_size((column_count() + kBlock - 1) / kBlock)),
          scratch(as_size(kBlock));
      for (int64_t i = a; i < b; ++i) {
        double all = 0;
        for (int64_t first = 0; first < column_count(); first += kBlock) {
          const int64_t n = std::min(kBlock, column_count() - first);
          const float part = kernels_.weights(n, cost(i, first, n, scratch.data()), g.data() + first, f[as_size(i)],
                                              rate(), weight.data() + first);
          block[as_size(first / kBlock)] = part;
          all += part;
        }
        double left = all * key.uniform(static_cast<uint64_t>(rows_[as_size(i)]));
        int64_t j = 0;
        for (; j + kBlock < column_count() && left >= block[as_size(j / kBlock)]; j += kBlock)
          left -= block[as_size(j / kBlock)];
        for (; j + 1 < column_count() && left >= weight[as_size(j)]; ++j) left -= weight[as_size(j)];
        drawn[as_size(i)] = j;
      }
    });
    return drawn;
  }

 private:
  float rate() const { return static_cast<float>(1 / epsilon); }
  float correction(double share) const { return static_cast<float>(epsilon * std::log(std::max(share, 1e-37))); }

  void compute_cost(int64_t i, int64_t first, int64_t n, float* out) const {
    kernels_.cost(n, dim_, x_.data() + i * dim_, y_.data() + first, column_count(), p_, out);
  }
  const float* cost(int64_t i, int64_t first, int64_t n, float* scratch) const {
    if (!stored_.empty()) return stored_.data() + i * column_count() + first;
    compute_cost(i, first, n, scratch);
    return scratch;
  }

  // body(row, first column, columns, their costs): tasks own rows, or blocks of columns.
  template <class Body>
  void for_rows(const Body& body) const {
    parallel_ranges(row_count(), kRows, [&](int64_t a, int64_t b) {
      std::vector<float> scratch(as_size(kBlock));
      for (int64_t i = a; i < b; ++i) visit(i, 0, column_count(), scratch.data(), body);
    });
  }
  template <class Body>
  void for_columns(const Body& body) const {
    parallel_ranges(column_count(), kBlock, [&](int64_t a, int64_t b) {
      std::vector<float> scratch(as_size(kBlock));
      for (int64_t i = 0; i < row_count(); ++i) visit(i, a, b, scratch.data(), body);
    });
  }
  template <class Body>
  void visit(int64_t i, int64_t a, int64_t b, float* scratch, const Body& body) const {
    for (int64_t first = a; first < b; first += kBlock) {
      const int64_t n = std::min(kBlock, b - first);
      body(i, first, n, cost(i, first, n, scratch));
    }
  }

  const SinkhornKernels& kernels_ = kernels<SinkhornKernels>();
  std::vector<int64_t> rows_, columns_;
  int64_t dim_;
  double p_;
  std::vector<float> x_, y_;  // rows one after the other, columns by coordinate
  std::vector<float> stored_;
};

// Differences are taken in float32, so both sets are put about the middle of the data first.
std::vector<float> to_float(int64_t n, const double* x, int64_t dim, const std::vector<double>& centre) {
  std::vector<float> out(as_size(n * dim));
  for (int64_t i = 0; i < n * dim; ++i) {
    out[as_size(i)] = static_cast<float>(x[i] - centre[as_size(i % dim)]);
    if (!(std::abs(out[as_size(i)]) < 1e18f))
      throw InputError("[sinkhorn] expected finite points below 1e18, got {} in row {}", x[i], i / dim);
  }
  return out;
}

std::vector<double> middle(int64_t n, const double* x, int64_t dim) {
  std::vector<double> out(as_size(dim)), column(as_size(n));
  for (int64_t d = 0; d < dim; ++d) {
    for (int64_t i = 0; i < n; ++i) column[as_size(i)] = x[i * dim + d];
    std::nth_element(column.begin(), column.begin() + n / 2, column.end());
    out[as_size(d)] = column[as_size(n / 2)];
  }
  return out;
}

double square_distance(const std::vector<float>& a, int64_t i, const std::vector<float>& b, int64_t j, int64_t dim) {
  double square = 0;
  for (int64_t d = 0; d < dim; ++d) {
    const double difference = static_cast<double>(a[as_size(i * dim + d)]) - b[as_size(j * dim + d)];
    square += difference * difference;
  }
  return square;
}

double median_cost(int64_t n, const std::vector<float>& a, const std::vector<float>& b, int64_t dim, double p) {
  std::vector<double> some(as_size(n));
  for (int64_t i = 0; i < n; ++i) some[as_size(i)] = square_distance(a, i, b, (i * 7 + 3) % n, dim);
  std::nth_element(some.begin(), some.begin() + n / 2, some.end());
  return std::pow(some[as_size(n / 2)], p / 2);
}

std::vector<int64_t> every(int64_t step, int64_t n) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < n; i += step) out.push_back(i);
  return out;
}

// All costs between points, a row for each of the data. Prices are not unique, and neither are pairs of equal cost:
// those of the matrix as it stands depend on the order of rows alone, not on where points lie.
std::vector<double> costs_among(const std::vector<double>& source, const std::vector<double>& data, int64_t dim,
                                double p) {
  const auto n = static_cast<int64_t>(data.size()) / dim;
  std::vector<double> columns(source.size()), out(as_size(n * n));
  for (int64_t j = 0; j < n; ++j)
    for (int64_t d = 0; d < dim; ++d) columns[as_size(d * n + j)] = source[as_size(j * dim + d)];
  for (int64_t i = 0; i < n; ++i)
    kernels<AssignmentKernels>().cost_row(n, dim, data.data() + i * dim, columns.data(), p, out.data() + i * n);
  return out;
}

std::vector<double> pick(const std::vector<float>& x, const std::vector<int64_t>& rows, int64_t dim) {
  std::vector<double> out;
  for (const int64_t i : rows) out.insert(out.end(), x.begin() + i * dim, x.begin() + (i + 1) * dim);
  return out;
}

}  // namespace

// From the plan to a permutation: every row draws a column by its weights, each column that was drawn takes one of its
// rows at random, and the rows and columns that are left go on among themselves, balanced anew; the last few are
// assigned exactly. About 63 % find a partner in a round, each with the plan's own weights; a batch keeps all its
// sources, each once. Far out, where costs exceed epsilon many times, the plan is no less sharp than the exact one but
// its potentials settle slowly: the dearest pairs are assigned anew.
std::vector<int64_t> sinkhorn_coupling(Key key, int64_t n, const double* x0, const double* x1, int64_t dim, double p,
                                       const SinkhornOptions& options) {
  // In float32 the costs of heavy tails to a higher power leave no digits for the bulk.
  if (!(p >= 1 && p <= 2)) throw InputError("[sinkhorn] expected a power p in [1, 2], got {}", p);
  if (n < 0 || dim < 1) throw InputError("[sinkhorn] expected points of at least one dimension, got {} x {}", n, dim);
  if (!(options.epsilon > 0)) throw InputError("[sinkhorn] expected a positive epsilon, got {}", options.epsilon);
  if (n == 0) return {};
  const std::vector<double> centre = middle(n, x1, dim);
  const std::vector<float> source = to_float(n, x0, dim, centre), data = to_float(n, x1, dim, centre);
  const double typical = median_cost(n, data, source, dim, p);
  if (!(typical > 0)) return assign(n, x0, x1, dim, p);  // nearly all points are equal: entropy has no scale
  const double epsilon = options.epsilon * typical;

  // The exact prices of some rows and columns cost little, hold for heavy tails too, and start the potentials of all.
  constexpr int64_t kFew = 1024;
  const std::vector<int64_t> some = every((n + kFew - 1) / kFew, n);
  const auto few = static_cast<int64_t>(some.size());
  const Assignment exact =
      assign_costs(few, costs_among(pick(source, some, dim), pick(data, some, dim), dim, p).data());
  Plan start(data, some, source, every(1, n), dim, p);
  start.epsilon = epsilon;
  start.f.assign(exact.row_price.begin(), exact.row_price.end());
  start.start_columns();

  std::vector<int64_t> partner(as_size(n), -1);
  std::vector<int64_t> rows = every(1, n), columns = rows;
  std::vector<float> g = std::move(start.g);
  const auto last = std::min<int64_t>(256, n / 32);
  for (uint64_t round = 0; static_cast<int64_t>(rows.size()) > last; ++round) {
    Plan plan(data, std::move(rows), source, std::move(columns), dim, p);
    plan.g = std::move(g);
    plan.epsilon = epsilon;
    plan.start_rows();
    plan.balance(options);
    const std::vector<int64_t> drawn = plan.draw_columns(key.child("draw").child(round));
    const Key lots = key.child("lot").child(round);
    const auto lot = [&](int64_t i) { return lots.bits(static_cast<uint64_t>(plan.rows()[as_size(i)])); };
    std::vector<int64_t> winner(as_size(plan.column_count()), -1);
    for (int64_t i = 0; i < plan.row_count(); ++i) {
      int64_t& w = winner[as_size(drawn[as_size(i)])];
      if (w < 0 || lot(i) < lot(w)) w = i;
    }
    rows.clear(), columns.clear(), g.clear();
    for (int64_t j = 0; j < plan.column_count(); ++j) {
      if (winner[as_size(j)] >= 0) {
        partner[as_size(plan.rows()[as_size(winner[as_size(j)])])] = plan.columns()[as_size(j)];
      } else {
        columns.push_back(plan.columns()[as_size(j)]);
        g.push_back(plan.g[as_size(j)]);
      }
    }
    for (const int64_t i : plan.rows())
      if (partner[as_size(i)] < 0) rows.push_back(i);
  }
  const auto assign_among = [&](const std::vector<int64_t>& some_rows, const std::vector<int64_t>& some_columns) {
    const std::vector<double> a = pick(source, some_columns, dim), b = pick(data, some_rows, dim);
    const std::vector<int64_t> best =
        assign_costs(static_cast<int64_t>(some_rows.size()), costs_among(a, b, dim, p).data()).column;
    for (size_t i = 0; i < some_rows.size(); ++i) partner[as_size(some_rows[i])] = some_columns[as_size(best[i])];
  };
  assign_among(rows, columns);

  const auto dear = std::min<int64_t>(512, n / 16);
  std::vector<double> cost(as_size(n));
  for (int64_t i = 0; i < n; ++i) cost[as_size(i)] = square_distance(data, i, source, partner[as_size(i)], dim);
  rows = every(1, n);
  std::nth_element(rows.begin(), rows.begin() + dear, rows.end(), [&](int64_t a, int64_t b) {
    return cost[as_size(a)] != cost[as_size(b)] ? cost[as_size(a)] > cost[as_size(b)] : a < b;
  });
  rows.resize(as_size(dear));
  std::sort(rows.begin(), rows.end());
  columns.clear();
  for (const int64_t i : rows) columns.push_back(partner[as_size(i)]);
  assign_among(rows, columns);
  return partner;
}

}  // namespace htfm
