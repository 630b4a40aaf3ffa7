// A score of one's own: how far the 0.9 quantiles of the columns are from those of the data, in interquartile ranges.
#include <ATen/ATen.h>
#include <htfm/metric/metric.h>
#include <htfm/sample/sampler.h>
#include <htfm/train/trainer.h>

#include <cstdio>

namespace {

at::Tensor column_quantiles(const at::Tensor& points, double level) { return at::quantile(points, level, 0); }

std::vector<htfm::MetricValue> quantile_score(const at::Tensor& real, const at::Tensor& fake,
                                              const htfm::MetricOptions&) {
  const at::Tensor range = column_quantiles(real, 0.75) - column_quantiles(real, 0.25);
  const at::Tensor off = (column_quantiles(fake, 0.9) - column_quantiles(real, 0.9)).abs() / range;
  return {{"quantile", off.mean().item<double>()}, {"quantile_worst", off.max().item<double>()}};
}

}  // namespace

int main() try {
  htfm::register_metric(
      {"quantile", "distance of the 0.9 quantiles of columns, in interquartile ranges", quantile_score});

  const htfm::RunConfig config = htfm::parse_config(R"(
    data = {n = 500}
    net = {width = 16, blocks = 1}
    train = {batch = 100, epochs = 4}
    sample = {n = 500, nfe = 6}
  )",
                                                    "own_metric");
  const htfm::Model model = htfm::train(config);
  const at::Tensor samples = htfm::sample(model, htfm::sample_options(config)).samples,
                   real = htfm::load_dataset(config).rows;
  const htfm::MetricReport scores = htfm::compute_metrics({"quantile", "w1_pooled"}, real, samples);
  for (const htfm::MetricValue& score : scores.values) std::printf("%-16s %.4f\n", score.name.c_str(), score.value);
  const double itself = htfm::compute_metrics({"quantile"}, real, real)["quantile"];
  return itself == 0 && scores["quantile"] > 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
