#include "htfm/tail/diagnosis.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_cholesky.h>
#include <ATen/ops/linalg_solve_triangular.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/stat/order.h"
#include "htfm/stat/points.h"
#include "htfm/stat/scatter.h"
#include "htfm/stat/sort.h"

namespace htfm {
namespace {

std::string index_text(const Interval& index) {
  if (std::isinf(index.upper)) return fmt::format("over {:.2g}", index.lower);
  return fmt::format("{:.3g} to {:.3g}", index.lower, index.upper);
}

/// How many exceedances would part gamma from 0, or from the largest light one, whichever is nearer to be done.
double exceedances_needed(const TailChoice& choice, const DiagnosisOptions& options) {
  const double distance = std::max({choice.gamma, options.light_gamma - choice.gamma, options.light_gamma / 2});
  const double z = normal_quantile(0.5 + options.threshold.level / 2), one = 1 + std::max(choice.gamma, 0.0);
  return std::pow(z * one / distance, 2);
}

void judge(TailReport& report, const DiagnosisOptions& options) {
  const TailChoice& c = report.choice;
  const double percent = 100 * options.threshold.level;
  if (c.k == 0) {
    report.verdict = TailVerdict::unclear;
    report.sentence = "too small to tell: " + c.explanation;
    return;
  }
  if (c.sampling.upper < options.light_gamma) {
    report.verdict = TailVerdict::light;
    report.sentence =
        fmt::format("light: gamma is at most {:.2g}, and a tail index, if there is one, is above {:.2g} ({:g} %). {}",
                    c.sampling.upper, 1 / options.light_gamma, percent, c.explanation);
  } else if (c.sampling.lower > 0) {
    report.verdict = TailVerdict::heavy;
    report.sentence =
        fmt::format("heavy: tail index {:.3g} ({}). {}", c.index(), index_text(c.index_interval()), c.explanation);
  } else {
    const auto k = static_cast<double>(c.k);
    const double needed = exceedances_needed(c, options);
    // Where more than enough were there on the average, no number of them is promised.
    const std::string more = needed > k ? fmt::format("; about {:.0f} would tell, from {:.2g} rows", needed,
                                                      needed * static_cast<double>(c.n) / k)
                                        : "";
    report.sentence = fmt::format("too small to tell: gamma lies between {:.2g} and {:.2g} with {} exceedances{}. {}",
                                  c.sampling.lower, c.sampling.upper, c.k, more, c.explanation);
  }
}

// The median of values, which change places.
double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<int64_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return std::lerp(*middle, *std::min_element(middle + 1, values.end()), 0.5);
}

// How many of n values diagnose_tail reads: the largest ones.
size_t upper_part(size_t n, const DiagnosisOptions& options) {
  return std::min(n, static_cast<size_t>(most_exceedances(static_cast<int64_t>(n), options.threshold)) + 1);
}

// Brings the largest values, as many as diagnose_tail reads, to the end, ascending: a fraction of the work of sorting
// all.
void sort_upper_part(std::vector<double>& values, const DiagnosisOptions& options) {
  const size_t upper = upper_part(values.size(), options);
  const auto first = values.end() - static_cast<int64_t>(upper);
  if (upper < values.size()) std::nth_element(values.begin(), first, values.end());
  std::vector<double> part(first, values.end());
  sort_values(part);
  std::copy(part.begin(), part.end(), first);
}

// Standardised columns with the scatter of a standard normal law.
at::Tensor whiten(size_t n, size_t m, const std::function<double(size_t, size_t)>& standardised) {
  const auto columns = static_cast<int64_t>(m);
  at::Tensor x = at::empty({static_cast<int64_t>(n), columns}, at::kDouble);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < m; ++j) x.mutable_data_ptr<double>()[i * m + j] = standardised(i, j);
  const at::Tensor root = at::linalg_cholesky(robust_scatter(x, x.new_zeros({columns})));
  return at::linalg_solve_triangular(root, x.t().contiguous(), /*upper=*/false).t().contiguous();
}

}  // namespace

const char* verdict_name(TailVerdict verdict) {
  return verdict == TailVerdict::light ? "light" : verdict == TailVerdict::heavy ? "heavy" : "too small to tell";
}

double TailReport::quantile(double p) const { return centre + sign * choice.fit.quantile(p); }

Interval TailReport::quantile_interval(double p, double level) const {
  const Interval i = gpd_quantile_interval(tail, choice.fit, p, level);
  return sign > 0 ? Interval{centre + i.lower, centre + i.upper} : Interval{centre - i.upper, centre - i.lower};
}

TailReport diagnose_tail(std::string name, std::span<const double> sorted, const DiagnosisOptions& options) {
  TailReport report;
  report.name = std::move(name);
  report.choice = choose_threshold(sorted, options.threshold);
  const size_t kept = report.choice.path.empty() ? 0 : static_cast<size_t>(report.choice.path.back().k) + 1;
  const auto upper = sorted.last(std::min(kept, sorted.size()));
  report.tail.assign(upper.begin(), upper.end());
  judge(report, options);
  return report;
}

Interval Diagnosis::direction_indices() const {
  Interval range{std::numeric_limits<double>::infinity(), 0};
  for (const TailReport& d : directions) {
    if (d.choice.k == 0) continue;
    range.lower = std::min(range.lower, d.choice.index());
    range.upper = std::max(range.upper, d.choice.index());
  }
  return range;
}

int64_t Diagnosis::most_skewed() const {
  int64_t most = -1;
  for (size_t d = 0; d < skewness.size(); ++d)
    if (skewness[d].skewed() && (most < 0 || skewness[d].p_value < skewness[static_cast<size_t>(most)].p_value))
      most = static_cast<int64_t>(d);
  return most;
}

const TailReport* Diagnosis::decisive() const {
  if (radius.verdict == TailVerdict::heavy) return &radius;
  // Among many sides one will look heavy by chance: here the interval with its allowance decides.
  const TailReport* best = &radius;
  for (const TailReport& side : sides)
    if (side.verdict == TailVerdict::heavy && side.choice.gamma_interval.lower > 0 &&
        (best == &radius || side.choice.gamma > best->choice.gamma))
      best = &side;
  return best;
}

Diagnosis diagnose(const at::Tensor& rows, const std::vector<std::string>& names, const DiagnosisOptions& options) {
  const PointsView points = view_points(rows, "tails");
  if (!names.empty() && static_cast<int64_t>(names.size()) != points.dim)
    throw InputError("[tails] expected {} names of columns, got {}", points.dim, names.size());
  if (points.n < 1 || points.dim < 1)
    throw InputError("[tails] expected at least one row and one column, got {} x {}", points.n, points.dim);
  if (options.directions < 0) throw InputError("[tails] expected at least 0 directions, got {}", options.directions);
  if (!(options.skew_chance > 0 && options.skew_chance < 1))
    throw InputError("[tails] expected a chance of skewness between 0 and 1, got {}", options.skew_chance);
  if (!(options.light_gamma > 0))
    throw InputError("[tails] expected a positive gamma of light tails, got {}", options.light_gamma);
  const auto n = static_cast<size_t>(points.n), dim = static_cast<size_t>(points.dim);
  Diagnosis out;
  out.rows = points.n;
  out.columns = points.dim;
  out.centre.resize(dim);
  out.scale.resize(dim);
  out.sides.resize(2 * dim);
  out.skewness.resize(dim);
  const auto name_of = [&](size_t d) { return names.empty() ? fmt::format("column {}", d + 1) : names[d]; };
  parallel_for(points.dim, [&](int64_t column) {
    const auto d = static_cast<size_t>(column);
    std::vector<double> values(n), scratch;
    for (size_t i = 0; i < n; ++i) values[i] = points.row(static_cast<int64_t>(i))[d];
    sort_values(values, scratch);
    std::tie(out.centre[d], out.scale[d]) = centre_and_spread(values);
    // Tables may be large: each side in turn takes the place of the largest values, all that diagnose_tail reads.
    const size_t upper = upper_part(n, options);
    const std::vector<double> largest(values.end() - static_cast<int64_t>(upper), values.end());
    const std::vector<double> lowest(values.begin(), values.begin() + static_cast<int64_t>(upper));
    for (const double sign : {1.0, -1.0}) {
      for (size_t i = 0; i < upper; ++i)
        values[n - 1 - i] = sign * ((sign > 0 ? largest[upper - 1 - i] : lowest[i]) - out.centre[d]);
      TailReport report = diagnose_tail(name_of(d) + (sign > 0 ? ", above" : ", below"), values, options);
      report.centre = out.centre[d];
      report.sign = sign;
      report.column = column;
      out.sides[2 * d + (sign > 0 ? 0 : 1)] = std::move(report);
    }
    std::copy(largest.begin(), largest.end(), values.end() - static_cast<int64_t>(upper));
    out.skewness[d] = find_skewness(values, out.sides[2 * d].choice, out.sides[2 * d + 1].choice,
                                    options.threshold.level, options.skew_chance / static_cast<double>(dim));
    out.skewness[d].name = name_of(d);
  });
  std::vector<size_t> used;
  for (size_t d = 0; d < dim; ++d) {
    if (out.scale[d] > 0)
      used.push_back(d);
    else
      out.constant.push_back(name_of(d));
  }

  // Standardised columns that have any spread. Tables may be large: they are not stored.
  const size_t m = used.size();
  const auto standardised = [&](size_t i, size_t j) {
    return (points.row(static_cast<int64_t>(i))[used[j]] - out.centre[used[j]]) / out.scale[used[j]];
  };
  {
    std::vector<double> radii(n);
    const at::Tensor whitened =
        options.radius == RadiusKind::mahalanobis && m > 0 ? whiten(n, m, standardised) : at::Tensor();
    const double* w = whitened.defined() ? whitened.const_data_ptr<double>() : nullptr;
    for (size_t i = 0; i < n; ++i) {
      double squares = 0;
      for (size_t j = 0; j < m; ++j) {
        const double v = w ? w[i * m + j] : standardised(i, j);
        squares += v * v;
      }
      radii[i] = std::sqrt(squares);
    }
    sort_upper_part(radii, options);
    out.radius = diagnose_tail("radius", radii, options);
  }

  if (m > 1) {
    out.directions.resize(static_cast<size_t>(options.directions));
    parallel_for(options.directions, [&](int64_t k) {
      std::vector<double> u(m), side(n);
      fill_normal(Key(options.seed).child("direction"), static_cast<uint64_t>(k) * m, static_cast<int64_t>(m),
                  u.data());
      double norm = 0;
      for (const double c : u) norm += c * c;
      for (double& c : u) c /= std::sqrt(norm);
      for (size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (size_t j = 0; j < m; ++j) sum += u[j] * standardised(i, j);
        side[i] = sum;
      }
      const double centre = median_of(side);
      for (double& v : side) v -= centre;
      sort_upper_part(side, options);
      TailReport& report = out.directions[static_cast<size_t>(k)];
      report = diagnose_tail(fmt::format("direction {}", k + 1), side, options);
      report.tail = std::vector<double>();  // nobody asks for it, and there are many directions
    });
  }

  const TailReport* decisive = out.decisive();
  out.verdict = decisive->verdict;
  out.sentence = decisive->name + ": " + decisive->sentence;
  return out;
}

}  // namespace htfm
