#include "htfm/stat/tail_of_maxima.h"

#include <cmath>

#include "htfm/base/nan.h"
#include "htfm/stat/threshold.h"

namespace htfm {
namespace {

constexpr double kLargestShare = 0.1;  // of the maxima that may count as tail
constexpr int64_t kFewest = 20;        // that a law is fitted to
constexpr int64_t kFewestHalved = 100;
constexpr double kFits = 0.05;        // the least p-value of a law that fits
constexpr double kAtTheEdge = 0.005;  // of the smallest shape

}  // namespace

TailOfMaxima tail_of_maxima(std::span<const double> sorted) {
  TailOfMaxima out;
  out.fit.shape = kNan;
  const auto most = std::llround(kLargestShare * static_cast<double>(sorted.size()));
  double best = -1;
  for (int64_t k = most; k >= kFewest && best < kFits && (k == most || k >= kFewestHalved); k /= 2) {
    const GpdFit fit = fit_gpd(sorted, k);
    if (std::isnan(fit.shape)) continue;
    const double p = gpd_p_value(sorted, fit);
    if (p > best) best = p, out.fit = fit;
  }
  if (std::isnan(out.fit.shape)) return out;
  out.interval = gpd_profile_interval(sorted, out.fit);
  if (out.interval.upper < 0)
    out.end =
        out.fit.shape < kSmallestShape + kAtTheEdge ? sorted.back() : out.fit.threshold - out.fit.scale / out.fit.shape;
  return out;
}

}  // namespace htfm
