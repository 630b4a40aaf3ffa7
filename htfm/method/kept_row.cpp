#include "htfm/method/kept_row.h"

#include <ATen/ops/empty.h>

#include "htfm/base/error.h"

namespace htfm {

std::vector<double> row_values(const at::Tensor& row) {
  return {row.const_data_ptr<double>(), row.const_data_ptr<double>() + row.numel()};
}

void save_row(const std::string& name, const std::vector<double>& row, std::map<std::string, at::Tensor>& out) {
  at::Tensor kept = at::empty({static_cast<int64_t>(row.size())}, at::kDouble);
  std::copy(row.begin(), row.end(), kept.mutable_data_ptr<double>());
  out[name] = kept;
}

std::vector<double> load_row(const std::string& name, const std::map<std::string, at::Tensor>& in,
                             const std::string& path) {
  const auto found = in.find(name);
  if (found == in.end() || found->second.scalar_type() != at::kDouble)
    throw InputError("[checkpoint] {}: expected the tensor '{}' in float64, got none", path, name);
  return row_values(found->second);
}

}  // namespace htfm
