#include "htfm/data/relations.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/io/dtype.h"

namespace htfm {

namespace {

constexpr const char* kRelations = "transform.relations";

// Constraints in the order in which their columns can be computed: sums before what is bound by them.
std::vector<Constraint> in_order(std::vector<Constraint> open) {
  std::vector<Constraint> out;
  const auto bound = [](const std::vector<Constraint>& list, int64_t column) {
    return std::find_if(list.begin(), list.end(), [&](const Constraint& c) { return c.column == column; });
  };
  while (!open.empty()) {
    const auto ready = std::find_if(open.begin(), open.end(), [&](const Constraint& c) {
      return std::none_of(c.terms.begin(), c.terms.end(),
                          [&](const Constraint::Term& t) { return bound(open, t.column) != open.end(); });
    });
    if (ready == open.end())
      throw InputError("[constraint] expected constraints that do not form a circle, got '{}'", open[0].text);
    if (bound(out, ready->column) != out.end())
      throw InputError(
          "[constraint] expected each column alone on one side of at most one constraint, got '{}' and '{}'",
          bound(out, ready->column)->text, ready->text);
    out.push_back(*ready);
    open.erase(ready);
  }
  return out;
}

// 10^k, where all values have at most k <= 6 decimals; else 0.
double resolution_of(const at::Tensor& rows, int64_t column) {
  const int64_t n = rows.size(0), width = rows.size(1);
  const double* x = rows.const_data_ptr<double>() + column;
  for (double unit = 1; unit <= 1e6; unit *= 10) {
    bool all = true;
    for (int64_t i = 0; i < n && all; ++i) {
      const double v = x[i * width];
      all = std::isnan(v) || std::round(v * unit) / unit == v;
    }
    if (all) return unit;
  }
  return 0;
}

// The values of Constraint::Sense, and after them those of strict ones.
constexpr double kStrict = 3;
constexpr double kRounding = 1e-12;  // of a sum: what differs by less is equal

// The next value that a column can hold below a sum (`sign` -1) or above it (1).
double beside(double sum, double sign, double unit) {
  if (unit == 0) return std::nextafter(sum, sign * std::numeric_limits<double>::infinity());
  // What rounding alone parts from a value of the column is that value.
  const double scaled = sum * unit, whole = std::round(scaled), near = kRounding * std::max(1.0, std::abs(scaled));
  const double last = std::abs(scaled - whole) <= near ? whole : sign > 0 ? std::floor(scaled) : std::ceil(scaled);
  return (last + sign) / unit + 0.0;
}

// A date as the file has it, a number in its shortest form.
std::string as_in_file(const std::vector<TableColumn>& columns, int64_t column, double value) {
  const auto k = static_cast<size_t>(column);
  return k < columns.size() && columns[k].kind == ColumnKind::date ? columns[k].text(value) : fmt::format("{}", value);
}

double settled(double v, double unit) { return unit > 0 ? std::round(v * unit) / unit + 0.0 : v; }

}  // namespace

bool Relations::is_free(int64_t column, double value) const {
  return std::isnan(value) || std::find(apart_.begin(), apart_.end(), std::pair(column, value)) != apart_.end();
}

double Relations::sum_of(const Constraint& c, const double* row) const {
  double sum = c.constant;
  for (const Constraint::Term& t : c.terms) {
    const double v = row[t.column];
    sum += t.sign * (is_free(t.column, v) ? stand_in_[static_cast<size_t>(t.column)] : v);
  }
  return sum;
}

Relations Relations::fit(const std::vector<Constraint>& constraints, const at::Tensor& rows,
                         const std::vector<TableColumn>& columns) {
  Relations out;
  const int64_t n = rows.size(0), width = rows.size(1);
  const double* x = rows.const_data_ptr<double>();
  for (size_t k = 0; k < columns.size(); ++k)
    for (const double v : columns[k].apart) out.apart_.emplace_back(static_cast<int64_t>(k), v);
  std::vector<bool> free(static_cast<size_t>(width));
  for (int64_t k = 0; k < width; ++k) {
    std::vector<double> v;
    for (int64_t i = 0; i < n; ++i)
      if (!out.is_free(k, x[i * width + k])) v.push_back(x[i * width + k]);
    free[static_cast<size_t>(k)] = static_cast<int64_t>(v.size()) < n;
    out.stand_in_.push_back(v.empty() ? 0 : *std::min_element(v.begin(), v.end()));
  }
  // What is bound on one side by a single column may be told from the other side: it is where it is bound itself, and
  // where it alone has gaps, since a distance from what is missing says nothing.
  std::vector<Constraint> list = constraints;
  for (size_t i = 0; i < list.size(); ++i) {
    Constraint& c = list[i];
    const bool twice = std::any_of(list.begin(), list.begin() + static_cast<int64_t>(i),
                                   [&](const Constraint& o) { return o.column == c.column; });
    const bool turns = c.terms.size() == 1 && c.terms[0].sign > 0 && c.constant == 0;
    const auto is_bound = [&](int64_t column) {
      return std::any_of(list.begin(), list.end(), [&](const Constraint& o) { return &o != &c && o.column == column; });
    };
    const bool gaps = turns && free[static_cast<size_t>(c.terms[0].column)] && !free[static_cast<size_t>(c.column)] &&
                      !is_bound(c.terms[0].column);
    if (!turns || !(twice || gaps)) continue;
    std::swap(c.column, c.terms[0].column);
    if (c.sense != Constraint::Sense::equal)
      c.sense = c.sense == Constraint::Sense::at_most ? Constraint::Sense::at_least : Constraint::Sense::at_most;
  }
  out.list_ = in_order(std::move(list));
  for (const Constraint& c : out.list_) {
    out.resolution_.push_back(resolution_of(rows, c.column));
    for (int64_t i = 0; i < n; ++i) {
      const double* row = x + i * width;
      const bool whole = !out.is_free(c.column, row[c.column]) &&
                         std::none_of(c.terms.begin(), c.terms.end(),
                                      [&](const auto& t) { return out.is_free(t.column, row[t.column]); });
      const double sum = out.sum_of(c, row), gap = row[c.column] - sum,
                   size = std::max({1.0, std::abs(sum), std::abs(row[c.column])}), slack = 1e-6 * size;
      const double most = c.strict ? -kRounding * size : slack;
      const bool kept = c.sense == Constraint::Sense::at_most    ? gap <= most
                        : c.sense == Constraint::Sense::at_least ? gap >= -most
                                                                 : std::abs(gap) <= std::max(slack, 0.0051);
      if (whole && !kept)
        throw InputError("[constraint] expected every row to satisfy {}, got {} against {} in row {} of the data",
                         c.text, as_in_file(columns, c.column, row[c.column]), as_in_file(columns, c.column, sum),
                         i + 1);
    }
  }
  return out;
}

at::Tensor Relations::apply(const at::Tensor& rows) const {
  at::Tensor out = rows.to(at::kDouble).clone();
  const int64_t n = out.size(0), width = out.size(1);
  double* x = out.mutable_data_ptr<double>();
  const at::Tensor given = rows.to(at::kDouble).contiguous();
  const double* from = given.const_data_ptr<double>();
  for (size_t k = 0; k < list_.size(); ++k) {
    const Constraint& c = list_[k];
    // A sum's decimals are those of its columns; the distance is rounded to the finest.
    const double unit = resolution_[k];
    for (int64_t i = 0; i < n; ++i) {
      double& v = x[i * width + c.column];
      if (is_free(c.column, v)) continue;
      const double gap = v - sum_of(c, from + i * width);
      v = c.sense == Constraint::Sense::equal     ? 0
          : c.sense == Constraint::Sense::at_most ? -settled(gap, unit)
                                                  : settled(gap, unit);
    }
  }
  return out;
}

void Relations::invert(at::Tensor& rows) const {
  const int64_t n = rows.size(0), width = rows.size(1);
  double* x = rows.mutable_data_ptr<double>();
  parallel_ranges(n, 4096, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      for (size_t k = 0; k < list_.size(); ++k) {
        const Constraint& c = list_[k];
        double& v = x[i * width + c.column];
        if (is_free(c.column, v)) continue;
        const double sum = sum_of(c, x + i * width);
        v = c.sense == Constraint::Sense::equal ? sum : c.sense == Constraint::Sense::at_most ? sum - v : sum + v;
        v = settled(v, resolution_[k]);
        // Rounding must not undo what the constraint says.
        const auto end = [&](double sign) { return c.strict ? beside(sum, sign, resolution_[k]) : sum; };
        if (c.sense == Constraint::Sense::at_most) v = std::min(v, end(-1));
        if (c.sense == Constraint::Sense::at_least) v = std::max(v, end(1));
      }
  });
}

std::vector<TableColumn> Relations::columns(std::vector<TableColumn> columns) const {
  for (const Constraint& c : list_)
    columns[static_cast<size_t>(c.column)] = {.apart = std::move(columns[static_cast<size_t>(c.column)].apart)};
  return columns;
}

void Relations::bound(int64_t column, ColumnTransform& map) const {
  for (const Constraint& c : list_)
    if (c.column == column && !map.constant) map.least = std::max(map.least, 0.0);
}

std::string Relations::describe(int64_t column) const {
  for (const Constraint& c : list_)
    if (c.column == column)
      return c.sense == Constraint::Sense::equal ? fmt::format(", computed by {}", c.text)
                                                 : fmt::format(" (its distance by {})", c.text);
  return {};
}

void Relations::save_state(std::map<std::string, at::Tensor>& out) const {
  if (empty()) return;
  std::vector<double> v{static_cast<double>(list_.size())};
  for (size_t k = 0; k < list_.size(); ++k) {
    const Constraint& c = list_[k];
    v.insert(v.end(), {static_cast<double>(c.column), static_cast<double>(c.sense) + (c.strict ? kStrict : 0),
                       c.constant, resolution_[k], static_cast<double>(c.terms.size())});
    for (const Constraint::Term& t : c.terms) v.insert(v.end(), {static_cast<double>(t.column), t.sign});
  }
  v.insert(v.end(), stand_in_.begin(), stand_in_.end());
  for (const auto& [column, value] : apart_) v.insert(v.end(), {static_cast<double>(column), value});
  at::Tensor t = at::empty({static_cast<int64_t>(v.size())}, at::kDouble);
  std::copy(v.begin(), v.end(), t.mutable_data_ptr<double>());
  out[kRelations] = t;
}

Relations Relations::load_state(const std::map<std::string, at::Tensor>& in, const std::string& path, int64_t columns) {
  Relations out;
  const auto found = in.find(kRelations);
  if (found == in.end()) return out;
  const at::Tensor& t = found->second;
  const bool numbers = t.dim() == 1 && t.scalar_type() == at::kDouble;
  const double *p = numbers ? t.const_data_ptr<double>() : nullptr, *end = p + (numbers ? t.numel() : 0);
  const auto refuse = [&]() -> double {
    const int64_t read = numbers ? p - t.const_data_ptr<double>() : 0;
    throw InputError("[checkpoint] {}: expected '{}' as constraints of {} columns, got {}{}", path, kRelations, columns,
                     tensor_text(t),
                     read > 0 ? fmt::format(" whose number {} is {}{}", read, p[-1], p < end ? "" : ", the last") : "");
  };
  const auto take = [&] { return p < end ? *p++ : refuse(); };
  const auto take_column = [&] {
    const double v = take();
    return static_cast<int64_t>(v >= 0 && v < static_cast<double>(columns) ? v : refuse());
  };
  for (double left = take(); left > 0; --left) {
    Constraint c;
    c.column = take_column();
    const double kept = take();
    c.strict = kept >= kStrict;
    const double sense = c.strict ? kept - kStrict : kept;
    c.sense = sense == 0   ? Constraint::Sense::at_most
              : sense == 1 ? Constraint::Sense::at_least
                           : Constraint::Sense::equal;
    c.constant = take();
    out.resolution_.push_back(take());
    for (double terms = take(); terms > 0; --terms) {
      const int64_t column = take_column();
      c.terms.push_back({column, take()});
    }
    c.text = "a constraint";
    out.list_.push_back(std::move(c));
  }
  for (int64_t k = 0; k < columns; ++k) out.stand_in_.push_back(take());
  while (p < end) {
    const int64_t column = take_column();
    out.apart_.emplace_back(column, take());
  }
  return out;
}

}  // namespace htfm
