#include "htfm/source/source_mean.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/parse_number.h"
#include "htfm/base/split.h"

namespace htfm {

namespace {

std::vector<double> numbers(const char* key, const std::string& text) {
  std::vector<double> out;
  for (const std::string& part : split(text)) {
    const std::optional<double> v = parse_finite(trimmed(part));
    if (!v) throw InputError("[{}] expected numbers with commas between, got '{}'", key, text);
    out.push_back(*v);
  }
  if (std::all_of(out.begin(), out.end(), [](double v) { return v == 0; })) out.clear();
  return out;
}

}  // namespace

SourceMean::SourceMean(const SourceMeanSpec& spec)
    : skew_(numbers("source.skew", spec.skew)), shift_(numbers("source.shift", spec.shift)) {
  if (skew_.size() > 1 && shift_.size() > 1 && skew_.size() != shift_.size())
    throw InputError("[source.shift] expected as many numbers as source.skew has, {}, got {}", skew_.size(),
                     shift_.size());
}

void SourceMean::check(int64_t dim) const {
  for (const auto& [key, list] : {std::pair{"source.skew", &skew_}, {"source.shift", &shift_}})
    if (list->size() > 1 && static_cast<int64_t>(list->size()) != dim)
      throw InputError("[{}] expected one number, or one for each of {} coordinates, got {}", key, dim, list->size());
}

void SourceMean::add(const at::Tensor& area, at::Tensor& x) const {
  if (zero()) return;
  const int64_t dim = x.size(1);
  check(dim);
  at::Tensor slope = at::empty({1, dim}, at::kDouble), start = at::empty({1, dim}, at::kDouble);
  for (int64_t k = 0; k < dim; ++k) {
    slope.mutable_data_ptr<double>()[k] = 2 * at(skew_, static_cast<size_t>(k));
    start.mutable_data_ptr<double>()[k] = at(shift_, static_cast<size_t>(k));
  }
  x.add_(area.unsqueeze(1).mul(slope.to(x.device()))).add_(start.to(x.device()));
}

double SourceMean::square(double area) const {
  const size_t n = std::max({skew_.size(), shift_.size(), size_t{1}});
  double sum = 0;
  for (size_t k = 0; k < n; ++k) {
    const double m = at(shift_, k) + 2 * area * at(skew_, k);
    sum += m * m;
  }
  return sum / static_cast<double>(n);
}

double SourceMean::tail_exponent(double exponent, int64_t column, double sign) const {
  const double own = at(skew_, static_cast<size_t>(column));
  return own == 0 ? exponent : own * sign > 0 ? exponent / 2 : std::numeric_limits<double>::infinity();
}

std::span<const SkewedSource> skewed_sources() {
  static const std::vector<SkewedSource> list{
      {"variance-gamma", "V gamma of mean 1 (clock.shape)", "gamma"},
      {"normal-inverse-gaussian", "V inverse Gaussian of mean 1 (clock.shape)", "inverse-gaussian"},
      {"skewed-student", "V inverse gamma (clock.nu): the skewed Student-t law", "inverse-gamma"},
      {"skewed-stable", "V of the alpha/2-stable clock (clock.alpha)", "stable"},
  };
  return list;
}

}  // namespace htfm
