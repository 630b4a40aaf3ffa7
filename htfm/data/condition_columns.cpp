#include "htfm/data/condition_columns.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "htfm/base/error.h"
#include "htfm/base/split.h"
#include "htfm/data/condition_field.h"
#include "htfm/field/field_set.h"
#include "htfm/io/csv.h"
#include "htfm/io/hash.h"

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

// What columns of numbers, codes of categories and days hold; codes take the place of numbers that name categories.
std::vector<ConditionColumn> take_columns(at::Tensor& values, const std::vector<std::string>& names,
                                          const std::vector<TableColumn>& kinds,
                                          const std::function<bool(int64_t)>& is_category,
                                          const std::function<bool(int64_t)>& is_number) {
  std::vector<ConditionColumn> out;
  double* x = values.mutable_data_ptr<double>();
  const int64_t n = values.size(0), width = values.size(1);
  for (int64_t k = 0; k < width; ++k) {
    const std::string& name = names[static_cast<size_t>(k)];
    const TableColumn kind = kinds.empty() ? TableColumn() : kinds[static_cast<size_t>(k)];
    if (kind.is_category() && !is_number(k)) {
      out.push_back({name, kind.categories});
      continue;
    }
    const bool number = is_number(k) || kind.asked || kind.kind == ColumnKind::date;
    out.push_back(take_column(x + k, n, width, name, is_category(k), number));
  }
  return out;
}

// The rows of a table that go with those of the data: all, or those of the same part of a prepared set.
at::Tensor rows_beside(const Dataset& data, const Dataset& table, const std::string& file) {
  const int64_t rows = table.rows.size(0);
  if (data.fields.empty()) {
    if (rows == data.rows.size(0)) return table.rows.clone();
    throw InputError("[condition.file] {}: expected {} rows, one for each row of {}, got {}", file, data.rows.size(0),
                     data.origin, rows);
  }
  const FieldSet set = open_field_set(data.fields);
  if (rows != set.size())
    throw InputError("[condition.file] {}: expected {} rows, one for each field of {} (held-out ones too), got {}",
                     file, set.size(), data.fields, rows);
  std::vector<int64_t> part = set.part(data.held_out);
  return table.rows.index_select(0, at::from_blob(part.data(), {static_cast<int64_t>(part.size())}, at::kLong))
      .contiguous();
}

}  // namespace

Dataset with_condition_file(Dataset data, const ConditionSpec& spec) {
  if (spec.file.empty() || data.conditions.there()) return data;
  const Dataset table = file_dataset({.path = spec.file, .kinds = "auto"});
  for (const std::string& note : table.notes) data.notes.push_back(fmt::format("{}: {}", spec.file, note));
  std::vector<std::string> names;
  for (int64_t k = 0; k < table.rows.size(1); ++k) names.push_back(column_name(table, k));
  const std::vector<int64_t> categories = named_columns(table, spec.categories),
                             numbers = named_columns(table, spec.numbers);
  ConditionTable& given = data.conditions;
  given.values = rows_beside(data, table, spec.file);
  given.columns = take_columns(
      given.values, names, table.columns, [&](int64_t k) { return holds(categories, k); },
      [&](int64_t k) { return holds(numbers, k); });
  // Data with other conditions are other data.
  Xxh64 hash;
  hash.update(data.hash.data(), data.hash.size());
  hash.update(given.values.const_data_ptr(), given.values.nbytes());
  for (const ConditionColumn& c : given.columns)
    for (const std::string& category : c.categories) hash.update(category.data(), category.size());
  data.hash = hash.hex();
  return data;
}

Dataset with_conditions(Dataset data, const ConditionSpec& spec) {
  if (!spec.there() || data.conditions.there()) return data;
  if (!spec.file.empty()) return with_condition_file(std::move(data), spec);
  if (!spec.field.empty()) {
    data.conditions = given_fields(data, spec.field);
    return data;
  }
  if (spec.label) return take_classes(data), data;
  if (data.image)
    throw InputError(
        "[condition.columns] {}: expected a table, got images (condition.label takes their classes, condition.file "
        "other things that are given)",
        data.origin);
  const int64_t width = data.rows.size(1);
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
  std::vector<TableColumn> given_kinds;
  std::vector<std::string> given_names;
  for (const int64_t k : given) {
    if (!kinds.empty()) given_kinds.push_back(kinds[static_cast<size_t>(k)]);
    given_names.push_back(column_name(data, k));
  }
  data.conditions.values = select(given);
  data.conditions.columns = take_columns(
      data.conditions.values, given_names, given_kinds,
      [&](int64_t k) { return holds(categories, given[static_cast<size_t>(k)]); },
      [&](int64_t k) { return holds(numbers, given[static_cast<size_t>(k)]); });
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
