#include "htfm/metric/metric.h"

#include <ATen/ops/empty.h>

#include "htfm/base/registry.h"
#include "htfm/metric/metric_job.h"

namespace htfm {
namespace {

void run_f1_knn(const MetricJob& job) {
  const KnnScore score = f1_knn(job.real, job.fake, job.options.k);
  job.add("f1_knn", score.f1);
  job.add("precision_knn", score.precision);
  job.add("recall_knn", score.recall);
}

void run_f1_prd(const MetricJob& job) {
  const PrdScore& score = job.report.prd.emplace(f1_prd(job.real, job.fake, job.options.prd));
  job.add("f1_prd", score.f1);
  job.add("precision_prd", score.precision);
  job.add("recall_prd", score.recall);
}

void run_w1_pooled(const MetricJob& job) { job.add("w1_pooled", w1_pooled(job.real, job.fake)); }

void run_w1_sliced(const MetricJob& job) {
  const SlicedScore score = w1_sliced(job.real, job.fake, job.options.sliced);
  job.add("w1_sliced", score.value);
  job.add("w1_sliced_se", score.standard_error);
}

void run_mmd(const MetricJob& job) {
  const MmdScore score = mmd(job.real, job.fake, job.options.mmd);
  job.add("mmd", score.value);
  job.add("mmd_bandwidth", score.bandwidth);
}

struct Metric {
  std::string name, summary;
  std::function<void(const MetricJob&)> run;
  bool columns = false;  // reads tail scores of columns
};

Registry<Metric>& metric_registry() {
  static Registry<Metric> registry({
      {"f1_knn", "precision and recall of k-nearest-neighbour balls, as the paper writes its 2D score", run_f1_knn},
      {"f1_prd", "precision and recall of distributions by k-means, where the paper's values lie", run_f1_prd},
      {"w1_pooled", "Wasserstein-1 distance of all coordinates pooled", run_w1_pooled},
      {"w1_sliced", "Wasserstein-1 distance averaged over random directions", run_w1_sliced},
      {"mmd", "unbiased squared maximum mean discrepancy, Gaussian kernels", run_mmd},
      {"tails", "log ratios of far quantiles of the radius, Hill indices", run_tails},
      {"tail_quantiles", "log ratios of far quantiles of columns and their sides, mean squared log errors",
       run_tail_quantiles, true},
      {"tail_index", "relative errors of the tail index", run_tail_index, true},
      {"moments", "KR and SR: distances of the ratios of kurtosis and of skewness from 1", run_moments},
      {"tail_ks", "Kolmogorov-Smirnov distances beyond the data's 99.9 % quantile", run_tail_ks, true},
      {"exceedances", "samples beyond the largest value of the data, against the number expected", run_exceedances,
       true},
      {"tail_dependence", "do pairs of columns go to extremes together", run_tail_dependence},
  });
  return registry;
}

at::Tensor point_rows(const Points& points) {
  at::Tensor rows = at::empty({points.n, points.dim}, at::kDouble);
  std::copy(points.x.begin(), points.x.end(), rows.mutable_data_ptr<double>());
  return rows;
}

}  // namespace

std::vector<MetricInfo> metric_infos() {
  std::vector<MetricInfo> infos;
  for (const Metric& metric : metric_registry().list()) infos.push_back({metric.name, metric.summary});
  return infos;
}

void register_metric(OwnMetric metric) {
  if (!metric.compute)
    throw InputError("[register_metric] {}: expected a function that computes the score, got none", metric.name);
  const auto run = [compute = std::move(metric.compute)](const MetricJob& job) {
    for (MetricValue& value : compute(point_rows(job.real), point_rows(job.fake), job.options))
      job.report.values.push_back(std::move(value));
  };
  metric_registry().add({std::move(metric.name), std::move(metric.summary), run}, "metric");
}

double MetricReport::operator[](std::string_view name) const {
  for (const MetricValue& entry : values)
    if (entry.name == name) return entry.value;
  throw Error("[metrics] expected a computed score, got \"{}\"", name);
}

MetricReport compute_metrics(const std::vector<std::string>& names, const at::Tensor& real, const at::Tensor& fake,
                             const MetricOptions& options) {
  const EntryList<Metric> known = metric_registry().list();
  std::vector<const Metric*> chosen;
  chosen.reserve(names.empty() ? known.size() : names.size());
  for (const std::string& name : names) chosen.push_back(&find_named(known, name, "metrics"));
  if (names.empty())
    for (const Metric& metric : known) chosen.push_back(&metric);

  MetricReport report;
  const Points real_points = to_points(real, "metrics: real");
  const Points fake_points = to_finite_points(fake, "metrics: fake", report.nonfinite);
  check_same_dimension(real_points, fake_points, "metrics");
  if (fake_points.n == 0)
    throw InputError("[metrics: fake] expected finite points, got none in {} rows", report.nonfinite);
  report.real = real_points.n;
  report.fake = fake_points.n;
  const bool columns = std::any_of(chosen.begin(), chosen.end(), [](const Metric* m) { return m->columns; });
  const MetricJob job{real_points, fake_points, options, columns, report};
  job.add("n_real", static_cast<double>(report.real));
  job.add("n_fake", static_cast<double>(report.fake));
  job.add("nonfinite", static_cast<double>(report.nonfinite));
  for (const Metric* metric : chosen) metric->run(job);
  return report;
}

}  // namespace htfm
