#include "htfm/metric/tails.h"

#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"
#include "htfm/stat/sort.h"

namespace htfm {
namespace {

TailSide describe(std::vector<double> values, const TailOptions& options) {
  sort_values(values);
  TailSide side;
  const auto n = static_cast<double>(values.size());
  side.hill = hill_index(values, static_cast<int64_t>(options.tail_fraction * n));
  for (const double level : options.levels)
    side.quantiles.push_back(n * (1 - level) < 1 - 1e-9 ? kNan : quantile_of_sorted(values, level));
  side.curve = survival_curve(values, options.curve_points);
  return side;
}

}  // namespace

TailScore tails(const Points& real, const Points& fake, const TailOptions& options) {
  check_same_dimension(real, fake, "tails");
  if (!(options.tail_fraction > 0 && options.tail_fraction < 1))
    throw InputError("[tails] expected a tail fraction in (0, 1), got {}", options.tail_fraction);
  for (const double level : options.levels)
    if (!(level > 0 && level < 1)) throw InputError("[tails] expected quantile levels in (0, 1), got {}", level);
  TailScore score;
  score.center = coordinate_medians(real);
  score.levels = options.levels;
  score.real = describe(distances_from(real, score.center), options);
  score.fake = describe(distances_from(fake, score.center), options);
  for (size_t i = 0; i < options.levels.size(); ++i)
    score.log_ratio.push_back(std::log(score.fake.quantiles[i] / score.real.quantiles[i]));
  return score;
}

TailScore tails(const at::Tensor& real, const at::Tensor& fake, const TailOptions& options) {
  return tails(to_points(real, "tails: real"), to_points(fake, "tails: fake"), options);
}

}  // namespace htfm
