// Are the tails of a data set light or heavy, and how heavy: each column on both sides, random directions, and the
// radius.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/base/random.h"
#include "htfm/stat/skewness.h"
#include "htfm/stat/threshold.h"

namespace htfm HTFM_PUBLIC {

enum class TailVerdict { light, heavy, unclear };
const char* verdict_name(TailVerdict verdict);

/// Distances from the centre: of standardised columns, or by a robust scatter matrix of them.
enum class RadiusKind { euclidean, mahalanobis };

struct DiagnosisOptions {
  ThresholdOptions threshold;
  double light_gamma =
      0.1;  // a tail whose gamma is surely below it counts as light: an index over 10 makes no extremes
  int64_t directions = 32;
  RadiusKind radius = RadiusKind::euclidean;
  double skew_chance = 0.01;  // how often a table of symmetric columns may be called skewed
  uint64_t seed = 0;          // of the directions
};

/// One number of the rows and its upper tail.
struct TailReport {
  std::string name;  // "radius", "price, above", "price, below", "direction 3"
  TailVerdict verdict = TailVerdict::unclear;
  std::string sentence;  // the verdict in words, and where it is unclear what would be needed
  TailChoice choice;
  std::vector<double> tail;  // ascending: the largest values, as many as were looked at and one more, from the centre
  double centre = 0, sign = 1;  // value of the data = centre + sign * value of the tail
  int64_t column = -1;          // from 0; -1 where it is no column
  double quantile(
      double p) const;  // in the data's units: exceeded (or fallen below) with probability p, by the fitted law
  Interval quantile_interval(double p, double level = 0.95) const;
};

struct Diagnosis {
  int64_t rows = 0, columns = 0;
  std::vector<std::string> constant;  // names of columns without spread, which are left out
  std::vector<double> centre,
      scale;  // the robust standardisation: median, and quantile range over that of a normal law
  TailReport radius;
  std::vector<TailReport> sides;       // two a column: above, below
  std::vector<TailReport> directions;  // of standardised columns
  std::vector<Skewness> skewness;      // one a column
  TailVerdict verdict = TailVerdict::unclear;
  const TailReport* decisive()
      const;             // which report the verdict rests on: the radius, or a side where that is not heavy
  std::string sentence;  // the overall verdict in words

  /// The column whose tails differ most clearly, from 0; -1 where none does.
  int64_t most_skewed() const;
  /// The smallest and the largest index among the directions; infinite where they are light.
  Interval direction_indices() const;
};

/// The verdict on one sample of ascending numbers, of which the positive ones count.
TailReport diagnose_tail(std::string name, std::span<const double> sorted, const DiagnosisOptions& options = {});

/// Looks at rows n x d (float32 or float64, finite); names of the columns may be empty.
Diagnosis diagnose(const at::Tensor& rows, const std::vector<std::string>& names = {},
                   const DiagnosisOptions& options = {});

}  // namespace htfm
