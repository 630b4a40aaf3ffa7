// Scores: one symmetric law that all margins are brought to before their joint law is looked at. Every level is given
// from the nearer end, so that nothing is lost however rare it is.
#pragma once

#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// A place in a continuous law: the probability beyond it on its side of the median, in (0, 1/2].
struct TailPlace {
  double p = 0.5;
  bool above = false;

  /// The share of the law below it.
  double level() const { return above ? 1 - p : p; }
  static TailPlace of_level(double u) { return u > 0.5 ? TailPlace{1 - u, true} : TailPlace{u, false}; }
};

/// normal: the standard normal law; logistic: tails that fall exponentially, deviation 1.
class ScoreLaw {
 public:
  /// InputError for a name that is not known.
  static ScoreLaw named(const std::string& name);
  static const std::vector<std::string>& names();

  const std::string& name() const { return names()[static_cast<size_t>(kind_)]; }
  double score(const TailPlace& place) const;
  TailPlace place(double score) const;

 private:
  int kind_ = 0;
};

}  // namespace htfm
