#include "htfm/risk/far_portfolio.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/nan.h"
#include "htfm/rare/rare.h"
#include "htfm/stat/margin.h"

namespace htfm {

namespace {

constexpr double kWider = 10;  // times as frequent as the level: rounds look for it there
constexpr int64_t kRareSamples = 10000;

}  // namespace

FarPortfolio::FarPortfolio(const Model& model, const std::vector<int64_t>& columns, const std::vector<double>& weights,
                           bool high, double p, uint64_t seed, const std::function<void(int64_t)>& report)
    : model_(model), columns_(columns), weights_(weights), high_(high) {
  const double sign = high ? 1 : -1;
  Statistic loss;
  loss.function = [&](std::span<const double> row) {
    double sum = 0;
    for (size_t k = 0; k < columns.size(); ++k) sum += weights[k] * row[static_cast<size_t>(columns[k])];
    return sign * sum;
  };
  RareOptions options;
  options.sample = sample_options(model.config());
  options.sample->seed = seed;
  options.report = report;
  const RareSamples drawn = sample_beyond(model, loss, 1 - kWider * (1 - p), kRareSamples, options);
  const at::Tensor rows = drawn.samples.contiguous(), own = drawn.weights.to(at::kDouble).contiguous();
  const int64_t n = rows.size(0), all = rows.size(1);
  sample_weights_.assign(own.const_data_ptr<double>(), own.const_data_ptr<double>() + n);
  const TableTransform& transform = model.transform();
  std::vector<int64_t> seen(static_cast<size_t>(all), -1);
  for (int64_t k = 0, next = 0; k < all; ++k)
    if (!transform.list()[static_cast<size_t>(k)].constant) seen[static_cast<size_t>(k)] = next++;
  for (const int64_t k : columns) {
    std::vector<double>& values = values_.emplace_back();
    std::vector<TailPlace>& places = places_.emplace_back();
    const int64_t place = seen[static_cast<size_t>(k)];
    own_.push_back(place < 0 ? nullptr : &transform.margin(place));
    const Key key = Key(seed).child("far").child(static_cast<uint64_t>(k));
    for (int64_t i = 0; i < n; ++i) {
      const double u = key.uniform(static_cast<uint64_t>(i)), x = rows.const_data_ptr<double>()[i * all + k];
      values.push_back(x);
      if (place >= 0) places.push_back(own_.back()->place(transform.list()[static_cast<size_t>(k)].spread(x, u), u));
    }
  }
}

// Pairs of loss and weight; a weight of 1 stands for a share 1 / count.
void FarPortfolio::from(RiskMeasure& m, std::vector<std::pair<double, double>> losses, double count,
                        bool endless) const {
  const double sign = high_ ? 1 : -1, wanted = (1 - m.p) * count;
  std::sort(losses.begin(), losses.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  double sum = 0, mean = 0;
  m.quantile.value = m.sfall.value = kNan;
  for (const auto& [loss, weight] : losses) {
    const double share = std::min(weight, wanted - sum);
    mean += share * loss, sum += weight;
    if (sum < wanted) continue;
    m.quantile.value = sign * loss;
    m.sfall.value = sign * (endless ? std::numeric_limits<double>::infinity() : mean / wanted);
    return;
  }
}

bool FarPortfolio::has_no_mean(const std::vector<Margin>& laws) const {
  for (size_t k = 0; k < columns_.size(); ++k)
    if (own_[k] && weights_[k] != 0 && !((weights_[k] > 0) == high_ ? laws[k].above() : laws[k].below()).has_mean())
      return true;
  return false;
}

void FarPortfolio::measure(RiskMeasure& m) const {
  std::vector<Margin> laws;
  for (const Margin* law : own_) laws.push_back(law ? *law : Margin());
  std::vector<std::pair<double, double>> losses;
  const double sign = high_ ? 1 : -1;
  for (size_t i = 0; i < sample_weights_.size(); ++i) {
    double sum = 0;
    for (size_t k = 0; k < columns_.size(); ++k) sum += weights_[k] * values_[k][i];
    losses.emplace_back(sign * sum, sample_weights_[i]);
  }
  from(m, std::move(losses), static_cast<double>(sample_weights_.size()), has_no_mean(laws));
}

void FarPortfolio::measure(RiskMeasure& m, const std::vector<Margin>& laws, Key half) const {
  std::vector<std::pair<double, double>> losses;
  const double sign = high_ ? 1 : -1;
  const size_t n = sample_weights_.size() / 2;
  for (size_t j = 0; j < n; ++j) {
    const size_t i = 2 * j + (half.bits(j / 64) >> (j % 64) & 1);
    double sum = 0;
    for (size_t k = 0; k < columns_.size(); ++k) {
      const ColumnTransform& kind = model_.transform().list()[static_cast<size_t>(columns_[k])];
      if (weights_[k] != 0) sum += weights_[k] * (own_[k] ? kind.settle(laws[k].value(places_[k][i])) : values_[k][i]);
    }
    losses.emplace_back(sign * sum, sample_weights_[i]);
  }
  from(m, std::move(losses), static_cast<double>(n), has_no_mean(laws));
}

}  // namespace htfm
