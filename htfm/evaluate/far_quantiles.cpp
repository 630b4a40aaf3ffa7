#include "htfm/evaluate/far_quantiles.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "htfm/base/error.h"
#include "htfm/stat/order.h"
#include "htfm/stat/points.h"

namespace htfm {

namespace {

std::vector<double> quantiles(const at::Tensor& rows, const std::vector<double>& centre,
                              const std::vector<double>& one_in) {
  int64_t left_out = 0;
  std::vector<double> radius = distances_from(to_finite_points(rows, "rows", left_out), centre);
  std::sort(radius.begin(), radius.end());
  std::vector<double> out;
  for (const double n : one_in)
    out.push_back(static_cast<double>(radius.size()) < n ? std::numeric_limits<double>::quiet_NaN()
                                                         : quantile_of_sorted(radius, 1 - 1 / n));
  return out;
}

}  // namespace

FarQuantiles far_quantiles_of_law(const RunConfig& config, const std::vector<double>& centre,
                                  std::vector<double> one_in, int64_t law_draws) {
  if (!config.data.path.empty())
    throw InputError("[data.path] expected a synthetic set, whose far quantiles are known, got {}", config.data.path);
  FarQuantiles far;
  far.one_in = std::move(one_in), far.law_draws = law_draws;
  // Not the points that scores are taken against.
  constexpr uint64_t kFresh = 2;
  far.law = quantiles(held_out(config, law_draws, kFresh).rows, centre, far.one_in);
  const at::Tensor training = load_dataset(config).rows;
  far.training = quantiles(training, centre, far.one_in), far.training_points = training.size(0);
  return far;
}

void add_far_quantiles(FarQuantiles& far, const ScoredRun& run, const std::vector<double>& centre, int64_t draws) {
  SampleOptions options = run.options;
  options.n = draws;
  far.draws = draws;
  far.models.push_back({run.name, quantiles(sample(run.model, options).samples, centre, far.one_in)});
}

}  // namespace htfm
