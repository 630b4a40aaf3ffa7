#include "htfm/coupling/size.h"

#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_cholesky.h>
#include <ATen/ops/linalg_solve_triangular.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/parse_number.h"
#include "htfm/base/registry.h"
#include "htfm/io/table.h"
#include "htfm/stat/points.h"
#include "htfm/stat/scatter.h"

namespace htfm {

namespace {

class Radius final : public SizeStatistic {
 public:
  explicit Radius(std::vector<double> centre) : centre_(std::move(centre)) {}
  double operator()(const float* row, int64_t) const override { return distance(row, centre_); }
  bool is_distance() const override { return true; }

 private:
  std::vector<double> centre_;
};

class Maximum final : public SizeStatistic {
 public:
  explicit Maximum(std::vector<double> centre) : centre_(std::move(centre)) {}
  double operator()(const float* row, int64_t) const override {
    double most = 0;
    for (size_t k = 0; k < centre_.size(); ++k) most = std::max(most, std::abs(row[k] - centre_[k]));
    return most;
  }

 private:
  std::vector<double> centre_;
};

class Column final : public SizeStatistic {
 public:
  Column(int64_t column, double centre) : column_(column), centre_(centre) {}
  double operator()(const float* row, int64_t) const override { return std::abs(row[column_] - centre_); }

 private:
  int64_t column_;
  double centre_;
};

// |L^-1 (x - c)| with L L' a robust scatter.
class Mahalanobis final : public SizeStatistic {
 public:
  Mahalanobis(std::vector<double> centre, std::vector<double> inverse)
      : centre_(std::move(centre)), inverse_(std::move(inverse)) {}
  double operator()(const float* row, int64_t) const override {
    double square = 0;
    for (size_t i = 0; i < centre_.size(); ++i) {
      double sum = 0;
      for (size_t k = 0; k <= i; ++k) sum += inverse_[i * centre_.size() + k] * (row[k] - centre_[k]);
      square += sum * sum;
    }
    return std::sqrt(square);
  }

 private:
  std::vector<double> centre_, inverse_;
};

class FromFile final : public SizeStatistic {
 public:
  explicit FromFile(std::vector<double> values) : values_(std::move(values)) {}
  double operator()(const float*, int64_t index) const override { return values_[static_cast<size_t>(index)]; }
  bool homogeneous() const override { return false; }

 private:
  std::vector<double> values_;
};

class UserStatistic final : public SizeStatistic {
 public:
  UserStatistic(std::function<double(std::span<const float>)> f, int64_t dim) : f_(std::move(f)), dim_(dim) {}
  double operator()(const float* row, int64_t) const override { return f_({row, static_cast<size_t>(dim_)}); }
  bool homogeneous() const override { return false; }

 private:
  std::function<double(std::span<const float>)> f_;
  int64_t dim_;
};

std::vector<double> numbers(const at::Tensor& t) {
  return {t.const_data_ptr<double>(), t.const_data_ptr<double>() + t.numel()};
}

int64_t find_column(const std::string& column, const std::vector<std::string>& names, int64_t dim) {
  if (const auto found = std::find(names.begin(), names.end(), column); found != names.end())
    return found - names.begin();
  const std::optional<int64_t> number = parse_number<int64_t>(column);
  if (!number || *number < 1 || *number > dim)
    throw InputError("[coupling.size_column] expected the name of a column or a number from 1 to {}, got '{}'", dim,
                     column);
  return *number - 1;
}

std::unique_ptr<SizeStatistic> size_from_file(const std::string& path, int64_t n) {
  if (path.empty()) throw InputError("[coupling.size_path] expected a file with one number for each row, got none");
  const at::Tensor values = read_table(path).values.to(at::kDouble).contiguous();
  if (values.numel() != n)
    throw InputError("[coupling.size_path] {}: expected {} numbers, one for each row of the data, got {}", path, n,
                     values.numel());
  return std::make_unique<FromFile>(numbers(values));
}

}  // namespace

std::span<const SizeInfo> size_statistics() {
  using Names = std::vector<std::string>;
  static const std::vector<SizeInfo> list{
      {"radius", "distance from the coordinate-wise median",
       [](const SizeSpec&, const at::Tensor& rows, const Names&) {
         return std::make_unique<Radius>(numbers(median_centre(rows)));
       }},
      {"mahalanobis", "distance in units of a robust scatter matrix",
       [](const SizeSpec&, const at::Tensor& rows, const Names&) {
         const at::Tensor centre = median_centre(rows), root = at::linalg_cholesky(robust_scatter(rows, centre));
         const at::Tensor inverse =
             at::linalg_solve_triangular(root, at::eye(rows.size(1), at::kDouble), /*upper=*/false);
         return std::make_unique<Mahalanobis>(numbers(centre), numbers(inverse.contiguous()));
       }},
      {"maximum", "largest distance of a coordinate from its median",
       [](const SizeSpec&, const at::Tensor& rows, const Names&) {
         return std::make_unique<Maximum>(numbers(median_centre(rows)));
       }},
      {"column", "distance of one column from its median",
       [](const SizeSpec& s, const at::Tensor& rows, const Names& names) {
         const int64_t k = find_column(s.column, names, rows.size(1));
         return std::make_unique<Column>(k, numbers(median_centre(rows))[static_cast<size_t>(k)]);
       }},
      {"file", "a number for each row, from a file",
       [](const SizeSpec& s, const at::Tensor& rows, const Names&) { return size_from_file(s.path, rows.size(0)); }},
  };
  return list;
}

std::unique_ptr<SizeStatistic> make_size(const SizeSpec& spec, const at::Tensor& rows,
                                         const std::vector<std::string>& names) {
  return find_named(size_statistics(), spec.kind, "coupling.size").make(spec, rows, names);
}

std::unique_ptr<SizeStatistic> make_size(std::function<double(std::span<const float>)> statistic, int64_t dim) {
  return std::make_unique<UserStatistic>(std::move(statistic), dim);
}

}  // namespace htfm
