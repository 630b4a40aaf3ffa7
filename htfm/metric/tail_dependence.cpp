#include "htfm/metric/tail_dependence.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"
#include "htfm/base/parallel.h"

namespace htfm {
namespace {

using Bits = std::vector<uint64_t>;

/// Which rows of a column are extreme: one set of bits for each level, first above, then below.
std::vector<Bits> extreme_rows(const Points& points, int64_t column, const std::vector<double>& levels) {
  const int64_t n = points.n;
  std::vector<double> x(static_cast<size_t>(n));
  std::vector<Bits> out;
  for (const double sign : {1.0, -1.0}) {
    for (int64_t i = 0; i < n; ++i) x[static_cast<size_t>(i)] = sign * points.row(i)[column];
    for (const double level : levels) {
      const auto beyond = static_cast<int64_t>((1 - level) * static_cast<double>(n) + 1e-9);
      Bits& bits = out.emplace_back(static_cast<size_t>((n + 63) / 64), 0);
      if (beyond < 1 || beyond >= n) continue;
      std::vector<double> ordered = x;
      std::nth_element(ordered.begin(), ordered.begin() + (n - 1 - beyond), ordered.end());
      const double threshold = ordered[static_cast<size_t>(n - 1 - beyond)];
      for (int64_t i = 0; i < n; ++i)
        bits[static_cast<size_t>(i / 64)] |= static_cast<uint64_t>(x[static_cast<size_t>(i)] > threshold) << (i % 64);
    }
  }
  return out;
}

/// Rows where both columns are extreme, the first alone, the second alone.
struct Counts {
  int64_t both = 0, first = 0, second = 0;

  double chi() const {
    const int64_t marginal = 2 * both + first + second;
    return marginal > 0 ? 2 * static_cast<double>(both) / static_cast<double>(marginal) : kNan;
  }
};

Counts count(const Bits& a, const Bits& b) {
  Counts c;
  for (size_t i = 0; i < a.size(); ++i) {
    c.both += std::popcount(a[i] & b[i]);
    c.first += std::popcount(a[i] & ~b[i]);
    c.second += std::popcount(b[i] & ~a[i]);
  }
  return c;
}

/// Counts of a resample for three standard normal numbers. The thresholds stay: dividing by the drawn number of extreme
/// rows does what drawing them anew would, where the dependence is the same at nearby levels.
Counts redraw(const Counts& c, int64_t n, const double* z) {
  Counts out;
  const auto share = [](int64_t part, int64_t all) {
    return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0.0;
  };
  out.both = binomial_quantile(n, share(c.both, n), z[0]);
  out.first = binomial_quantile(n - out.both, share(c.first, n - c.both), z[1]);
  out.second = binomial_quantile(n - out.both - out.first, share(c.second, n - c.both - c.first), z[2]);
  return out;
}

std::vector<PairDependence> choose_pairs(int64_t dim, int64_t most, Key key) {
  const int64_t all = dim * (dim - 1) / 2;
  std::set<int64_t> chosen;
  for (int64_t i = 0; static_cast<int64_t>(chosen.size()) < std::min(all, most); ++i)
    chosen.insert(all <= most ? i
                              : static_cast<int64_t>(key.below(static_cast<uint64_t>(all), static_cast<uint64_t>(i))));
  std::vector<PairDependence> pairs;
  int64_t start = 0, first = 0;  // number of the pair (first, first + 1)
  for (const int64_t i : chosen) {
    for (; i >= start + dim - 1 - first; ++first) start += dim - 1 - first;
    pairs.push_back({first, first + 1 + i - start, {}, {}});
  }
  return pairs;
}

Chi compare(const Counts& real, int64_t n, const Counts& fake, int64_t m, const std::vector<double>& normal,
            double level) {
  std::vector<double> a, b, difference;
  for (size_t r = 0; r + 6 <= normal.size(); r += 6) {
    a.push_back(redraw(real, n, normal.data() + r).chi());
    b.push_back(redraw(fake, m, normal.data() + r + 3).chi());
    difference.push_back(b.back() - a.back());
  }
  return {percentile_interval(real.chi(), std::move(a), level), percentile_interval(fake.chi(), std::move(b), level),
          percentile_interval(fake.chi() - real.chi(), std::move(difference), level)};
}

}  // namespace

TailDependence tail_dependence(const Points& real, const Points& fake, const TailDependenceOptions& options) {
  check_same_dimension(real, fake, "tail_dependence");
  check_options(options.bootstrap);
  for (const double level : options.levels)
    if (!(level > 0 && level < 1)) throw InputError("[tail_dependence] expected levels in (0, 1), got {}", level);
  if (options.pairs < 1) throw InputError("[tail_dependence] expected at least one pair, got {}", options.pairs);
  const Key key = Key(options.bootstrap.seed).child("tail_dependence");
  TailDependence out;
  out.levels = options.levels;
  out.pairs = choose_pairs(real.dim, options.pairs, key.child("pairs"));

  std::map<int64_t, std::array<std::vector<Bits>, 2>> extremes;
  for (const PairDependence& p : out.pairs) extremes[p.first], extremes[p.second];
  std::vector<int64_t> columns;
  columns.reserve(extremes.size());
  for (const auto& [column, bits] : extremes) columns.push_back(column);
  parallel_for(2 * static_cast<int64_t>(columns.size()), [&](int64_t task) {
    const int64_t column = columns[static_cast<size_t>(task / 2)];
    extremes.at(column)[static_cast<size_t>(task % 2)] = extreme_rows(task % 2 ? fake : real, column, options.levels);
  });

  std::vector<double> normal(static_cast<size_t>(6 * options.bootstrap.rounds));
  fill_normal(key.child("rounds"), 0, static_cast<int64_t>(normal.size()), normal.data());
  const size_t levels = options.levels.size();
  parallel_for(static_cast<int64_t>(out.pairs.size()), [&](int64_t i) {
    PairDependence& pair = out.pairs[static_cast<size_t>(i)];
    const auto &a = extremes.at(pair.first), &b = extremes.at(pair.second);
    for (size_t l = 0; l < 2 * levels; ++l)
      (l < levels ? pair.above : pair.below)
          .push_back(compare(count(a[0][l], b[0][l]), real.n, count(a[1][l], b[1][l]), fake.n, normal,
                             options.bootstrap.level));
  });
  for (size_t l = 0; l < levels; ++l) {
    std::vector<Scored> above, below;
    for (const PairDependence& p : out.pairs)
      above.push_back(magnitude(p.above[l].difference)), below.push_back(magnitude(p.below[l].difference));
    out.mean_above.push_back(mean_of(above)), out.mean_below.push_back(mean_of(below));
  }
  return out;
}

}  // namespace htfm
