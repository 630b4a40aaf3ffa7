#include "htfm/train/choose_clock.h"

#include <algorithm>
#include <cmath>

#include "htfm/metric/sort.h"
#include "htfm/metric/tails.h"

namespace htfm {

namespace {

/// Median radius of a clock's source in dim dimensions, from a fixed draw.
double median_source_radius(const ClockSpec& spec, int64_t dim) {
  const ClockSample sample = make_clock(spec)->sample(Key(0).child("scale of the source"), {.count = 4096, .paths = false});
  const at::Tensor x = sample_source(Key(1).child("scale of the source"), sample.area, dim);
  std::vector<double> radii;
  for (int64_t i = 0; i < x.size(0); ++i) {
    double squares = 0;
    for (int64_t k = 0; k < dim; ++k) squares += std::pow(x.const_data_ptr<double>()[i * dim + k], 2);
    radii.push_back(std::sqrt(squares));
  }
  sort_values(radii);
  return quantile_of_sorted(radii, 0.5);
}

/// Two digits: more would claim what the interval does not.
double rounded(double x) {
  const double unit = std::pow(10.0, std::floor(std::log10(x)) - 1);
  return std::round(x / unit) * unit;
}

}  // namespace

ChosenClock suggest_clock(const Diagnosis& diagnosis, int grid) {
  ChosenClock chosen;
  chosen.spec.grid = grid;
  const TailReport& by = *diagnosis.decisive();
  const TailChoice& tail = by.choice;
  const Interval index = tail.index_interval();
  const std::string seen = fmt::format("The tail of the {} is {}", by.name, by.sentence);
  if (diagnosis.verdict == TailVerdict::light) {
    chosen.explanation = seen + " So the clock is deterministic: a Gaussian source.";
  } else if (diagnosis.verdict == TailVerdict::heavy) {
    chosen.spec.family = "inverse-gamma";
    chosen.spec.parameters["nu"] = rounded(std::clamp(tail.index(), 0.3, 30.0));
    chosen.explanation =
        seen + fmt::format(" So the clock is inverse-gamma with nu = {:.2g}: a Student-t source whose tail has the data's index.",
                           chosen.spec.parameters["nu"]);
    if (std::isinf(index.upper) || index.upper > 1.5 * index.lower)
      chosen.explanation += fmt::format(" The index is known only to lie {}; more rows would narrow it.",
                                        std::isinf(index.upper) ? fmt::format("over {:.2g}", index.lower)
                                                                : fmt::format("between {:.2g} and {:.2g}", index.lower, index.upper));
  } else if (tail.k > 0 && tail.gamma > 0.1) {
    // Between the two mistakes a source that is a little too heavy costs less: a light one cannot reach far at all.
    chosen.spec.family = "inverse-gamma";
    chosen.spec.parameters["nu"] = rounded(std::clamp(tail.index(), 0.3, 30.0));
    chosen.explanation = seen + fmt::format(
                                    " The estimate is an index of {:.2g}, and a source that is too heavy costs less than one that is too "
                                    "light: so the clock is inverse-gamma with nu = {:.2g}.",
                                    tail.index(), chosen.spec.parameters["nu"]);
  } else {
    chosen.explanation = seen + " Nothing speaks for heavy tails, so the clock is deterministic: a Gaussian source.";
  }
  const int64_t dim = diagnosis.columns - static_cast<int64_t>(diagnosis.constant.size());
  if (dim > 0) chosen.source_scale = diagnosis.median_radius / median_source_radius(chosen.spec, dim);
  return chosen;
}

}  // namespace htfm
