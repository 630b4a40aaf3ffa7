// config/published: the resolved files against a written list that cites the paper, and what such a run trains on.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "htfm/sample/sampler.h"
#include "htfm/train/trainer.h"
#include "test/data.h"

namespace htfm {
namespace {

using Expected = std::map<std::string, std::string>;

RunConfig published(const std::string& name, const std::vector<std::string>& settings = {}) {
  return load_config(test::source_file("config/published/" + name + ".toml"), settings);
}

// "key = value" of the resolved configuration, sections joined to the keys.
Expected resolved(const RunConfig& config) {
  Expected out;
  std::string section;
  const std::string text = format_config(config);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with('[')) section = line.substr(1, line.size() - 2) + ".";
    if (const size_t equals = line.find(" = "); equals != std::string::npos)
      out[section + line.substr(0, equals)] = line.substr(equals + 3);
  }
  return out;
}

void expect(const std::string& name, const Expected& list) {
  const Expected own = resolved(published(name));
  for (const auto& [key, value] : list) {
    const auto found = own.find(key);
    ASSERT_NE(found, own.end()) << name << ": " << key;
    EXPECT_EQ(found->second, value) << name << ": " << key;
  }
}

Expected operator+(Expected a, const Expected& b) {
  for (const auto& [key, value] : b) a[key] = value;
  return a;
}

// Section 3.1: clocks independent of the data, eq. (chtfm-loss-st): uniform times and the plain L2 loss. Section 3.2
// and E.4: the logsignature of order 1 of the path on 200 steps, standardised along time and by running statistics.
// E.6: the uniform grid.
const Expected kFlow{{"method", "\"htfm\""},
                     {"clock.grid", "200"},
                     {"feature.kind", "\"auto\""},
                     {"feature.order", "1"},
                     {"feature.transform", "\"per-path\""},
                     {"feature.standardise", "\"running\""},
                     {"feature.convention", "\"linear\""},
                     {"feature.area", "\"off\""},
                     {"feature.squash", "\"off\""},
                     {"feature.saturate", "\"off\""},
                     {"feature.end", "false"},
                     {"path.schedule", "\"straight\""},
                     {"coupling.kind", "\"independent\""},
                     {"precondition.enabled", "false"},
                     {"precondition.time", "\"path\""},
                     {"train.times", "\"uniform\""},
                     {"sample.time_grid", "\"uniform\""},
                     {"sample.time_power", "1.0"},
                     {"data.normalise", "\"none\""},
                     {"net.film", "false"}};
// E.1, E.4 and E.5, 2D.
const Expected k2d{{"data.name", "\"mixture2d\""},
                   {"data.n", "32000"},
                   {"net.kind", "\"mlp\""},
                   {"net.width", "64"},
                   {"net.blocks", "4"},
                   {"net.time_embedding", "32"},
                   {"net.path_embedding", "128"},
                   {"net.path_map", "\"two-layer\""},
                   {"net.modulation", "\"scale-shift\""},
                   {"train.optimiser", "\"adamw\""},
                   {"train.cooldown", "0"},
                   {"train.validation", "0.0"},
                   {"train.lr", "0.005"},
                   {"train.batch", "1024"},
                   {"train.epochs", "100"},
                   {"train.ema", "0.99"},
                   {"train.ema_warmup", "false"},
                   {"train.clip", "0.0"},
                   {"train.warmup", "0"},
                   {"train.lr_decay", "1.0"},
                   {"train.beta1", "0.9"},
                   {"train.beta2", "0.999"},
                   {"train.weight_decay", "0.01"},
                   {"sample.n", "24000"}};
// E.1, E.4 and E.5, CIFAR10-LT.
const Expected kCifar{{"data.kind", "\"cifar10\""},
                      {"data.subset", "\"long-tail\""},
                      {"data.imbalance", "0.01"},
                      {"data.flip", "true"},
                      {"net.kind", "\"unet\""},
                      {"unet.base", "128"},
                      {"unet.multipliers", "\"1,2,2,2\""},
                      {"unet.blocks", "2"},
                      {"unet.heads", "4"},
                      {"unet.attention", "\"16\""},
                      {"unet.dropout", "0.0"},
                      {"net.path_embedding", "128"},
                      {"net.path_map", "\"two-layer\""},
                      {"net.modulation", "\"scale-shift\""},
                      {"train.optimiser", "\"adamw\""},
                      {"train.beta1", "0.9"},
                      {"train.beta2", "0.999"},
                      {"train.weight_decay", "0.01"},
                      {"train.cooldown", "0"},
                      {"train.validation", "0.0"},
                      {"train.precision", "\"tf32\""},
                      {"train.lr", "0.0002"},
                      {"train.warmup", "500"},
                      {"train.lr_decay", "0.99"},
                      {"train.lr_decay_steps", "1000"},
                      {"train.batch", "100"},
                      {"train.epochs", "2000"},
                      {"train.ema", "0.9999"},
                      {"train.ema_warmup", "false"},
                      {"train.clip", "1.0"},
                      {"sample.n", "12406"}};
// E.2, with the clamps of the baselines' own image set-up.
const Expected kLevyImages{
    {"baseline.steps", "4000"}, {"baseline.clamp_a", "20.0"}, {"baseline.clamp_eps", "200.0"}, {"baseline.eta", "0.0"}};
const Expected kLevy2d{
    {"baseline.steps", "100"}, {"baseline.clamp_a", "0.0"}, {"baseline.clamp_eps", "0.0"}, {"baseline.eta", "0.0"}};

TEST(Published, FilesSayWhatThePaperPrints) {
  expect("2d", kFlow + k2d + Expected{{"sample.solver", "\"euler\""}, {"sample.nfe", "10"}});
  expect("cifar10lt", kFlow + kCifar + Expected{{"sample.solver", "\"euler\""}, {"sample.nfe", "100"}});
  expect("hrrr-vil", kFlow + Expected{{"net.kind", "\"ncsnpp\""},
                                      {"unet.base", "32"},
                                      {"unet.multipliers", "\"1,2,2,4,4\""},
                                      {"unet.blocks", "4"},
                                      {"unet.heads", "4"},
                                      {"unet.attention", "\"16\""},
                                      {"unet.attention_up", "\"last\""},
                                      {"unet.pyramid", "\"strided\""},
                                      {"unet.progressive", "true"},
                                      {"net.path_embedding", "128"},
                                      {"net.path_map", "\"two-layer\""},
                                      {"net.modulation", "\"scale-shift\""},
                                      {"data.kind", "\"fields\""},
                                      {"train.optimiser", "\"adamw\""},
                                      {"train.beta1", "0.9"},
                                      {"train.beta2", "0.999"},
                                      {"train.cooldown", "0"},
                                      {"train.validation", "0.0"},
                                      {"train.ema_warmup", "false"},
                                      {"train.precision", "\"tf32\""},
                                      {"train.lr", "0.0001"},
                                      {"train.warmup", "1000"},
                                      {"train.lr_decay", "1.0"},
                                      {"train.weight_decay", "0.0"},
                                      {"train.batch", "128"},
                                      {"train.epochs", "1500"},
                                      {"train.ema", "0.9999"},
                                      {"train.clip", "5.0"},
                                      {"sample.solver", "\"heun\""},
                                      {"sample.nfe", "50"},
                                      {"sample.n", "20000"}});
  for (const auto& [set, own, levy] : {std::tuple{"2d", k2d, kLevy2d}, {"cifar10lt", kCifar, kLevyImages}}) {
    const std::string prefix = std::string(set) + "-";
    const auto baseline = [](const char* method, const char* sampler) {
      return Expected{{"method", fmt::format("\"{}\"", method)},
                      {"baseline.sampler", fmt::format("\"{}\"", sampler)},
                      {"baseline.loss", "\"auto\""}};
    };
    expect(prefix + "lim", own + baseline("lim", "sde"));
    expect(prefix + "dlpm", own + levy + baseline("dlpm", "dlpm"));
    expect(prefix + "dlim", own + levy + baseline("dlpm", "dlim"));  // E.2: one network for both
    expect(prefix + "tflow", own + baseline("tflow", "euler"));      // E.6: Euler for the baselines
  }
}

// Without preconditioning the network sees t x_1 + (1-t) x_0 and should give x_1 - x_0, whatever the clock.
TEST(Published, PairsAreTheStraightLineAndItsVelocity) {
  for (const char* family : {"stable", "inverse-gamma", "deterministic"}) {
    const RunConfig config =
        published("2d", {std::string("clock.family=") + family, "data.n=512", "train.epochs=1", "train.batch=512"});
    const Dataset data = load_dataset(config);
    Model model(config, data);
    std::vector<int64_t> index(512);
    for (size_t i = 0; i < index.size(); ++i) index[i] = static_cast<int64_t>(i);
    const at::Tensor rows = data.rows.to(at::kFloat);
    const PairPlan plan = model.method().plan_pairs(Key(3), {rows, index, 0}, model.standardiser);
    const TrainingPairs pairs = Method::pairs(plan);
    const float *x1 = rows.const_data_ptr<float>(), *x = pairs.x.const_data_ptr<float>(),
                *u = pairs.target.const_data_ptr<float>(), *t = pairs.t.const_data_ptr<float>();
    const at::Tensor points = plan.points();
    const double* x0 = points.const_data_ptr<double>();
    double mean_time = 0;
    for (int64_t k = 0; k < 1024; ++k) {
      const double time = t[k / 2], size = 1 + std::abs(x0[k]) + std::abs(static_cast<double>(x1[k]));
      EXPECT_NEAR(u[k], x1[k] - x0[k], 1e-6 * size);
      EXPECT_NEAR(x[k], time * x1[k] + (1 - time) * x0[k], 1e-6 * size);
      mean_time += time / 1024;
    }
    EXPECT_NEAR(mean_time, 0.5, 4 * std::sqrt(1.0 / 12 / 512));
  }
}

TEST(Published, TrainsAndSamples) {
  for (const char* name : {"2d", "2d-lim", "2d-dlpm", "2d-dlim", "2d-tflow"}) {
    const RunConfig config = published(name, {"data.n=2048", "train.epochs=4", "sample.n=200", "sample.nfe=10"});
    const Model model = train(config);
    EXPECT_EQ(model.skipped, 0) << name;
    const SampleResult drawn = sample(model, sample_options(config));
    EXPECT_EQ(drawn.samples.size(0), 200) << name;
    EXPECT_EQ(drawn.diverged, 0) << name;
    EXPECT_LE(drawn.most_evaluations, 10) << name;
  }
}

}  // namespace
}  // namespace htfm
