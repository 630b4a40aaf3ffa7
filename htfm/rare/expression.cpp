#include "htfm/rare/expression.h"

#include <algorithm>
#include <cmath>

#include "htfm/rare/expression_reader.h"
#include "htfm/stat/estimators.h"

namespace htfm {

Expression::Expression(const std::string& text, RowNames names, const std::string& where) : names_(std::move(names)) {
  ExpressionReader(*this, text, where).read();
}

bool Expression::is_condition() const { return is_condition(nodes_[static_cast<size_t>(root_)].kind); }

double Expression::number_of(int at, std::span<const double> row) const {
  const Node& node = nodes_[static_cast<size_t>(at)];
  const auto left = [&] { return number_of(node.left, row); };
  const auto right = [&] { return number_of(node.right, row); };
  switch (node.kind) {
    case Kind::constant: return node.value;
    case Kind::column: return row[static_cast<size_t>(node.column)];
    case Kind::size: return names_.size(row);
    case Kind::field_max: return *std::max_element(row.begin(), row.end());
    case Kind::field_min: return *std::min_element(row.begin(), row.end());
    case Kind::field_mean: {
      double sum = 0;
      for (const double v : row) sum += v;
      return sum / static_cast<double>(row.size());
    }
    case Kind::negate: return -left();
    case Kind::add: return left() + right();
    case Kind::subtract: return left() - right();
    case Kind::multiply: return left() * right();
    case Kind::divide: return left() / right();
    case Kind::absolute: return std::abs(left());
    case Kind::most: return std::max(left(), right());
    default:  // conditions are no numbers: the reader sees to it
      return std::min(left(), right());
  }
}

Truth Expression::truth_of(int at, std::span<const double> row) const {
  const Node& node = nodes_[static_cast<size_t>(at)];
  if (node.kind == Kind::negation) {
    const Truth inner = truth_of(node.left, row);
    return {!inner.holds, -inner.margin};
  }
  if (node.kind == Kind::both || node.kind == Kind::either) {
    const Truth a = truth_of(node.left, row), b = truth_of(node.right, row);
    if (node.kind == Kind::both) return {a.holds && b.holds, std::min(a.margin, b.margin)};
    return {a.holds || b.holds, std::max(a.margin, b.margin)};
  }
  const double a = number_of(node.left, row), b = number_of(node.right, row);
  if (std::isnan(a) || std::isnan(b)) return {false, -std::numeric_limits<double>::infinity()};
  // Logarithmic far out: a margin of a thousand spreads is not to drown another one.
  const double margin = std::asinh((a - b) / node.spread);
  switch (node.kind) {
    case Kind::greater: return {a > b, margin};
    case Kind::greater_equal: return {a >= b, margin};
    case Kind::less: return {a < b, -margin};
    case Kind::less_equal: return {a <= b, -margin};
    case Kind::equal: return {a == b, -std::abs(margin)};
    default: return {a != b, std::abs(margin)};
  }
}

void Expression::set_spreads(std::span<const double> rows) {
  const auto count = static_cast<size_t>(names_.count);
  for (Node& node : nodes_) {
    if (!is_comparison(node.kind)) continue;
    std::vector<double> difference;
    for (size_t i = 0; i + count <= rows.size(); i += count) {
      const std::span<const double> row = rows.subspan(i, count);
      const double d = number_of(node.left, row) - number_of(node.right, row);
      if (std::isfinite(d)) difference.push_back(d);
    }
    if (difference.empty()) continue;
    std::sort(difference.begin(), difference.end());
    if (const double spread = centre_and_spread(difference).second; spread > 0) node.spread = spread;
  }
}

}  // namespace htfm
