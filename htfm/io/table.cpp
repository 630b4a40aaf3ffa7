#include "htfm/io/table.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/nan_to_num.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/io/gzip.h"
#include "htfm/io/npy.h"
#include "htfm/io/parquet.h"
#include "htfm/io/spreadsheet.h"
#include "htfm/io/text.h"

namespace htfm {

namespace {

// A vector is one column.
at::Tensor read_matrix(const std::string& path) {
  at::Tensor values = read_npy(path, NpyNumbers::real);
  return values.dim() == 1 ? values.view({-1, 1}) : values;
}

Table read_packed_csv(const std::string& path, const ColumnChoice& choice, const ReadRules& rules) {
  GzipFile file(path);
  return read_csv([&](std::string& buffer) { return file.append_to(buffer, size_t{4} << 20); }, path, choice, rules);
}

// ".csv", or of a packed file ".csv.gz", in small letters; empty where there is none.
std::string extension_of(const std::string& path) {
  const std::string name = lower_case(path.substr(path.rfind('/') + 1));  // 0 where there is no slash
  const bool packed = name.ends_with(".gz");
  const size_t dot = (packed ? name.substr(0, name.size() - 3) : name).rfind('.');
  return dot == std::string::npos ? (packed ? ".gz" : "") : name.substr(dot);
}

}  // namespace

Table read_table(const std::string& path, const ColumnChoice& choice, const ReadRules& rules) {
  const std::string extension = extension_of(path);
  if (extension == ".csv" || extension == ".tsv") return read_csv(path, choice, rules);
  if (extension == ".parquet" || extension == ".pq") {
    ReadRules own = rules;
    own.header = true;
    return parse_csv(parquet_as_csv(path, rules.python), path, choice, own);
  }
  if (extension == ".csv.gz" || extension == ".tsv.gz") return read_packed_csv(path, choice, rules);
  if (extension == ".xlsx" || extension == ".xlsm")
    return parse_csv(xlsx_as_csv(path, rules.python), path, choice, rules);
  if (extension != ".npy") {
    throw InputError("[table] {}: expected a file named .npy, .csv, .tsv (or .csv.gz), .parquet or .xlsx, got {}", path,
                     extension.empty() ? "a name without an extension" : in_quotes(extension));
  }
  Table table;
  table.values = read_matrix(path);
  check_matrix(table.values, path);
  std::vector<int64_t> positions = choose_columns(choice, {}, table.values.size(1), path);
  if (!choice.columns.empty() || !choice.drop.empty()) {
    const int64_t count = static_cast<int64_t>(positions.size());
    const at::Tensor index = at::from_blob(positions.data(), {count}, at::TensorOptions().dtype(at::kLong));
    table.values = at::index_select(table.values, 1, index);
  }
  if (rules.texts) table.texts.resize(positions.size());
  check_finite(rules.lenient ? table.values.nan_to_num(0.0, HUGE_VAL, -HUGE_VAL) : table.values, path, positions);
  return table;
}

at::Tensor read_sample_rows(const std::string& path) {
  if (!path.ends_with(".npy")) return read_table(path).values;
  at::Tensor rows = read_npy(path);
  check_matrix(rows, path);
  return rows;
}

}  // namespace htfm
