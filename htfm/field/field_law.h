// The law of one channel of fields, over all points, as scores. Wet values have the upper half of the scores' law, by
// their own law; dry points have the lower half, by how far they lie from the rain. So zero is the edge of the rain.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/stat/margin.h"
#include "htfm/stat/score_calibration.h"
#include "htfm/stat/score_law.h"

namespace htfm HTFM_PUBLIC {

/// What a law is fitted to.
struct FieldLawSample {
  std::vector<double> wet = {};       ///< wet values, in any order; all values where there is no threshold
  std::vector<double> distance = {};  ///< of dry points from the rain, some of them; empty: dry points are drawn
  std::vector<double> maxima = {};    ///< of fields: whether values end is said by these, which hardly depend
  double wet_share = 1;               ///< of all points
  double least = 0;                   ///< the threshold
  bool has_threshold = false;
};

class HTFM_PUBLIC FieldLaw {
 public:
  /// `scores`: a name of ScoreLaw. Values that occur often keep their share, and the whole interval of scores that
  /// they have goes back to them. Above, the law ends where the fields' maxima say that values end, and goes on by a
  /// generalised Pareto law where they do not.
  static FieldLaw fit(FieldLawSample sample, const std::string& scores);

  /// The score of a wet value, of a dry point at a distance from the rain, and of one that is drawn; `v` in (0,1) says
  /// where in the interval of a value that occurs often.
  double wet_score(double value, double v) const;
  double dry_score(double distance, double v) const;
  double drawn_dry_score(double v) const;
  /// The value at a score: 0 where it is dry. Monotone.
  double value(double score) const;
  /// Scores up to here are dry; minus infinity without a threshold.
  double edge() const;
  double wet_share() const { return wet_; }
  const Margin& values() const { return values_; }

  /// Mean and deviation of the scores.
  double mean() const;
  double deviation() const;

  /// From here on value() gives the data's law to scores like these, in any order, that a model drew.
  void calibrate(std::vector<double> drawn);
  bool calibrated() const { return calibration_.there(); }

  /// As numbers of a checkpoint or a set, and back; InputError for other numbers.
  std::vector<std::vector<double>> numbers() const;
  static FieldLaw from_numbers(const std::vector<std::vector<double>>& numbers, const std::string& scores);

 private:
  TailPlace place(double score) const;  // in the law of all points
  double value_at(const TailPlace& place) const;
  ScoreLaw law_;
  bool folded_ = false;  // there is a threshold
  double wet_ = 1;
  Margin values_, distances_;  // of wet values, and of minus the distances; the latter empty where they are not known
  ScoreCalibration calibration_;
};

}  // namespace htfm
