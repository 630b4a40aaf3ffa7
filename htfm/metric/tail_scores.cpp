#include "htfm/metric/tail_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"
#include "htfm/base/parallel.h"
#include "htfm/metric/tail_view.h"
#include "htfm/metric/tails.h"

namespace htfm {
namespace {

constexpr int64_t kFewest = 5;  // values beyond the cut below which a distance of laws says nothing

int64_t index_points(const TailScoreOptions& options, int64_t n) {
  return static_cast<int64_t>(options.tail_fraction * static_cast<double>(n));
}

/// So many of the largest of n values the scores look at.
int64_t values_needed(const TailScoreOptions& options, int64_t n) {
  int64_t needed = index_points(options, n) + 1;
  const auto see = [&](double level) {
    needed = std::max(needed, n - static_cast<int64_t>(level * static_cast<double>(n - 1)));
  };
  for (const double level : options.levels) see(level);
  for (const double level : options.msle_levels) see(level);
  see(options.cut);
  return needed;
}

/// The figures of one view, of the sample or of a round.
struct Figures {
  std::vector<double> log_q;
  double msle = 0, index_error = 0, exceedances = 0;
  ViewPair::Beyond beyond;
};

class Scorer {
 public:
  Scorer(const Points& real, const Points& fake, const TailScoreOptions& options)
      : options_(options),
        key_(Key(options.bootstrap.seed).child("tail_scores")),
        real_draws_(real.n, values_needed(options, real.n), options.bootstrap.rounds, key_.child("real")),
        fake_draws_(fake.n, values_needed(options, fake.n), options.bootstrap.rounds, key_.child("fake")) {}

  /// Scores a view; gives the KS distances of the rounds for whoever wants to combine them.
  ViewScore score(std::vector<double> real_values, std::vector<double> fake_values,
                  std::vector<double>* ks_rounds = nullptr) const {
    const TailView real(std::move(real_values), real_draws_.reach(), std::numeric_limits<double>::infinity());
    const TailView fake(std::move(fake_values), fake_draws_.reach(), real.top().back());
    const ViewPair pair(real, fake);
    const Figures own = figures(real, fake, pair, real_draws_.sample(), fake_draws_.sample());
    std::vector<Figures> rounds(static_cast<size_t>(options_.bootstrap.rounds));
    for (int64_t r = 0; r < options_.bootstrap.rounds; ++r)
      rounds[static_cast<size_t>(r)] = figures(real, fake, pair, real_draws_.round(r), fake_draws_.round(r));
    const auto gather = [&](const auto& part) {
      std::vector<double> out;
      out.reserve(rounds.size());
      for (const Figures& f : rounds) out.push_back(part(f));
      return out;
    };
    const double level = options_.bootstrap.level;
    ViewScore s;
    for (size_t l = 0; l < own.log_q.size(); ++l)
      s.log_q.push_back(percentile_interval(own.log_q[l], gather([l](const Figures& f) { return f.log_q[l]; }), level));
    s.msle = reflected_interval(own.msle, gather([](const Figures& f) { return f.msle; }), level);
    s.index_error = percentile_interval(own.index_error, gather([](const Figures& f) { return f.index_error; }), level);
    const std::vector<double> ks = gather([](const Figures& f) { return f.beyond.ks; });
    if (std::min(own.beyond.real, own.beyond.fake) >= kFewest) {
      s.ks = reflected_interval(own.beyond.ks, ks, level);
      // The distance of equal laws is all noise, which reflection removes only in part; Kolmogorov's law says how much
      // there is.
      const double sizes = 1 / static_cast<double>(own.beyond.real) + 1 / static_cast<double>(own.beyond.fake);
      const double noise = std::sqrt(-0.5 * std::log((1 - level) / 2) * sizes);
      if (s.ks.has_interval()) s.ks.low = std::min(s.ks.low, std::max(0.0, s.ks.value - noise));
    }
    s.share = percentile_interval(own.beyond.share, gather([](const Figures& f) { return f.beyond.share; }), level);
    s.exceedances.count =
        percentile_interval(own.exceedances, gather([](const Figures& f) { return f.exceedances; }), level);
    const auto count = static_cast<int64_t>(own.exceedances);
    s.exceedances.expected = static_cast<double>(fake.size()) / static_cast<double>(real.size() + 1);
    s.exceedances.p_more = exceedance_probability(real.size(), fake.size(), count);
    s.exceedances.p_fewer = 1 - exceedance_probability(real.size(), fake.size(), count + 1);
    if (ks_rounds) *ks_rounds = ks;
    return s;
  }

 private:
  Figures figures(const TailView& real, const TailView& fake, const ViewPair& pair, Ranks a, Ranks b) const {
    const auto log_ratio = [&](double level) {
      const double p = real.quantile(a, level), q = fake.quantile(b, level);
      return p > 0 && q > 0 ? std::log(q / p) : kNan;
    };
    Figures f;
    for (const double level : options_.levels) f.log_q.push_back(log_ratio(level));
    for (const double level : options_.msle_levels) {
      const double error = log_ratio(level);
      f.msle += error * error / static_cast<double>(options_.msle_levels.size());
    }
    f.index_error =
        fake.hill(b, index_points(options_, fake.size())) / real.hill(a, index_points(options_, real.size())) - 1;
    f.beyond = pair.beyond(a, b, options_.cut);
    f.exceedances = static_cast<double>(pair.exceedances(a, b));
    return f;
  }

  const TailScoreOptions& options_;
  Key key_;
  TopDraws real_draws_, fake_draws_;
};

enum class Side { both, above, below };

std::vector<double> side_values(const Points& points, int64_t column, double centre, Side side) {
  std::vector<double> out(static_cast<size_t>(points.n));
  for (int64_t i = 0; i < points.n; ++i) {
    const double x = points.row(i)[column] - centre;
    out[static_cast<size_t>(i)] = side == Side::both ? std::abs(x) : side == Side::above ? x : -x;
  }
  return out;
}

bool any_negative(const Points& points, int64_t column) {
  for (int64_t i = 0; i < points.n; ++i)
    if (points.row(i)[column] < 0) return true;
  return false;
}

void add_means(TailScores& s) {
  const auto mean = [&](const auto& part) {
    std::vector<Scored> all;
    for (const ColumnScore& c : s.columns) all.push_back(part(c));
    return mean_of(all);
  };
  for (size_t l = 0; l < s.levels.size(); ++l)
    s.mean_log_q.push_back(mean([l](const ColumnScore& c) { return magnitude(c.both.log_q[l]); }));
  s.mean_msle = mean([](const ColumnScore& c) { return c.both.msle; });
  s.mean_index_error = mean([](const ColumnScore& c) { return magnitude(c.both.index_error); });
  s.mean_ks = mean([](const ColumnScore& c) { return c.ks; });
}

void check(const TailScoreOptions& options) {
  check_options(options.bootstrap);
  if (!(options.tail_fraction > 0 && options.tail_fraction < 1))
    throw InputError("[tail_scores] expected a tail fraction in (0, 1), got {}", options.tail_fraction);
  std::vector<double> levels = options.levels;
  levels.insert(levels.end(), options.msle_levels.begin(), options.msle_levels.end());
  levels.push_back(options.cut);
  for (const double level : levels)
    if (!(level > 0 && level < 1)) throw InputError("[tail_scores] expected quantile levels in (0, 1), got {}", level);
}

}  // namespace

TailScores tail_scores(const Points& real, const Points& fake, const TailScoreOptions& options) {
  check_same_dimension(real, fake, "tail_scores");
  check(options);
  TailScores out;
  out.levels = options.levels;
  const std::vector<double> centre = coordinate_medians(real);
  const Scorer scorer(real, fake, options);
  const int64_t columns = options.columns ? real.dim : 0;
  out.columns.resize(static_cast<size_t>(columns));
  std::vector<std::vector<double>> ks(static_cast<size_t>(2 * columns));  // rounds of the sides
  // The longest task first: the radius.
  parallel_for(1 + 3 * columns, [&](int64_t task) {
    if (task == 0) {
      out.radius = scorer.score(distances_from(real, centre), distances_from(fake, centre));
      return;
    }
    const int64_t k = (task - 1) / 3;
    const Side side = static_cast<Side>((task - 1) % 3);
    const double c = centre[static_cast<size_t>(k)];
    ColumnScore& column = out.columns[static_cast<size_t>(k)];
    ViewScore& view = side == Side::both ? column.both : side == Side::above ? column.above : column.below;
    std::vector<double>* rounds =
        side == Side::both ? nullptr : &ks[static_cast<size_t>(2 * k + (side == Side::below))];
    view = scorer.score(side_values(real, k, c, side), side_values(fake, k, c, side), rounds);
  });
  for (int64_t k = 0; k < columns; ++k) {
    ColumnScore& column = out.columns[static_cast<size_t>(k)];
    column.ks = column.above.ks;
    if (std::isnan(column.below.ks.value) || !any_negative(real, k)) continue;
    std::vector<double> both = ks[static_cast<size_t>(2 * k)];
    const std::vector<double>& below = ks[static_cast<size_t>(2 * k + 1)];
    for (size_t r = 0; r < both.size(); ++r) both[r] = (both[r] + below[r]) / 2;
    if (std::isnan(column.above.ks.value)) {
      column.ks = column.below.ks;
      continue;
    }
    column.ks = reflected_interval((column.above.ks.value + column.below.ks.value) / 2, std::move(both),
                                   options.bootstrap.level);
    column.ks.low = std::min(column.ks.low, (column.above.ks.low + column.below.ks.low) / 2);
  }
  add_means(out);
  return out;
}

TailScores tail_scores(const at::Tensor& real, const at::Tensor& fake, const TailScoreOptions& options) {
  return tail_scores(to_points(real, "tail_scores: real"), to_points(fake, "tail_scores: fake"), options);
}

}  // namespace htfm
