// Quantiles of the radius beyond the data: what a model says of events that its training set is too small to show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/evaluate/run.h"

namespace htfm HTFM_PUBLIC {

/// Quantiles of the distance from a centre, at "1 in N" for each N.
struct FarQuantiles {
  std::vector<double> one_in;
  std::vector<double> law;       ///< of the synthetic law itself, from many draws
  std::vector<double> training;  ///< of the training set; NaN where it has fewer points than N
  int64_t training_points = 0, law_draws = 0, draws = 0;
  struct Of {
    std::string name;
    std::vector<double> quantile;
  };
  std::vector<Of> models;
};

/// The law of a run on synthetic data, and its training set. InputError where the run's data come from a file.
FarQuantiles far_quantiles_of_law(const RunConfig& config, const std::vector<double>& centre,
                                  std::vector<double> one_in, int64_t law_draws);
/// Adds a model: draws as many samples as it is told, with the run's own options, and keeps their quantiles only.
void add_far_quantiles(FarQuantiles& far, const ScoredRun& run, const std::vector<double>& centre, int64_t draws);

}  // namespace htfm
