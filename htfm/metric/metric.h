// The scores by name, and all of them in one call.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/metric/mmd.h"
#include "htfm/metric/moment_scores.h"
#include "htfm/metric/prd.h"
#include "htfm/metric/precision_recall.h"
#include "htfm/metric/tail_dependence.h"
#include "htfm/metric/tail_scores.h"
#include "htfm/metric/tails.h"
#include "htfm/metric/wasserstein.h"

namespace htfm HTFM_PUBLIC {

struct MetricInfo {
  std::string_view name;
  std::string_view summary;
};

/// The known scores, in the order in which they are printed: those of the library, then those that the program
/// registered.
std::vector<MetricInfo> metric_infos();

struct MetricOptions {
  int k = 10;  // neighbours of f1_knn
  PrdOptions prd;
  SlicedOptions sliced;
  MmdOptions mmd;
  TailOptions tails;
  BootstrapOptions bootstrap;  // of the tail scores, whose levels and tail fraction are those of `tails`
  int64_t listed_columns = 8;  // of more columns only means are among the values; the structs hold them all

  /// Gives every score that draws random numbers this seed.
  void set_seed(uint64_t seed) { prd.seed = sliced.seed = mmd.seed = bootstrap.seed = seed; }
};

struct MetricValue {
  std::string name;
  double value;
  double low = std::numeric_limits<double>::quiet_NaN(), high = low;  // its bootstrap interval
  bool interval = false;                                              // whether it is of a kind that has one
};

struct MetricReport {
  int64_t real = 0, fake = 0;  // points scored
  int64_t nonfinite = 0;       // fake points left out, since a coordinate was not finite
  std::vector<MetricValue> values;
  std::optional<PrdScore> prd;     // with its curve, where f1_prd was asked for
  std::optional<TailScore> tails;  // with the survival curves, where tails was asked for
  std::optional<TailScores> tail_scores;
  std::optional<MomentScores> moments;
  std::optional<TailDependence> dependence;

  /// The value of that name; an Error where there is none.
  double operator[](std::string_view name) const;
};

/// A score of one's own.
struct OwnMetric {
  std::string name, summary;
  /// Its values, of points n x dim in float64, all finite.
  std::function<std::vector<MetricValue>(const at::Tensor& real, const at::Tensor& fake, const MetricOptions& options)>
      compute;
};
/// Makes a score known by its name, to compute_metrics and all that reads metric_infos. InputError where the name is
/// taken.
void register_metric(OwnMetric metric);

/// Computes the named scores (all where `names` is empty). values begins with n_real, n_fake and nonfinite; then each
/// score with its parts. A bad row of `real` is an InputError; bad rows of `fake` are left out and counted.
MetricReport compute_metrics(const std::vector<std::string>& names, const at::Tensor& real, const at::Tensor& fake,
                             const MetricOptions& options = {});

}  // namespace htfm
