// A portfolio further out than plain samples show: rare samples of the model (htfm/rare/rare.h), each with its weight,
// and the same rounds of columns' laws as for plain ones.
#pragma once

#include <functional>
#include <vector>

#include "htfm/risk/loss_model.h"

namespace htfm {

class FarPortfolio {
 public:
  /// Draws samples beyond a level that is ten times as frequent as p. `columns` and `weights` as of a LossModel, whose
  /// columns must have laws of the model's own.
  FarPortfolio(const Model& model, const std::vector<int64_t>& columns, const std::vector<double>& weights, bool high,
               double p, uint64_t seed, const std::function<void(int64_t)>& report);

  /// Fills quantile and shortfall of the level: by the model's own laws, or by those of a round, which sees half of the
  /// samples.
  void measure(RiskMeasure& m) const;
  void measure(RiskMeasure& m, const std::vector<Margin>& laws, Key half) const;

 private:
  // Whether a column's losses have a tail without a mean under these laws.
  bool has_no_mean(const std::vector<Margin>& laws) const;
  void from(RiskMeasure& m, std::vector<std::pair<double, double>> losses, double count, bool endless) const;

  const Model& model_;
  std::vector<int64_t> columns_;
  std::vector<double> weights_;
  bool high_;
  std::vector<const Margin*> own_;
  std::vector<std::vector<double>> values_;     // of the columns
  std::vector<std::vector<TailPlace>> places_;  // likewise
  std::vector<double> sample_weights_;
};

}  // namespace htfm
