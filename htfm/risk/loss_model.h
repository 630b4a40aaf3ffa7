// The losses of a model as samples: once by the model as it is, and round after round with laws of the columns that the
// training rows leave possible, at the same places.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "htfm/model/model.h"
#include "htfm/risk/measure.h"
#include "htfm/stat/margin_rounds.h"

namespace htfm {

class LossModel {
 public:
  /// Draws n samples of these columns of the table. `weights`: of a portfolio, one for each of them; empty: none. The
  /// model must outlive it.
  LossModel(const Model& model, const std::vector<int64_t>& columns, std::vector<double> weights, int64_t n,
            uint64_t seed, const std::function<void(int64_t, int64_t)>& report = {});

  int64_t samples() const { return n_; }
  int64_t left_out() const { return left_out_; }  ///< samples that are not finite, or have a missing value
  /// Whether the columns that the portfolio holds have laws of the model's own, or are constant.
  bool portfolio_of_laws() const;
  /// The columns' laws of a round.
  std::vector<Margin> laws(int64_t b) const;
  bool exact(size_t loss) const { return loss < columns_.size() && columns_[loss].exact; }

  /// Prepares rounds: from the training rows (n x columns), or, where they are undefined and the columns' laws are the
  /// model's own, from rows of the model that are brought to these laws. Without either, samples alone are drawn anew.
  RiskUncertainty prepare_rounds(const at::Tensor& rows, int64_t rounds, Key key);

  LossSamples point() const;
  /// A round sees half of the samples, one of each pair: their mean then has the noise of all of them.
  LossSamples round(int64_t b) const;

 private:
  struct Column {
    const ColumnTransform* kind = nullptr;
    int64_t column = 0;                // of the table
    bool own = false;                  // the law is the model's: its values are those of the law at the places
    bool exact = false;                // and the model has been set right, so that the places are those of the law
    Margin law;                        // the model's own, or that of the training rows
    std::vector<TailPlace> places;     // of the samples
    std::vector<double> values;        // of the samples
    std::vector<double> spread;        // the same, lattices spread over their cells; only where the law is not own
    std::vector<MarginRounds> rounds;  // none or one
  };
  LossSamples pushed(const std::vector<Margin>& laws, const std::function<int64_t(int64_t)>& row, int64_t n) const;
  void add_portfolio(LossSamples& samples) const;
  bool fit_law(Column& column, const std::vector<double>& values, size_t k) const;
  std::vector<double> spread_rows(const at::Tensor& rows, size_t k) const;
  at::Tensor rows_like_the_model() const;

  const Model& model_;
  std::vector<double> weights_;
  int64_t n_ = 0, left_out_ = 0;
  Key key_;
  std::vector<Column> columns_;
  RowRounds rows_;
};

}  // namespace htfm
