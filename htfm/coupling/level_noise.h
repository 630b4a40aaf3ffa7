// Noise between the level of a data row and that of the source it meets. A row at level u stands at e = -log(1 - u),
// which is exponential over the data; its source stands where e + deviation x normal stands in its own law. So the
// source's level is uniform again, whatever the deviation: 0 is the coupling of equal levels, infinity the independent
// one. With a constant deviation the law of log(1 / share beyond) given the source's keeps its form far out: a power
// law stays one. With a deviation that fades, exp(-fade e) times as large at e, far rows meet sources of their level.
#pragma once

#include <vector>

#include "htfm/base/random.h"

namespace htfm {

class LevelNoise {
 public:
  explicit LevelNoise(double deviation = 0, double fade = 0);
  /// The sources' levels for rows of these levels.
  std::vector<double> apply(Key key, std::vector<double> level) const;
  /// The share of the data beyond the median row that meets a source with a share p of all sources beyond it.
  double data_share(double p) const;
  /// P(e + deviation x normal > s).
  double survival(double s) const;

 private:
  double deviation_at(double e) const;
  double median_row(double s) const;
  double deviation_, fade_;
  std::vector<double> log_survival_;  // of a deviation that fades: at lowest_, lowest_ + kStep, ...
  double lowest_ = 0;
};

}  // namespace htfm
