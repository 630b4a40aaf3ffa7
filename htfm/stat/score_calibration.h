// What a model makes of scores, corrected margin by margin: a network comes near to the law of scores and never meets
// it, and in the far tail a little is much. Its own quantiles, from draws of it, say which place a score really has.
#pragma once

#include <span>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/stat/score_law.h"

namespace htfm HTFM_PUBLIC {

/// From a score of the model to its place in the model's own law: by the model's quantiles between two far ones, and
/// beyond them by -log p, linear in what it is under the law of scores.
class ScoreCalibration {
 public:
  static constexpr int64_t kFewest = 1000;  ///< draws that it takes
  ScoreCalibration() = default;             ///< leaves every score where the law has it
  static constexpr double kBeyond = 200;    ///< draws beyond the outermost quantiles
  /// From ascending scores that the model drew; InputError for fewer than kFewest. Fewer draws `beyond` follow the
  /// model farther out, each quantile less surely.
  static ScoreCalibration fit(std::span<const double> sorted, const ScoreLaw& law, double beyond = kBeyond);

  bool there() const { return !own_.empty(); }
  TailPlace place(double score, const ScoreLaw& law) const;

  std::vector<double> numbers() const;
  static ScoreCalibration from_numbers(std::span<const double> numbers);

 private:
  std::vector<double> own_, meant_;  // the model's quantile at a level, and the law's; both ascending
  double below_ = 1, above_ = 1;     // mean excess of -log p beyond the last knots, 1 where the model is right
};

}  // namespace htfm
