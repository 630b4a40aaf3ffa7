#include "htfm/io/table.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>

#include <cctype>

#include "htfm/base/error.h"
#include "htfm/io/npy.h"
#include "htfm/io/text.h"

namespace htfm {

Table read_table(const std::string& path, const ColumnChoice& choice) {
  const size_t name = path.rfind('/') + 1;  // 0 where there is no slash
  const size_t dot = path.rfind('.');
  std::string extension = dot == std::string::npos || dot < name ? "" : path.substr(dot);
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));

  if (extension == ".csv") return read_csv(path, choice);
  if (extension != ".npy") {
    throw InputError("[table] {}: expected a file named .npy or .csv, got {}", path,
                     extension.empty() ? "a name without an extension" : in_quotes(extension));
  }
  Table table;
  table.values = read_npy(path);
  check_matrix(table.values, path);
  std::vector<int64_t> positions = choose_columns(choice, {}, table.values.size(1), path);
  if (!choice.columns.empty() || !choice.drop.empty()) {
    const int64_t count = static_cast<int64_t>(positions.size());
    const at::Tensor index = at::from_blob(positions.data(), {count}, at::TensorOptions().dtype(at::kLong));
    table.values = at::index_select(table.values, 1, index);
  }
  check_finite(table.values, path, positions);
  return table;
}

}  // namespace htfm
