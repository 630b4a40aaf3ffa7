#include "htfm/stat/score_law.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/stat/estimators.h"

namespace htfm {

namespace {

enum Kind { kNormal, kLogistic };
constexpr double kLogisticUnit = 0.55132889542179204;  // sqrt(3) / pi: deviation 1
constexpr double kLeast = 1e-300;                      // of a probability

}  // namespace

const std::vector<std::string>& ScoreLaw::names() {
  static const std::vector<std::string> all{"normal", "logistic"};
  return all;
}

ScoreLaw ScoreLaw::named(const std::string& name) {
  const auto found = std::find(names().begin(), names().end(), name);
  if (found == names().end()) throw InputError("[scores] expected one of {}, got '{}'", fmt::join(names(), ", "), name);
  ScoreLaw law;
  law.kind_ = static_cast<int>(found - names().begin());
  return law;
}

double ScoreLaw::score(const TailPlace& place) const {
  const double p = std::clamp(place.p, kLeast, 0.5);
  const double below = kind_ == kNormal ? normal_quantile(p) : kLogisticUnit * (std::log(p) - std::log1p(-p));
  return place.above ? -below : below;
}

TailPlace ScoreLaw::place(double score) const {
  const double size = std::abs(score);
  const double p = kind_ == kNormal ? 0.5 * std::erfc(size * M_SQRT1_2) : 1 / (1 + std::exp(size / kLogisticUnit));
  return {std::max(p, kLeast), score > 0};
}

}  // namespace htfm
