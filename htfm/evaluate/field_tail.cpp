#include "htfm/evaluate/field_tail.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "htfm/base/nan.h"
#include "htfm/stat/tail_of_maxima.h"

namespace htfm {
namespace {

// The value at a level of all values, from those that can be there: the largest of each field are enough of them.
std::vector<float> largest_values(const FieldSet& set, const std::vector<int64_t>& index, int64_t channel,
                                  size_t most) {
  const int64_t channels = set.fields.size(1), plane = set.fields.size(2) * set.fields.size(3);
  std::vector<float> kept;
  float least = -std::numeric_limits<float>::infinity();
  for (const int64_t i : index) {
    const float* x = set.fields.const_data_ptr<float>() + (i * channels + channel) * plane;
    for (int64_t k = 0; k < plane; ++k)
      if (x[k] > least) kept.push_back(x[k]);
    if (kept.size() > 2 * most) {
      std::nth_element(kept.begin(), kept.begin() + static_cast<int64_t>(most), kept.end(), std::greater<>());
      kept.resize(most);
      least = *std::min_element(kept.begin(), kept.end());
    }
  }
  std::sort(kept.begin(), kept.end(), std::greater<>());
  if (kept.size() > most) kept.resize(most);
  return kept;
}

}  // namespace

std::string FieldTail::text(const std::string& unit) const {
  const std::string of = unit.empty() ? "" : " " + unit;
  if (std::isnan(shape))
    return fmt::format("too few fields to tell ({}; the largest value is {:.4g}{})", fields, largest, of);
  const std::string law = fmt::format("shape {:.2f}, {:.2f} to {:.2f}; {} maxima beyond {:.4g}{}", shape,
                                      interval.lower, interval.upper, exceedances, threshold, of);
  std::string out = end_point            ? fmt::format("with an upper end at about {:.4g}{} ({})", *end_point, of, law)
                    : interval.lower > 0 ? fmt::format("heavy, tail index {:.2f} ({})", 1 / shape, law)
                                         : fmt::format("undecided between an upper end and a power law ({})", law);
  out += fmt::format("; the largest value is {:.4g}{}", largest, of);
  if (repeated_share > 0.02)
    out += fmt::format("; {:.1f} % of the values beyond {:.4g} are exactly {:.6g}: the product's own limit",
                       100 * repeated_share, cut, repeated);
  return out;
}

FieldTail diagnose_field_tail(const FieldSet& set, int64_t channel) {
  const std::vector<int64_t> index = set.part(false);
  const int64_t channels = set.fields.size(1), plane = set.fields.size(2) * set.fields.size(3);
  FieldTail out;
  out.fields = static_cast<int64_t>(index.size()), out.shape = kNan;
  if (index.empty()) return out;
  std::vector<double> maxima;
  for (const int64_t i : index) {
    const float* x = set.fields.const_data_ptr<float>() + (i * channels + channel) * plane;
    maxima.push_back(static_cast<double>(*std::max_element(x, x + plane)));
  }
  std::sort(maxima.begin(), maxima.end());
  out.largest = maxima.back();
  const auto beyond = static_cast<size_t>(std::max<int64_t>(1, out.fields * plane / 1000));
  const std::vector<float> top = largest_values(set, index, channel, beyond);
  out.cut = static_cast<double>(top.back());
  for (size_t k = 0; k < top.size();) {  // runs of equal values, the largest first
    size_t end = k;
    while (end < top.size() && top[end] == top[k]) ++end;
    const double own = static_cast<double>(end - k) / static_cast<double>(top.size());
    // The last value of all is the cut itself, which has as many equals as are left over.
    if (end < top.size() && own > out.repeated_share)
      out.repeated = static_cast<double>(top[k]), out.repeated_share = own;
    k = end;
  }
  const TailOfMaxima tail = tail_of_maxima(maxima);
  out.exceedances = tail.fit.exceedances, out.threshold = tail.fit.threshold;
  out.shape = tail.fit.shape, out.interval = tail.interval, out.end_point = tail.end;
  return out;
}

}  // namespace htfm
