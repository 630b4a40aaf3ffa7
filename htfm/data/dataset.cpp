#include "htfm/data/dataset.h"

#include <ATen/ops/empty.h>

#include "htfm/base/error.h"
#include "htfm/io/hash.h"
#include "htfm/io/table.h"

namespace htfm {

namespace {

double quantile(std::vector<double>& v, double p) {
  const auto k = static_cast<std::ptrdiff_t>(p * static_cast<double>(v.size() - 1));
  std::nth_element(v.begin(), v.begin() + k, v.end());
  return v[static_cast<size_t>(k)];
}

std::string rows_hash(const at::Tensor& rows) {
  Xxh64 hash;
  hash.update(rows.const_data_ptr(), rows.nbytes());
  return hash.hex();
}

}  // namespace

Normaliser Normaliser::fit(const std::string& kind, const at::Tensor& rows) {
  Normaliser out;
  if (kind == "none") return out;
  const int64_t n = rows.size(0), dim = rows.size(1);
  const double* x = rows.const_data_ptr<double>();
  std::vector<double> column(static_cast<size_t>(n));
  for (int64_t k = 0; k < dim; ++k) {
    for (int64_t i = 0; i < n; ++i) column[i] = x[i * dim + k];
    double centre = 0, scale = 0;
    if (kind == "zscore") {
      for (const double v : column) centre += v;
      centre /= static_cast<double>(n);
      for (const double v : column) scale += (v - centre) * (v - centre);
      scale = std::sqrt(scale / static_cast<double>(n));
    } else if (kind == "robust") {
      centre = quantile(column, 0.5);
      scale = (quantile(column, 0.75) - quantile(column, 0.25)) / 1.3489795003921634;
    } else {
      throw InputError("[data.normalise] expected none, zscore or robust; got '{}'", kind);
    }
    out.centre.push_back(centre);
    out.scale.push_back(scale > 0 ? scale : 1);
  }
  return out;
}

at::Tensor Normaliser::apply(const at::Tensor& rows) const {
  const int64_t n = rows.size(0), dim = rows.size(1);
  at::Tensor out = at::empty({n, dim}, at::kFloat);
  const double* x = rows.const_data_ptr<double>();
  float* y = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < n * dim; ++i) y[i] = static_cast<float>(centre.empty() ? x[i] : (x[i] - centre[i % dim]) / scale[i % dim]);
  return out;
}

at::Tensor Normaliser::invert(const at::Tensor& rows) const {
  if (centre.empty()) return rows;
  const int64_t n = rows.size(0), dim = rows.size(1);
  at::Tensor out = at::empty({n, dim}, at::kDouble);
  const double* x = rows.const_data_ptr<double>();
  double* y = out.mutable_data_ptr<double>();
  for (int64_t i = 0; i < n * dim; ++i) y[i] = centre[i % dim] + scale[i % dim] * x[i];
  return out;
}

Dataset synthetic_dataset(Key key, const SyntheticSpec& spec, int64_t n) {
  Dataset set;
  set.rows = draw_synthetic(key, spec, n);
  set.hash = rows_hash(set.rows);
  set.origin =
      spec.name == "mixture2d" ? fmt::format("mixture2d, alpha {}, {} points", spec.alpha, n) : fmt::format("{}, {} points", spec.name, n);
  return set;
}

Dataset file_dataset(const std::string& path, const std::string& columns) {
  ColumnChoice choice;
  for (size_t at = 0; at < columns.size();) {
    const size_t comma = std::min(columns.find(',', at), columns.size());
    choice.columns.push_back(columns.substr(at, comma - at));
    at = comma + 1;
  }
  Table table = read_table(path, choice);
  Dataset set;
  set.rows = table.values.to(at::kDouble).contiguous();
  set.names = std::move(table.names);
  set.hash = rows_hash(set.rows);
  set.origin = fmt::format("{}, {} rows", path, set.rows.size(0));
  return set;
}

}  // namespace htfm
