// Names of the tail scores: the radius without a suffix, column k as _xk, its sides as _xk_above and _xk_below, means
// as _columns.
#include <fmt/format.h>

#include "htfm/metric/metric_job.h"

namespace htfm {
namespace {

/// Calls body(suffix, column) for each column that is listed by itself.
template <class Body>
void for_columns(const MetricJob& job, const std::vector<ColumnScore>& columns, const Body& body) {
  if (static_cast<int64_t>(columns.size()) > job.options.listed_columns) return;
  for (size_t k = 0; k < columns.size(); ++k) body(fmt::format("_x{}", k + 1), columns[k]);
}

/// The same for both sides of each column.
template <class Body>
void for_sides(const MetricJob& job, const std::vector<ColumnScore>& columns, const Body& body) {
  for_columns(job, columns, [&](const std::string& suffix, const ColumnScore& c) {
    body(suffix + "_above", c.above);
    body(suffix + "_below", c.below);
  });
}

}  // namespace

const TailScores& MetricJob::tail_scores() const {
  if (!report.tail_scores) {
    TailScoreOptions o;
    o.levels = options.tails.levels;
    o.tail_fraction = options.tails.tail_fraction;
    o.columns = columns;
    o.bootstrap = options.bootstrap;
    report.tail_scores = htfm::tail_scores(real, fake, o);
  }
  return *report.tail_scores;
}

void run_tails(const MetricJob& job) {
  const TailScore& score = job.report.tails.emplace(tails(job.real, job.fake, job.options.tails));
  const TailScores& scores = job.tail_scores();
  for (size_t i = 0; i < score.levels.size(); ++i) {
    const Scored& interval = scores.radius.log_q[i];
    job.add(fmt::format("log_q_{}", score.levels[i]), Scored(score.log_ratio[i], interval.low, interval.high));
  }
  job.add("hill_real", score.real.hill.index);
  job.add("hill_real_se", score.real.hill.standard_error);
  job.add("hill_fake", score.fake.hill.index);
  job.add("hill_fake_se", score.fake.hill.standard_error);
}

void run_tail_quantiles(const MetricJob& job) {
  const TailScores& s = job.tail_scores();
  const auto add = [&](const std::string& suffix, const std::vector<Scored>& log_q) {
    for (size_t l = 0; l < s.levels.size(); ++l) job.add(fmt::format("log_q_{}{}", s.levels[l], suffix), log_q[l]);
  };
  job.add("msle", s.radius.msle);
  add("_columns", s.mean_log_q);
  job.add("msle_columns", s.mean_msle);
  for_columns(job, s.columns, [&](const std::string& suffix, const ColumnScore& c) {
    add(suffix, c.both.log_q);
    job.add("msle" + suffix, c.both.msle);
    add(suffix + "_above", c.above.log_q);
    add(suffix + "_below", c.below.log_q);
  });
}

void run_tail_index(const MetricJob& job) {
  const TailScores& s = job.tail_scores();
  job.add("tail_index_error", s.radius.index_error);
  job.add("tail_index_error_columns", s.mean_index_error);
  for_columns(job, s.columns, [&](const std::string& suffix, const ColumnScore& c) {
    job.add("tail_index_error" + suffix, c.both.index_error);
    job.add("tail_index_error" + suffix + "_above", c.above.index_error);
    job.add("tail_index_error" + suffix + "_below", c.below.index_error);
  });
}

void run_moments(const MetricJob& job) {
  const MomentScores& s = job.report.moments.emplace(moment_scores(job.real, job.fake, job.options.bootstrap));
  job.add("kr", s.kr);
  job.add("sr", s.sr);
  if (static_cast<int64_t>(s.columns.size()) > job.options.listed_columns) return;
  for (size_t k = 0; k < s.columns.size(); ++k) {
    const MomentScore& c = s.columns[k];
    const std::string suffix = fmt::format("_x{}", k + 1);
    job.add("kr" + suffix, c.kr);
    job.add("sr" + suffix, c.sr);
    job.add("kurtosis_real" + suffix, c.kurtosis_real);
    job.add("kurtosis_fake" + suffix, c.kurtosis_fake);
    job.add("skewness_real" + suffix, c.skewness_real);
    job.add("skewness_fake" + suffix, c.skewness_fake);
  }
}

void run_tail_ks(const MetricJob& job) {
  const TailScores& s = job.tail_scores();
  job.add("tail_ks", s.radius.ks);
  job.add("tail_ks_columns", s.mean_ks);
  for_columns(job, s.columns,
              [&](const std::string& suffix, const ColumnScore& c) { job.add("tail_ks" + suffix, c.ks); });
  job.add("tail_share", s.radius.share);
  for_sides(job, s.columns,
            [&](const std::string& suffix, const ViewScore& v) { job.add("tail_share" + suffix, v.share); });
}

void run_exceedances(const MetricJob& job) {
  const TailScores& s = job.tail_scores();
  job.add("exceed_expected", s.radius.exceedances.expected);
  const auto add = [&](const std::string& suffix, const ViewScore& v) {
    job.add("exceed" + suffix, v.exceedances.count);
    job.add("exceed_p_more" + suffix, v.exceedances.p_more);
    job.add("exceed_p_fewer" + suffix, v.exceedances.p_fewer);
  };
  add("", s.radius);
  for_sides(job, s.columns, add);
}

void run_tail_dependence(const MetricJob& job) {
  TailDependenceOptions options;
  options.bootstrap = job.options.bootstrap;
  const TailDependence& s = job.report.dependence.emplace(tail_dependence(job.real, job.fake, options));
  for (size_t l = 0; l < s.levels.size(); ++l) {
    job.add(fmt::format("chi_error_{}_above", s.levels[l]), s.mean_above[l]);
    job.add(fmt::format("chi_error_{}_below", s.levels[l]), s.mean_below[l]);
  }
  if (job.real.dim > job.options.listed_columns) return;
  for (const PairDependence& p : s.pairs)
    for (size_t l = 0; l < s.levels.size(); ++l)
      for (const bool above : {true, false}) {
        const Chi& chi = (above ? p.above : p.below)[l];
        const std::string suffix =
            fmt::format("_{}_x{}_x{}_{}", s.levels[l], p.first + 1, p.second + 1, above ? "above" : "below");
        job.add("chi_real" + suffix, chi.real);
        job.add("chi_fake" + suffix, chi.fake);
      }
}

}  // namespace htfm
