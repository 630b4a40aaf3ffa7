// The input and output of one call of compute_metrics, and the registry entries of tail scores.
#pragma once

#include "htfm/metric/metric.h"

namespace htfm {

struct MetricJob {
  const Points& real;
  const Points& fake;
  const MetricOptions& options;
  bool columns;  // tail scores of columns are wanted, not of the radius alone
  MetricReport& report;

  void add(std::string name, double value) const { report.values.push_back({std::move(name), value}); }
  void add(std::string name, const Scored& s) const {
    report.values.push_back({std::move(name), s.value, s.low, s.high, options.bootstrap.rounds > 0});
  }
  /// Computed once for all entries that read them.
  const TailScores& tail_scores() const;
};

void run_tails(const MetricJob& job);
void run_tail_quantiles(const MetricJob& job);
void run_tail_index(const MetricJob& job);
void run_moments(const MetricJob& job);
void run_tail_ks(const MetricJob& job);
void run_exceedances(const MetricJob& job);
void run_tail_dependence(const MetricJob& job);

}  // namespace htfm
