#include "htfm/metric/quantile_error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"
#include "htfm/base/parallel.h"
#include "htfm/metric/tails.h"
#include "htfm/stat/sort.h"

namespace htfm {

namespace {

// Quantile of values of which value i stands `counts[i]` times, `total` in all.
double counted_quantile(const std::vector<double>& sorted, const std::vector<int64_t>& order,
                        const std::vector<int32_t>& counts, int64_t total, double level) {
  const double position = level * static_cast<double>(total - 1);
  const auto below = static_cast<int64_t>(position);
  int64_t seen = total;
  double above = sorted.back();
  // Levels are high: from the top it is not far.
  for (size_t i = sorted.size(); i-- > 0;) {
    const int64_t count = counts[order[i]];
    if (count == 0) continue;
    seen -= count;
    if (seen <= below)
      return std::lerp(sorted[i], below + 1 < seen + count ? sorted[i] : above, position - static_cast<double>(below));
    above = sorted[i];
  }
  return sorted.front();
}

}  // namespace

double finite_mean(std::span<const double> values) {
  double sum = 0;
  int64_t n = 0;
  for (const double v : values)
    if (std::isfinite(v)) sum += v, ++n;
  return n > 0 ? sum / static_cast<double>(n) : kNan;
}

QuantileYardstick::QuantileYardstick(const at::Tensor& real, std::vector<double> levels) : levels_(std::move(levels)) {
  const int64_t n = real.size(0), d = real.size(1);
  if (n < 2) throw InputError("[quantiles] expected at least two rows to compare with, got {}", n);
  const double* x = real.const_data_ptr<double>();
  std::vector<double> column(static_cast<size_t>(n));
  for (int64_t k = 0; k < d; ++k) {
    for (int64_t i = 0; i < n; ++i) column[i] = x[i * d + k];
    sort_values(column);
    centre_.push_back(quantile_of_sorted(column, 0.5));
    double range = 0;
    for (const double tail : {0.25, 0.1, 0.02, 0.0})  // wider where ties leave no range
      if (range == 0) range = quantile_of_sorted(column, 1 - tail) - quantile_of_sorted(column, tail);
    scale_.push_back(range);
    if (range > 0) columns_.push_back(k);
  }
  for (int64_t view = 0; view < views(); ++view) {
    const std::vector<double> own = view_values(real, view);
    std::vector<int64_t> order(own.size());
    std::iota(order.begin(), order.end(), int64_t{0});
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return own[a] < own[b]; });
    std::vector<double> sorted;
    sorted.reserve(order.size());
    for (const int64_t i : order) sorted.push_back(own[i]);
    order_.push_back(std::move(order)), sorted_.push_back(std::move(sorted));
    for (const double level : levels_) real_.push_back(quantile_of_sorted(sorted_.back(), level));
  }
}

std::vector<double> QuantileYardstick::view_values(const at::Tensor& rows, int64_t view) const {
  const int64_t n = rows.size(0), d = rows.size(1), k = column(view);
  if (d != static_cast<int64_t>(centre_.size()))
    throw InputError("[quantiles] expected {} columns, got {}", centre_.size(), d);
  const double* x = rows.const_data_ptr<double>();
  std::vector<double> out(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    if (k >= 0) {
      out[i] = std::abs(x[i * d + k] - centre_[k]);
      continue;
    }
    double square = 0;
    for (const int64_t c : columns_)
      square += (x[i * d + c] - centre_[c]) / scale_[c] * ((x[i * d + c] - centre_[c]) / scale_[c]);
    out[i] = std::sqrt(square);
  }
  return out;
}

std::vector<double> QuantileYardstick::values(const at::Tensor& rows, int64_t view) const {
  std::vector<double> out = view_values(rows, view);
  std::erase_if(out, [](double v) { return !std::isfinite(v); });
  sort_values(out);
  return out;
}

std::vector<double> QuantileYardstick::quantiles(const at::Tensor& rows) const {
  std::vector<double> out(static_cast<size_t>(views()) * levels_.size(), kNan);
  parallel_for(views(), [&](int64_t view) {
    const std::vector<double> sorted = values(rows, view);
    if (sorted.empty()) return;
    for (size_t l = 0; l < levels_.size(); ++l) out[view * levels_.size() + l] = quantile_of_sorted(sorted, levels_[l]);
  });
  return out;
}

std::vector<double> QuantileYardstick::errors(const std::vector<double>& model, const std::vector<double>& real) const {
  std::vector<double> out(real.size());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = model[i] > 0 && real[i] > 0 ? std::abs(std::log(model[i] / real[i])) : kNan;
  return out;
}

std::vector<QuantileYardstick::Score> QuantileYardstick::compare(const std::vector<std::vector<double>>& models,
                                                                 Key key, int64_t rounds) const {
  const auto n = static_cast<int64_t>(sorted_[0].size());
  std::vector<std::vector<double>> drawn(models.size(), std::vector<double>(static_cast<size_t>(rounds)));
  parallel_for(rounds, [&](int64_t round) {
    const Key own = key.child(static_cast<uint64_t>(round));
    std::vector<int32_t> counts(static_cast<size_t>(n), 0);
    for (int64_t i = 0; i < n; ++i) ++counts[own.below(static_cast<uint64_t>(n), static_cast<uint64_t>(i))];
    std::vector<double> real;
    for (int64_t view = 0; view < views(); ++view)
      for (const double level : levels_)
        real.push_back(counted_quantile(sorted_[view], order_[view], counts, n, level));
    for (size_t m = 0; m < models.size(); ++m) drawn[m][round] = finite_mean(errors(models[m], real));
  });
  std::vector<Score> out(models.size());
  for (size_t m = 0; m < models.size(); ++m) {
    Score& s = out[m];
    s.error = finite_mean(errors(models[m]));
    s.difference = finite_mean(errors(models[0])) - s.error;
    const double mean = finite_mean(drawn[m]);
    std::vector<double> differences;
    for (int64_t r = 0; r < rounds; ++r) {
      s.standard_error += (drawn[m][r] - mean) * (drawn[m][r] - mean) / static_cast<double>(rounds - 1);
      differences.push_back(drawn[0][r] - drawn[m][r]);
    }
    s.standard_error = std::sqrt(s.standard_error);
    std::erase_if(differences, [](double v) { return !std::isfinite(v); });
    std::sort(differences.begin(), differences.end());
    s.lower = differences.empty() ? kNan : quantile_of_sorted(differences, 0.025);
    s.upper = differences.empty() ? kNan : quantile_of_sorted(differences, 0.975);
  }
  return out;
}

}  // namespace htfm
