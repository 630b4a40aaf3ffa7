#include "htfm/model/choose_skew.h"

#include <fmt/ranges.h>

#include <cmath>

#include "htfm/base/registry.h"
#include "htfm/stat/skewed_law.h"

namespace htfm {

namespace {

constexpr int64_t kFewestRows = 200;

std::string list_of(const std::vector<double>& values, double unit) {
  std::vector<std::string> out;
  for (const double v : values) out.push_back(fmt::format("{:.5g}", v / unit));
  return fmt::format("{}", fmt::join(out, ","));
}

// The index of the law's heavier side is half the freedom: it is the skew times V that goes far. Exponential tails are
// those that do not look heavy.
bool tail_agrees(const SkewedLaw& law, const Diagnosis& diagnosis) {
  const TailReport& tail = *diagnosis.decisive();
  if (law.parameter != "nu") return tail.verdict != TailVerdict::heavy;
  const double index = SourceMean({"1", ""}).tail_exponent(law.value);
  return tail.verdict == TailVerdict::heavy && tail.choice.index_interval().contains(index);
}

}  // namespace

std::optional<ChosenSkew> suggest_skew(const at::Tensor& rows, const Diagnosis& diagnosis) {
  const int64_t column = diagnosis.most_skewed(), dim = rows.size(1);
  if (column < 0 || rows.size(0) < std::max(kFewestRows, 10 * (dim + 2))) return std::nullopt;
  double symmetric = -std::numeric_limits<double>::infinity();
  std::optional<SkewedLaw> best;
  for (const SkewedFamily& family : skewed_families()) {
    const SkewedLaw flat = fit_skewed_law(family, rows, true), law = fit_skewed_law(family, rows, false, &flat);
    symmetric = std::max(symmetric, flat.log_likelihood);
    if (tail_agrees(law, diagnosis) && (!best || law.log_likelihood > best->log_likelihood)) best = law;
  }
  // Schwarz's criterion, dim numbers for the skew: by chance it is passed less and less often.
  if (!best ||
      2 * (best->log_likelihood - symmetric) < static_cast<double>(dim) * std::log(static_cast<double>(best->rows)))
    return std::nullopt;
  ChosenSkew chosen;
  chosen.law = best->name;
  chosen.clock.spec.family = find_named(skewed_sources(), best->name, "source.law").family;
  chosen.clock.spec.parameters = {{best->parameter, best->value}};
  // In units of the law's scale, since the source has scale 1 for V = 1; the flow brings it to the data's.
  chosen.mean = {list_of(best->skew, best->scale()), list_of(best->location, best->scale())};
  const Skewness& s = diagnosis.skewness[static_cast<size_t>(column)];
  chosen.clock.explanation = fmt::format(
      "{} is {}. A {} distribution with {} = {:.3g} has a log-likelihood higher by {:.0f} than a symmetric one, and "
      "its tail agrees with that of the rows: {} So the source is skewed, {} with skew {}.",
      s.name, s.sentence, best->name, best->parameter, best->value, best->log_likelihood - symmetric,
      diagnosis.decisive()->sentence, best->name, chosen.mean.skew);
  return chosen;
}

}  // namespace htfm
