// What risk people ask of a model of a table: value at risk, expected shortfall and return levels of each column and of
// a weighted sum, joint and conditional exceedances, stress tables, scenarios; each with an interval that holds the
// uncertainty of the fit (doc/risk.md).
//
//   Model model = Model::load(resolve_checkpoint("run"));
//   const RiskReport report = risk(model, {.losses = "low", .portfolio = read_portfolio("weights.csv")});
//   report.losses[0].measures[1].quantile.value;   // value at risk of the first column at the second level
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/model/model.h"
#include "htfm/risk/portfolio.h"
#include "htfm/tail/risk_measures.h"

namespace htfm HTFM_PUBLIC {

struct RiskOptions {
  std::vector<double> levels = {0.95, 0.99, 0.995, 0.999};   ///< of quantiles, from 0.5 up
  std::vector<double> return_periods = {100, 200, 1000};     ///< "once in so many"
  double rows_per_period = 1;                                ///< rows of a period: 250 makes years of trading days
  std::string losses = "high";                               ///< which values are losses: high or low; or a list such
                                                             ///< as "low,fire=high,portfolio=low"
  Portfolio portfolio = {};                                  ///< weights of columns; empty: none
  double stress_level = 0.99;                                ///< a stress is a loss beyond this level
  std::vector<double> stress_quantiles = {0.05, 0.5, 0.95};  ///< of all columns under stress
  std::vector<std::string> stress = {};  ///< columns to stress, or "portfolio"; empty: all of them, 12 columns at most
  int64_t most_pairs = 100;              ///< pairs of columns, those that come together most
  int64_t n = 0;                         ///< samples of the model; 0: 100,000, and fewer of more than 16 columns
  int64_t rounds = 200;                  ///< of the bootstrap that the intervals come from; 0: no intervals
  int64_t refits = 0;                    ///< models trained anew, each on rows drawn with replacement
  double interval = 0.95;                ///< level of the intervals
  std::optional<uint64_t> seed = {};     ///< the model's own where there is none
  std::string data = {};                 ///< the training table, where it is no longer where the run says
  const Dataset* rows = nullptr;  ///< the training rows themselves, where they are at hand; else the table is read
  std::function<void(const std::string& stage, int64_t done, int64_t n)> report = {};
};

/// What the intervals hold.
enum class RiskUncertainty {
  samples,   ///< of drawing n samples of the model alone: its training rows are not known
  tail_fit,  ///< and of the columns' laws: rows drawn with replacement, tails by their likelihood
  refits     ///< and of everything that training learns
};
const char* uncertainty_name(RiskUncertainty uncertainty);

/// One column, or the portfolio, as a loss.
struct RiskLoss {
  std::string name;
  bool high = true;    ///< losses are the large values, else the small ones
  bool exact = false;  ///< by the column's own law; else by samples: plain ones, and of a portfolio beyond
                       ///< them rare ones (NaN where its columns have no laws of their own)
  std::vector<RiskMeasure> measures = {};       ///< one a level
  std::vector<RiskMeasure> return_levels = {};  ///< one a period
};

/// Two columns beyond their quantiles of the same level.
struct JointRisk {
  double p = 0;                                   ///< the level
  Scored both;                                    ///< P(both beyond)
  Scored second_given_first, first_given_second;  ///< P(one beyond | the other beyond)
  Scored mean_second, mean_first;                 ///< mean of one, given that the other is beyond
  Scored rows;  ///< second_given_first as the training rows have it, with Wilson's interval; NaN where they are unknown
};

struct JointRisks {
  int64_t first = 0, second = 0;  ///< places in RiskReport::losses
  std::vector<JointRisk> levels = {};
};

/// A column, or the portfolio, under a stress.
struct StressRow {
  Scored mean;
  std::vector<Scored> quantiles;  ///< one for each of RiskOptions::stress_quantiles
};

/// What happens to all of them, given that one is beyond the stress level.
struct StressTable {
  int64_t given = 0;                 ///< place in RiskReport::losses
  int64_t samples = 0;               ///< that lie beyond
  std::vector<StressRow> rows = {};  ///< one for each of RiskReport::losses
};

struct RiskReport {
  RiskOptions options;           ///< as asked for
  std::vector<RiskLoss> losses;  ///< the columns, then the portfolio where there is one
  bool with_portfolio = false;   ///< whether the last of them is a portfolio
  std::vector<JointRisks> pairs;
  std::vector<StressTable> stress;
  at::Tensor samples = {};       ///< n x losses, in the units of the data: scenarios
  std::vector<int> digits = {};  ///< of each loss: significant ones, in files
  RiskUncertainty uncertainty = RiskUncertainty::samples;
  std::vector<std::string> notes;  ///< what a reader should know, a sentence each; the first says what intervals hold
  int64_t training_rows = 0;       ///< 0: not known
  double seconds = 0;

  /// The place of a loss by its name; InputError where there is none.
  int64_t find(const std::string& name) const;
};

/// Draws from a model of a table and measures. InputError for models of images or fields, and for options that make no
/// sense.
RiskReport risk(const Model& model, const RiskOptions& options = {});

/// The samples whose loss is beyond the level's sample quantile, the worst first: rows x losses.
at::Tensor scenarios(const RiskReport& report, const std::string& loss, double p);

/// Every figure of a report, in a fixed order.
std::vector<Scored*> figures_of(RiskReport& report);

}  // namespace htfm
