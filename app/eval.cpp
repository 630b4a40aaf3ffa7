// htfm eval: scores of samples against data.
#include <fmt/format.h>

#include "app/common.h"
#include "htfm/base/error.h"
#include "htfm/io/npy.h"
#include "htfm/io/table.h"
#include "htfm/metric/metric.h"

namespace htfm::app {

namespace {

// Samples may hold diverged rows, which are counted; data may not.
at::Tensor read_samples(const std::string& path) {
  if (!path.ends_with(".npy")) return read_table(path).values;
  at::Tensor x = read_npy(path);
  check_matrix(x, path);
  return x;
}

// Intervals beside the scores: as fields of their own in JSON, in brackets for the eye.
void add_values(Json& j, const MetricReport& report, bool json) {
  for (const MetricValue& v : report.values) {
    if (json || !(v.low <= v.high))
      j[v.name] = v.value;
    else
      j[v.name] = fmt::format("{:.6g}  [{:.4g}, {:.4g}]", v.value, v.low, v.high);
    if (json && v.interval) j[v.name + "_low"] = v.low, j[v.name + "_high"] = v.high;
  }
}

}  // namespace

void add_eval(CLI::App& app) {
  struct Options {
    Common common;
    std::string real, fake;
    std::vector<std::string> metrics;
    MetricOptions metric;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("eval", "Score samples against data");
  c->footer("Example: htfm eval --real r.npy --fake s.npy --metrics f1_prd,w1_sliced");
  c->add_option("--real", o->real, "Data (.npy or .csv)")->required();
  c->add_option("--fake", o->fake, "Samples (.npy or .csv)")->required();
  std::vector<std::string> names;
  for (const MetricInfo& m : metric_infos()) names.emplace_back(m.name);
  c->add_option("--metrics", o->metrics, "Comma-separated; all where not given")->delimiter(',')->check(CLI::IsMember(names));
  c->add_option("-k", o->metric.k, "Neighbours of f1_knn")->check(CLI::PositiveNumber)->capture_default_str();
  c->add_option("--bootstrap", o->metric.bootstrap.rounds, "Resamples for the intervals of tail scores; 0: none")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  o->common.add(*c);
  c->callback([o] {
    o->common.apply();
    const at::Tensor real = read_table(o->real).values, fake = read_samples(o->fake);
    o->metric.set_seed(static_cast<uint64_t>(o->common.seed));
    const MetricReport report = compute_metrics(o->metrics, real, fake, o->metric);
    Json j{{"real", o->real}, {"fake", o->fake}};
    add_values(j, report, o->common.json);
    j["seed"] = o->common.seed;
    j["bootstrap"] = o->metric.bootstrap.rounds;
    print_figures(o->common, j);
  });
}

}  // namespace htfm::app
