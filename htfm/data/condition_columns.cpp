#include "htfm/data/condition_columns.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "htfm/base/error.h"
#include "htfm/base/split.h"
#include "htfm/data/condition_field.h"
#include "htfm/io/csv.h"

namespace htfm {

namespace {

constexpr size_t kFewCodes = 20;  // of a column of whole numbers that is taken for a category

// Columns that a key names; none where it names none.
std::vector<int64_t> named_columns(const Dataset& data, const std::string& columns) {
  if (columns.empty()) return {};
  return choose_columns({.columns = split(columns), .drop = {}}, data.names, data.rows.size(1), data.origin);
}

bool holds(const std::vector<int64_t>& list, int64_t k) { return std::find(list.begin(), list.end(), k) != list.end(); }

// A column of numbers: as it is, or as codes of categories, named by their numbers in ascending order.
ConditionColumn take_column(double* x, int64_t n, int64_t stride, std::string name, bool category, bool number) {
  ConditionColumn out{std::move(name), {}};
  std::map<double, double> code;
  bool whole = true;
  for (int64_t i = 0; i < n; ++i) {
    const double v = x[i * stride];
    whole = whole && v == std::trunc(v);
    if (!number && (category || code.size() <= kFewCodes)) code[v] = 0;
  }
  if (number || (!category && (!whole || code.size() > kFewCodes))) return out;
  double next = 0;
  for (auto& [value, own] : code) own = next++, out.categories.push_back(fmt::format("{}", value));
  for (int64_t i = 0; i < n; ++i) x[i * stride] = code.at(x[i * stride]);
  return out;
}

// Constraints between columns that are left; one that names a column that is given is refused.
void keep_constraints(Dataset& data, const std::vector<int64_t>& kept) {
  for (Constraint& c : data.constraints) {
    const auto place = [&](int64_t column) {
      const auto found = std::find(kept.begin(), kept.end(), column);
      if (found == kept.end())
        throw InputError("[data.constraints] expected columns that are modelled, got a given one in '{}'", c.text);
      return static_cast<int64_t>(found - kept.begin());
    };
    c.column = place(c.column);
    for (Constraint::Term& term : c.terms) term.column = place(term.column);
  }
}

void take_classes(Dataset& data) {
  if (!data.labels.defined())
    throw InputError("[condition.label] {}: expected images with classes, got rows without", data.origin);
  const at::Tensor labels = data.labels.to(at::kDouble).view({-1, 1}).contiguous();
  ConditionColumn column{"class", data.classes};
  const double most = labels.max().item<double>();
  while (static_cast<double>(column.categories.size()) <= most)
    column.categories.push_back(fmt::format("{}", column.categories.size()));
  data.conditions = {{std::move(column)}, labels};
}

}  // namespace

Dataset with_conditions(Dataset data, const ConditionSpec& spec) {
  if (!spec.there() || data.conditions.there()) return data;
  std::vector<const char*> ways;
  if (!spec.columns.empty()) ways.push_back("condition.columns");
  if (spec.label) ways.push_back("condition.label");
  if (!spec.field.empty()) ways.push_back("condition.field");
  if (ways.size() > 1)
    throw InputError("[condition] expected one of condition.columns, condition.label and condition.field, got {}",
                     fmt::join(ways, " and "));
  if (!spec.field.empty()) {
    data.conditions = given_fields(data, spec.field);
    return data;
  }
  if (spec.label) return take_classes(data), data;
  if (data.image)
    throw InputError("[condition.columns] {}: expected a table, got images (condition.label takes their classes)",
                     data.origin);
  const int64_t n = data.rows.size(0), width = data.rows.size(1);
  std::vector<int64_t> given = named_columns(data, spec.columns), kept;
  const std::vector<int64_t> categories = named_columns(data, spec.categories),
                             numbers = named_columns(data, spec.numbers);
  for (const std::vector<int64_t>* kind : {&categories, &numbers})
    for (const int64_t k : *kind)
      if (!holds(given, k))
        throw InputError("[condition.{}] expected columns that are given (condition.columns), got '{}'",
                         kind == &numbers ? "numbers" : "categories", column_name(data, k));
  for (int64_t k = 0; k < width; ++k)
    if (!holds(given, k)) kept.push_back(k);
  if (kept.empty())
    throw InputError("[condition.columns] {}: expected at least one column left to model, got none", data.origin);
  const auto select = [&](std::vector<int64_t>& columns) {
    return data.rows.index_select(1, at::from_blob(columns.data(), {static_cast<int64_t>(columns.size())}, at::kLong))
        .to(at::kDouble)
        .contiguous();
  };
  const std::vector<TableColumn> kinds = data.columns;
  data.conditions.values = select(given);
  double* x = data.conditions.values.mutable_data_ptr<double>();
  const auto stride = static_cast<int64_t>(given.size());
  for (int64_t k = 0; k < stride; ++k) {
    const TableColumn kind = kinds.empty() ? TableColumn() : kinds[static_cast<size_t>(given[k])];
    if (kind.is_category() && !holds(numbers, given[k])) {
      data.conditions.columns.push_back({column_name(data, given[k]), kind.categories});
      continue;
    }
    const bool number = holds(numbers, given[k]) || kind.asked || kind.kind == ColumnKind::date;
    data.conditions.columns.push_back(
        take_column(x + k, n, stride, column_name(data, given[k]), holds(categories, given[k]), number));
  }
  data.rows = select(kept);
  data.columns.clear();
  for (const int64_t k : kept)
    if (!kinds.empty()) data.columns.push_back(kinds[static_cast<size_t>(k)]);
  keep_constraints(data, kept);
  std::vector<std::string> names;
  for (const int64_t k : kept)
    if (!data.names.empty()) names.push_back(data.names[static_cast<size_t>(k)]);
  data.names = std::move(names);
  return data;
}

}  // namespace htfm
