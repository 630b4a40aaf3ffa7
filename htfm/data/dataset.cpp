#include "htfm/data/dataset.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/base/split.h"
#include "htfm/data/column_kinds.h"
#include "htfm/io/dtype.h"
#include "htfm/io/hash.h"
#include "htfm/io/table.h"
#include "htfm/io/text.h"

namespace htfm {

namespace {

constexpr const char* kAdvice = "leave such a column out with --drop";

std::string rows_hash(const at::Tensor& rows) {
  Xxh64 hash;
  hash.update(rows.const_data_ptr(), rows.nbytes());
  return hash.hex();
}

std::string column_text(const Table& table, int64_t column) {
  const bool named = column < static_cast<int64_t>(table.names.size()) && !table.names[column].empty();
  return named ? printable(table.names[column]) : fmt::format("column {}", column + 1);
}

void keep_columns(Table& table, int64_t first) {
  table.values = table.values.narrow(1, first, table.values.size(1) - first).contiguous();
  if (!table.names.empty()) table.names.erase(table.names.begin(), table.names.begin() + first);
}

// A first column 1, 2, ... or 0, 1, ... that carries no name, or one that row numbers carry.
bool is_index(const Table& table) {
  const int64_t n = table.values.size(0), columns = table.values.size(1);
  if (columns < 2 || n < 3) return false;
  if (!table.names.empty()) {
    const std::string name = lower_case(table.names[0]);
    bool known = name.starts_with("unnamed") || name.starts_with("__index_level");
    for (const char* word : {"", "rownames", "row", "index", "id", "idx", "#"}) known = known || name == word;
    if (!known) return false;
  }
  const double* x = table.values.const_data_ptr<double>();
  if (x[0] != 0 && x[0] != 1) return false;
  for (int64_t i = 1; i < n; ++i)
    if (x[i * columns] != x[0] + static_cast<double>(i)) return false;
  return true;
}

// Columns without a name and without a value: what a separator at the end of every line makes.
void drop_empty_columns(Table& table, std::vector<std::string>& notes, bool texts = false) {
  const int64_t n = table.values.size(0), columns = table.values.size(1);
  const double* x = table.values.const_data_ptr<double>();
  std::vector<int64_t> kept;
  std::vector<std::string> names;
  for (int64_t k = 0; k < columns; ++k) {
    bool empty = table.names.empty() || table.names[k].empty();
    for (int64_t i = 0; i < n && empty; ++i) {
      const double v = x[i * columns + k];
      empty = std::isnan(v) && text_place(v) < 0;
    }
    if (empty) continue;
    kept.push_back(k);
    if (!table.names.empty()) names.push_back(table.names[k]);
  }
  const auto left = static_cast<int64_t>(kept.size());
  if (left == columns || left == 0) return;
  notes.push_back(fmt::format("{} without name and values left out", left + 1 == columns ? "a column" : "columns"));
  table.values = table.values.index_select(1, at::from_blob(kept.data(), {left}, at::kLong)).contiguous();
  table.names = std::move(names);
  if (!texts) return;
  std::vector<std::vector<TextCell>> cells;
  for (const int64_t k : kept) cells.push_back(std::move(table.texts[static_cast<size_t>(k)]));
  table.texts = std::move(cells);
}

// Rows with missing values go; says how many and why.
void drop_missing(Table& table, const std::string& path, std::vector<std::string>& notes) {
  const int64_t n = table.values.size(0), columns = table.values.size(1);
  double* x = table.values.mutable_data_ptr<double>();
  std::vector<int64_t> missing(static_cast<size_t>(columns), 0);
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    bool whole = true;
    for (int64_t k = 0; k < columns; ++k)
      if (std::isnan(x[i * columns + k])) ++missing[k], whole = false;
    if (!whole) continue;
    if (kept < i) std::copy_n(x + i * columns, columns, x + kept * columns);
    ++kept;
  }
  if (kept == n) return;
  std::string counts;
  for (int64_t k = 0; k < columns; ++k) {
    if (missing[k] == n)
      throw InputError("[table] {}: {}: expected numbers, got only missing values ({})", path, column_text(table, k),
                       kAdvice);
    if (missing[k] > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", column_text(table, k), missing[k]);
  }
  if (kept == 0)
    throw InputError("[table] {}: expected a row without missing values, got none (missing: {})", path, counts);
  notes.push_back(fmt::format("{} of {} rows left out for missing values ({})", n - kept, n, counts));
  table.values = table.values.narrow(0, 0, kept).contiguous();
}

// Rows that run backwards in time would make gains of losses.
void put_in_order_of_time(Table& table, const std::string& path, std::vector<std::string>& notes) {
  const std::string column = table.order_column.empty() ? "the column of dates" : printable(table.order_column);
  if (table.order == RowOrder::mixed)
    throw InputError(
        "[table] {}: expected rows in the order of time for log-returns, got days in {} that go forwards and "
        "backwards: "
        "sort the file",
        path, column);
  if (table.order != RowOrder::backwards) return;
  table.values = table.values.flip(0).contiguous();
  notes.push_back(
      fmt::format("by {} the file runs backwards in time: its rows are taken from the last to the first", column));
}

void take_log_returns(Table& table, const std::string& path) {
  const int64_t n = table.values.size(0), columns = table.values.size(1);
  if (n < 2) throw InputError("[table] {}: expected at least two rows for log-returns, got {}", path, n);
  const double* x = table.values.const_data_ptr<double>();
  at::Tensor out = at::empty({n - 1, columns}, at::kDouble);
  double* y = out.mutable_data_ptr<double>();
  for (int64_t i = 0; i < n * columns; ++i)
    if (!(x[i] > 0))
      throw InputError("[table] {}: row {}, {}: expected a positive number for log-returns, got {}", path,
                       i / columns + 1, column_text(table, i % columns), x[i]);
  for (int64_t i = 0; i < (n - 1) * columns; ++i) y[i] = std::log(x[i + columns] / x[i]);
  table.values = out;
}

// Rows without any value: empty lines.
void drop_empty_rows(Table& table, std::vector<std::string>& notes) {
  const int64_t n = table.values.size(0), columns = table.values.size(1);
  double* x = table.values.mutable_data_ptr<double>();
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (std::all_of(x + i * columns, x + (i + 1) * columns, [](double v) { return std::isnan(v); })) continue;
    if (kept < i) std::copy_n(x + i * columns, columns, x + kept * columns);
    ++kept;
  }
  if (kept == n || kept == 0) return;
  notes.push_back(fmt::format("{} of {} rows hold no value and are left out", n - kept, n));
  table.values = table.values.narrow(0, 0, kept).contiguous();
}

// For log-returns: days say how the rows follow each other, and are left out; texts have no returns.
void take_days(Table& table, std::vector<TableColumn>& kinds, const FileSpec& spec, std::vector<std::string>& notes) {
  const int64_t n = table.values.size(0), columns = table.values.size(1);
  const double* x = table.values.const_data_ptr<double>();
  std::vector<int64_t> kept;
  std::vector<std::string> names;
  for (int64_t k = 0; k < columns; ++k) {
    const TableColumn& kind = kinds[static_cast<size_t>(k)];
    if (kind.is_category())
      throw InputError("[table] {}: {}: expected prices for log-returns, got texts such as {} ({})", spec.path,
                       column_text(table, k), in_quotes(kind.categories.front()), kAdvice);
    if (kind.kind == ColumnKind::number) {
      kept.push_back(k);
      if (!table.names.empty()) names.push_back(table.names[static_cast<size_t>(k)]);
      continue;
    }
    if (table.order != RowOrder::unknown) continue;
    bool up = false, down = false;
    double last = std::nan("");
    for (int64_t i = 0; i < n; ++i)
      if (const double day = x[i * columns + k]; !std::isnan(day))
        up = up || day > last, down = down || day < last, last = day;
    table.order = up && down ? RowOrder::mixed : up ? RowOrder::forwards : down ? RowOrder::backwards : table.order;
    table.order_column = column_text(table, k);
    notes.push_back(fmt::format("{} is the order of the rows and is left out", column_text(table, k)));
  }
  const auto left = static_cast<int64_t>(kept.size());
  if (left == 0) throw InputError("[table] {}: expected a column of prices for log-returns, got only dates", spec.path);
  if (left == columns) return;
  table.values = table.values.index_select(1, at::from_blob(kept.data(), {left}, at::kLong)).contiguous();
  table.names = std::move(names), kinds.assign(static_cast<size_t>(left), {});
}

std::vector<Constraint> constraints_of(const Table& table, const std::vector<TableColumn>& kinds,
                                       const FileSpec& spec) {
  if (spec.constraints.empty()) return {};
  if (spec.log_returns) throw InputError("[constraint] expected a table without --log-returns, got both");
  std::vector<std::string> names = table.names;
  for (int64_t k = 0; k < table.values.size(1) && names.size() < static_cast<size_t>(table.values.size(1)); ++k)
    names.push_back(std::to_string(k + 1));
  std::vector<Constraint> out = parse_constraints(spec.constraints, names);
  for (const Constraint& c : out) {
    std::vector<int64_t> all{c.column};
    for (const Constraint::Term& t : c.terms) all.push_back(t.column);
    for (const int64_t k : all)
      if (!kinds.empty() && kinds[static_cast<size_t>(k)].is_category())
        throw InputError("[constraint] {}: expected numbers or dates, got the categories of {}", c.text,
                         column_text(table, k));
  }
  return out;
}

// A table that was read, as the file's specification says; `kinds` may be empty.
Dataset table_dataset(Table table, const FileSpec& spec, std::vector<TableColumn> kinds = {}) {
  const bool drop = spec.missing == "drop", recognise = spec.kinds != "numbers" && kinds.empty();
  Dataset set;
  table.values = table.values.to(at::kDouble).contiguous();
  if (recognise) {
    if (spec.columns.empty()) drop_empty_columns(table, set.notes, true);
    if (table.texts.empty()) table.texts.resize(static_cast<size_t>(table.values.size(1)));
    kinds = recognise_columns(table, {spec.kinds, spec.decimal, spec.path}, set.notes);
  }
  if (spec.columns.empty() && is_index(table)) {
    set.notes.push_back(fmt::format("{} only numbers the rows and is left out", column_text(table, 0)));
    keep_columns(table, 1);
    if (!kinds.empty()) kinds.erase(kinds.begin());
  }
  if (drop && spec.columns.empty() && kinds.empty()) drop_empty_columns(table, set.notes);
  if (spec.log_returns && !kinds.empty()) take_days(table, kinds, spec, set.notes);
  if (spec.missing == "keep") drop_empty_rows(table, set.notes);
  if (drop || (spec.log_returns && spec.missing == "keep")) drop_missing(table, spec.path, set.notes);
  set.constraints = constraints_of(table, kinds, spec);
  if (spec.log_returns) put_in_order_of_time(table, spec.path, set.notes), take_log_returns(table, spec.path);
  set.rows = table.values;
  set.names = std::move(table.names);
  set.columns = std::move(kinds);
  set.hash = rows_hash(set.rows);
  set.origin = fmt::format("{}, {} {}", spec.path, set.rows.size(0), spec.log_returns ? "log-returns" : "rows");
  return set;
}

void check_missing(const FileSpec& spec) {
  if (spec.missing != "refuse" && spec.missing != "drop" && spec.missing != "keep")
    throw InputError("[data.missing] expected refuse, drop or keep; got '{}'", spec.missing);
  if (spec.missing == "keep" && spec.kinds == "numbers")
    throw InputError(
        "[data.missing] expected refuse or drop with data.kinds = numbers, got keep: data.kinds = auto can keep "
        "missing values");
}

}  // namespace

Dataset synthetic_dataset(Key key, const SyntheticSpec& spec, int64_t n) {
  Dataset set;
  set.rows = draw_synthetic(key, spec, n);
  set.hash = rows_hash(set.rows);
  set.origin = spec.name == "mixture2d" ? fmt::format("mixture2d, alpha {}, {} points", spec.alpha, n)
               : spec.name == "student" || spec.name == "clusters"
                   ? fmt::format("{}, dimension {}, nu {}, {} points", spec.name, spec.dim, spec.nu, n)
                   : fmt::format("{}, {} points", spec.name, n);
  return set;
}

Dataset image_dataset(const ImageSet& set) {
  Dataset out{.rows = image_rows(set.pixels), .hash = set.hash, .origin = set.origin, .notes = set.notes};
  out.image = set.shape();
  out.labels = set.labels;
  out.classes = set.classes;
  return out;
}

Dataset file_dataset(const FileSpec& spec) {
  const std::string kind = spec.kind == "auto" ? image_kind(spec.path) : spec.kind;
  if (kind == "fields") return field_dataset(spec.path, false);
  if (kind != "table") return image_dataset(read_images({spec.path, kind, spec.subset, spec.imbalance}));
  check_missing(spec);
  const bool lenient = spec.missing != "refuse";
  const ReadRules rules{.lenient = lenient,
                        .advice = lenient ? kAdvice : "",
                        .python = spec.python,
                        .find_order = spec.log_returns,
                        .texts = spec.kinds != "numbers"};
  return table_dataset(read_table(spec.path, {.columns = split(spec.columns), .drop = split(spec.drop)}, rules), spec);
}

Dataset rows_dataset(const at::Tensor& rows, const std::vector<std::string>& names, const FileSpec& spec) {
  return rows_dataset(rows, names, {}, spec);
}

Dataset rows_dataset(const at::Tensor& rows, const std::vector<std::string>& names,
                     const std::vector<TableColumn>& given, const FileSpec& spec) {
  check_missing(spec);
  std::vector<TableColumn> kinds = given;
  if (!kinds.empty() && rows.defined() && rows.dim() == 2 && static_cast<int64_t>(kinds.size()) != rows.size(1))
    throw InputError("[table] {}: expected the kind of each of {} columns, got {}", spec.path, rows.size(1),
                     kinds.size());
  const bool floats = rows.defined() && (rows.scalar_type() == at::kDouble || rows.scalar_type() == at::kFloat);
  if (!floats || !rows.device().is_cpu() || rows.dim() != 2 || rows.size(0) < 1 || rows.size(1) < 1)
    throw InputError("[table] {}: expected rows x columns of float32 or float64 on the CPU, got {}", spec.path,
                     tensor_text(rows));
  const int64_t n = rows.size(0), columns = rows.size(1);
  if (!names.empty() && static_cast<int64_t>(names.size()) != columns)
    throw InputError("[table] {}: expected a name for each of {} columns, got {}", spec.path, columns, names.size());
  Table table{rows.to(at::kDouble).contiguous(), names};
  if (!spec.columns.empty() || !spec.drop.empty()) {
    std::vector<int64_t> chosen =
        choose_columns({.columns = split(spec.columns), .drop = split(spec.drop)}, names, columns, spec.path);
    table.values =
        table.values.index_select(1, at::from_blob(chosen.data(), {static_cast<int64_t>(chosen.size())}, at::kLong))
            .contiguous();
    table.names.clear(), kinds.clear();
    for (const int64_t k : chosen) {
      if (!names.empty()) table.names.push_back(names[k]);
      if (!given.empty()) kinds.push_back(given[static_cast<size_t>(k)]);
    }
  }
  const int64_t width = table.values.size(1);
  const double* x = table.values.const_data_ptr<double>();
  for (int64_t i = 0; i < n * width; ++i)
    if (!std::isfinite(x[i]) && (spec.missing == "refuse" || !std::isnan(x[i])))
      throw InputError("[table] {}: row {}, {}: expected a finite number, got {}{}", spec.path, i / width + 1,
                       column_text(table, i % width), x[i],
                       std::isnan(x[i]) ? " (missing=\"drop\" leaves such rows out)" : "");
  const bool changed = spec.missing != "refuse" || spec.kinds != "numbers";
  if (changed && table.values.is_alias_of(rows)) table.values = table.values.clone();
  return table_dataset(std::move(table), spec, std::move(kinds));
}

bool takes_long(const std::string& path) {
  std::error_code none;
  const auto bytes = std::filesystem::file_size(path, none);
  return !none && bytes > uint64_t{32} << 20;
}

std::string column_name(const Dataset& data, int64_t column) {
  const bool named = column < static_cast<int64_t>(data.names.size()) && !data.names[column].empty();
  return named ? data.names[column] : fmt::format("column {}", column + 1);
}

namespace {

// Rows of some numbers; `what` says in reports which they are.
Dataset part_of(const Dataset& data, int64_t* numbers, int64_t count, const char* what) {
  Dataset out{.names = data.names,
              .columns = data.columns,
              .constraints = data.constraints,
              .notes = data.notes,
              .image = data.image,
              .field = data.field,
              .classes = data.classes};
  const at::Tensor index = at::from_blob(numbers, {count}, at::kLong);
  out.rows = data.rows.index_select(0, index);
  if (data.labels.defined()) out.labels = data.labels.index_select(0, index);
  if (data.conditions.there())
    out.conditions = {data.conditions.columns, data.conditions.values.index_select(0, index), data.conditions.field};
  out.hash = rows_hash(out.rows);
  out.origin = fmt::format("{}, {} of them {}", data.origin, count, what);
  return out;
}

}  // namespace

std::pair<Dataset, Dataset> split_rows(const Dataset& data, double share, Key key) {
  const int64_t n = data.rows.size(0);
  if (share > 0 && n < 2) throw InputError("[data.holdout] expected at least two rows to set some apart, got {}", n);
  const int64_t apart = share > 0 ? std::clamp<int64_t>(std::llround(share * static_cast<double>(n)), 1, n - 1) : 0;
  std::vector<int64_t> order(static_cast<size_t>(n));
  fill_permutation(key, n, order.data());
  std::sort(order.begin(), order.begin() + apart);
  std::sort(order.begin() + apart, order.end());
  Dataset held_out = part_of(data, order.data(), apart, "held out");
  if (apart == 0) return {data, std::move(held_out)};
  return {part_of(data, order.data() + apart, n - apart, "to train"), std::move(held_out)};
}

Dataset some_rows(const Dataset& data, int64_t count, Key key) {
  const int64_t n = data.rows.size(0);
  if (count >= n) return data;
  std::vector<int64_t> order(static_cast<size_t>(n));
  fill_permutation(key, n, order.data());
  std::sort(order.begin(), order.begin() + count);
  return part_of(data, order.data(), count, "at random");
}

}  // namespace htfm
