#include "htfm/model/choose_clock.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "htfm/coupling/cluster_law.h"
#include "htfm/stat/mixing_law.h"
#include "htfm/stat/scatter.h"
#include "htfm/stat/sort.h"
#include "htfm/tail/student_check.h"

namespace htfm {

namespace {

constexpr double kLightFreedom = 40;  // a Student-t law with more is as good as normal

/// Two digits: more would claim what the interval does not.
double rounded(double x) {
  const double unit = std::pow(10.0, std::floor(std::log10(x)) - 1);
  return std::round(x / unit) * unit;
}

/// Distances of the rows from their coordinate-wise median, ascending.
std::vector<double> sorted_radii(const at::Tensor& rows) {
  const at::Tensor distance = distances(rows, median_centre(rows));
  const double* r = distance.const_data_ptr<double>();
  std::vector<double> radii(r, r + distance.numel());
  sort_values(radii);
  return radii;
}

ChosenClock fit_clock(const ClockSpec& asked, const at::Tensor& rows) {
  ChosenClock chosen{asked};
  const TailReport tail = diagnose_tail("radius", sorted_radii(rows));
  const MixingLaw law =
      fit_mixing_law(sorted_radii(rows), rows.size(1), tail.choice, tail.verdict == TailVerdict::heavy);
  chosen.spec.table = law.law.numbers();
  chosen.explanation = fmt::format(
      "The clock is the distribution of V, fitted by smoothed maximum likelihood, for which sqrt(V) times a normal "
      "vector has the lengths of the rows: half of all V lie between {:.3g} and {:.3g}. The tail of the radius is {}",
      std::exp(law.law.log_upper_quantile(0.75)), std::exp(law.law.log_upper_quantile(0.25)), tail.sentence);
  if (law.join > 0)
    chosen.explanation +=
        fmt::format(" So V has a Pareto tail of exponent {:.3g}, half that index, for radii beyond {:.3g}.",
                    law.law.exponent(), law.join);
  else
    chosen.explanation += " So V has no tail beyond what the data show.";
  return chosen;
}

// The law that fits all rows, where there are enough of them and the tail does not speak against it.
std::optional<ChosenClock> student_clock(const Diagnosis& diagnosis, int grid, const at::Tensor& rows) {
  if (rows.size(0) < 10 * (rows.size(1) + 2)) return std::nullopt;
  const StudentCheck check = check_student_t(rows);
  const double nu = check.law.nu;
  const bool tail_agrees =
      diagnosis.verdict != TailVerdict::heavy || diagnosis.decisive()->choice.index_interval().contains(nu);
  if (!check.fits() || !tail_agrees || !(nu < kLightFreedom)) return std::nullopt;
  ChosenClock chosen{{"inverse-gamma", {{"nu", nu}}, grid}};
  chosen.fits_all = true;
  chosen.explanation = fmt::format(
      "A Student-t distribution with {:.3g} degrees of freedom ({:.2g} to {:.2g}) fits the distances of the rows from "
      "their centre (p = {:.2g}); this uses all rows and is more certain than an estimate from the largest alone, "
      "whose tail is {} So the clock is inverse-gamma with nu = {:.3g}.",
      nu, check.freedom.lower, check.freedom.upper, check.p_value, diagnosis.decisive()->sentence, nu);
  return chosen;
}

// The family and index of the clusters that fit all rows, where their tail is heavy.
std::optional<ChosenClock> cluster_clock(const ClockSpec& asked, const at::Tensor& rows) {
  const std::optional<ClusterLaw> law = fit_cluster_law(rows);
  if (!law || !law->fits() || !(law->index < kLightFreedom / 2)) return std::nullopt;
  const bool stable = law->family == RadialFamily::stable;
  ChosenClock chosen{{stable ? "stable" : "inverse-gamma", {{stable ? "alpha" : "nu", law->index}}, asked.grid}};
  chosen.explanation = fmt::format(
      "The rows follow the distribution of {} (Anderson and Darling's distance {:.2g}), so all of them show how heavy "
      "the tail is, not only the largest; the log-likelihood of the other family is lower by {:.0f}. So the clock is "
      "{} with {} = {:.3g}: a {} source.",
      law->text(), law->distance, law->log_likelihood - law->log_likelihood_of_other, chosen.spec.family,
      stable ? "alpha" : "nu", law->index, stable ? "stable" : "Student-t");
  return chosen;
}

}  // namespace

ChosenClock choose_clock(const ClockSpec& asked, const at::Tensor& rows) {
  // What the registry marks as from_data; nothing else depends on a name.
  if (asked.family == "fitted") return fit_clock(asked, rows);
  if (asked.family != "auto") return {asked};
  if (std::optional<ChosenClock> clusters = cluster_clock(asked, rows)) return *clusters;
  DiagnosisOptions options;
  options.directions = 0;
  return suggest_clock(diagnose(rows, {}, options), asked.grid);
}

ChosenClock suggest_clock(const Diagnosis& diagnosis, int grid, const at::Tensor& rows) {
  if (rows.defined())
    if (std::optional<ChosenClock> student = student_clock(diagnosis, grid, rows)) return *student;
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
        seen +
        fmt::format(
            " So the clock is inverse-gamma with nu = {:.2g}: a Student-t source whose tail has the data's index.",
            chosen.spec.parameters["nu"]);
    if (std::isinf(index.upper) || index.upper > 1.5 * index.lower)
      chosen.explanation +=
          fmt::format(" The index is known only to lie {}; more rows would narrow it.",
                      std::isinf(index.upper) ? fmt::format("above {:.2g}", index.lower)
                                              : fmt::format("between {:.2g} and {:.2g}", index.lower, index.upper));
  } else if (tail.k > 0 && tail.gamma > 0.1) {
    // Between the two mistakes a source that is a little too heavy costs less: a light one cannot reach far at all.
    chosen.spec.family = "inverse-gamma";
    chosen.spec.parameters["nu"] = rounded(std::clamp(tail.index(), 0.3, 30.0));
    chosen.explanation = seen + fmt::format(
                                    " The estimated index is {:.2g}, and a source that is too heavy does less harm "
                                    "than one that is too light: so the clock is inverse-gamma with nu = {:.2g}.",
                                    tail.index(), chosen.spec.parameters["nu"]);
  } else {
    chosen.explanation = seen + " There is no sign of heavy tails, so the clock is deterministic: a Gaussian source.";
  }
  return chosen;
}

}  // namespace htfm
