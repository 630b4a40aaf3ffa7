#include "htfm/rare/event_level.h"

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/stat/estimators.h"
#include "htfm/stat/order.h"

namespace htfm {

namespace {

constexpr int64_t kSizeRows = 4096, kSizeImages = 256, kSpreadRows = 1000;

// The distance from the coordinate-wise median: of several columns in units of their spreads, as `htfm tails` measures
// a radius, over those that are numbers and not missing; of one column, and of images and fields, in their own.
std::function<double(std::span<const double>)> measured_size(const RowNames& names, LatentSampler& sampler) {
  const int64_t n = names.image ? kSizeImages : kSizeRows, columns = sampler.columns();
  const at::Tensor rows = sampler.draw(Key(0).child("size"), 0, n);
  const double* x = rows.const_data_ptr<double>();
  std::vector<double> centre(static_cast<size_t>(columns)), unit(static_cast<size_t>(columns));
  parallel_for(columns, [&](int64_t k) {
    std::vector<double> values;
    for (int64_t i = 0; i < n; ++i)
      if (std::isfinite(x[i * columns + k])) values.push_back(x[i * columns + k]);
    if (values.empty()) values.push_back(0);
    std::sort(values.begin(), values.end());
    const auto [middle, spread] = centre_and_spread(values);
    centre[k] = middle;
    const bool number = names.kinds.empty() || names.kinds[static_cast<size_t>(k)].kind == ColumnKind::number;
    unit[k] = !number ? 0 : names.image || columns == 1 ? 1 : spread > 0 ? 1 / spread : 0;
  });
  return [centre, unit](std::span<const double> row) {
    double square = 0;
    bool any = false;
    for (size_t k = 0; k < centre.size(); ++k) {
      if (unit[k] == 0 || std::isnan(row[k])) continue;
      const double d = (row[k] - centre[k]) * unit[k];
      square += d * d, any = true;
    }
    return any ? std::sqrt(square) : std::numeric_limits<double>::quiet_NaN();
  };
}

std::shared_ptr<Expression> read(const std::string& text, const RowNames& names, LatentSampler& sampler,
                                 const std::string& where) {
  auto out = std::make_shared<Expression>(text, names, where);
  if (out->uses_size()) out->set_size(measured_size(names, sampler));
  return out;
}

}  // namespace

std::vector<double> levels_of(const at::Tensor& rows, const RowLevel& level) {
  const int64_t n = rows.size(0), columns = rows.size(1);
  const double* x = rows.const_data_ptr<double>();
  std::vector<double> out(static_cast<size_t>(n));
  parallel_ranges(n, std::max<int64_t>(1, 65536 / columns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double own = level({x + i * columns, static_cast<size_t>(columns)});
      out[static_cast<size_t>(i)] = std::isnan(own) ? -kHolds : own;
    }
  });
  return out;
}

RowNames row_names(const Model& model) {
  RowNames out;
  out.count = model.transform().columns(), out.image = model.image();
  if (!model.image()) out.columns = model.column_names(), out.kinds = model.columns();
  return out;
}

RowLevel statistic_level(const Statistic& statistic, const RowNames& names, LatentSampler& sampler,
                         const std::string& where) {
  if (statistic.function) return statistic.function;
  const auto expression = read(statistic.expression, names, sampler, where);
  if (expression->is_condition())
    throw InputError("[{}] expected a number of a sample, such as a + b, got the condition '{}'", where,
                     statistic.expression);
  return [expression](std::span<const double> row) { return expression->number(row); };
}

RowLevel event_level(const Event& event, const RowNames& names, LatentSampler& sampler, const std::string& where) {
  if (event.condition.empty()) {
    const RowLevel number = statistic_level(event.statistic, names, sampler, where);
    return [number, above = event.above](std::span<const double> row) {
      const double own = number(row);
      return own > above ? kHolds : own;
    };
  }
  const auto expression = read(event.condition, names, sampler, where);
  if (!expression->is_condition())
    throw InputError("[{}] expected a condition, such as a > 1, got the number '{}'", where, event.condition);
  const at::Tensor plain = sampler.draw(Key(0).child("spread"), 0, kSpreadRows);
  expression->set_spreads({plain.const_data_ptr<double>(), static_cast<size_t>(plain.numel())});
  return [expression](std::span<const double> row) {
    const Truth truth = expression->truth(row);
    return truth.holds ? kHolds : std::min(truth.margin, std::numeric_limits<double>::max());
  };
}

}  // namespace htfm
