#include "htfm/evaluate/given_quantiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "htfm/stat/order.h"

namespace htfm {

namespace {

constexpr int64_t kFewestShown = 100;  // data rows of a category
constexpr size_t kMostShown = 12;      // categories of a column
constexpr double kFewestBeyond = 5;

std::vector<double> column_of(const GivenRows& of, int64_t condition, double code, int64_t column) {
  const at::Tensor rows = of.rows.to(at::kDouble).contiguous();
  const double *x = rows.const_data_ptr<double>(), *c = of.conditions.const_data_ptr<double>();
  std::vector<double> out;
  for (int64_t i = 0; i < rows.size(0); ++i)
    if (const double v = x[i * rows.size(1) + column];
        c[i * of.conditions.size(1) + condition] == code && std::isfinite(v))
      out.push_back(v);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<double> at_levels(const std::vector<double>& sorted, const std::vector<double>& levels) {
  std::vector<double> out;
  for (const double level : levels) {
    const bool enough = (1 - level) * static_cast<double>(sorted.size()) >= kFewestBeyond;
    out.push_back(enough ? quantile_of_sorted(sorted, level) : std::nan(""));
  }
  return out;
}

}  // namespace

GivenQuantiles quantiles_given(const std::vector<ConditionColumn>& given, const std::vector<std::string>& names,
                               const GivenRows& data, const GivenRows& drawn) {
  GivenQuantiles out{.levels = {0.9, 0.99, 0.999}, .list = {}};
  const auto width = static_cast<int64_t>(given.size());
  const double* c = data.conditions.const_data_ptr<double>();
  for (int64_t k = 0; k < width; ++k) {
    std::vector<std::pair<int64_t, size_t>> counts(given[k].categories.size());
    for (size_t code = 0; code < counts.size(); ++code) counts[code].second = code;
    for (int64_t i = 0; i < data.conditions.size(0) && !counts.empty(); ++i)
      --counts[static_cast<size_t>(c[i * width + k])].first;
    std::sort(counts.begin(), counts.end());
    for (size_t place = 0; place < counts.size(); ++place) {
      const auto [minus_rows, code] = counts[place];
      if (place >= kMostShown || -minus_rows < kFewestShown) {
        ++out.left_out;
        continue;
      }
      for (int64_t column = 0; column < data.rows.size(1); ++column) {
        const std::vector<double> real = column_of(data, k, static_cast<double>(code), column),
                                  fake = column_of(drawn, k, static_cast<double>(code), column);
        out.list.push_back({fmt::format("{} = {}", given[k].name, given[k].categories[code]),
                            column < static_cast<int64_t>(names.size()) ? names[static_cast<size_t>(column)]
                                                                        : fmt::format("column {}", column + 1),
                            static_cast<int64_t>(real.size()), static_cast<int64_t>(fake.size()),
                            at_levels(real, out.levels), at_levels(fake, out.levels)});
      }
    }
  }
  return out;
}

}  // namespace htfm
