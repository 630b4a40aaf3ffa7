// Parts that a program registers: found by config, trained, sampled, kept by checkpoints. A program of its own, since
// they stay registered.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <set>
#include <thread>

#include "htfm/base/parallel.h"
#include "htfm/clock/slope_clock.h"
#include "htfm/io/file.h"
#include "htfm/metric/metric.h"
#include "htfm/net/module_network.h"
#include "htfm/sample/sampler.h"
#include "htfm/train/trainer.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

class Lognormal final : public SlopeClock {
 public:
  using SlopeClock::SlopeClock;
  double tail_exponent() const override { return std::numeric_limits<double>::infinity(); }

 protected:
  void fill_slopes(Key key, int64_t first, int64_t n, double* slope) const override {
    fill_normal(key, static_cast<uint64_t>(first), n, slope);
    for (int64_t i = 0; i < n; ++i) slope[i] = std::exp(parameter("sigma") * slope[i]);
  }
};

ClockFamily lognormal(std::string name = "test-lognormal") {
  return {std::move(name), "", {{"sigma", 0, 4, "deviation"}}, [](ClockSpec s) {
            return std::make_unique<Lognormal>(std::move(s));
          }};
}

class Reversed final : public Coupling {
 public:
  explicit Reversed(const CouplingContext& c) : source_(c.source), dim_(c.dim), shift_(c.spec.options.whole("shift")) {}
  SourceBatch pair(Key key, const DataBatch& data, const std::vector<double>&, bool) const override {
    const int64_t n = data.rows.size(0);
    SourceBatch batch = source_.draw(key, n, dim_);
    std::vector<int64_t> order;
    for (int64_t i = 0; i < n; ++i) order.push_back((n - 1 - i + shift_) % n);
    batch.reorder(order);
    return batch;
  }

 private:
  const SourceSampler& source_;
  int64_t dim_, shift_;
};

class Squared final : public Schedule {
 public:
  explicit Squared(double share) : share_(share) {}
  Coefficients at(double t, std::span<const double>) const override {
    const double a = (1 - share_) * t + share_ * t * t, slope = 1 - share_ + 2 * share_ * t;
    return {a, 1 - a, slope, -slope};
  }

 private:
  double share_;
};

class TwoLayers final : public ModuleNetwork {
 public:
  TwoLayers(int64_t dim, int64_t feature, int64_t hidden) : ModuleNetwork(dim, feature) {
    add_parameter("a.weight", {hidden, dim + 1 + feature}, 0.4);
    add_parameter("a.bias", {hidden}, 0.4, false);
    add_parameter("b.weight", {dim, hidden}, 0.2);
  }

 protected:
  at::Tensor output(std::span<const at::Tensor> p, const at::Tensor& x, const at::Tensor& t,
                    const at::Tensor& feature) const override {
    return at::linear(at::silu(at::linear(at::cat({x, t.unsqueeze(1), feature}, 1), p[0], p[1])), p[2]);
  }
};

std::atomic<int> clocks_made = 0, couplings_made = 0, networks_made = 0;

// Once for the whole program, as a user does.
const bool registered = [] {
  ClockFamily clock = lognormal();
  clock.make = [make = clock.make](ClockSpec spec) {
    ++clocks_made;
    return make(std::move(spec));
  };
  register_clock(std::move(clock));
  register_coupling({"test-reversed",
                     "",
                     [](const CouplingContext& c) {
                       ++couplings_made;
                       return std::make_unique<Reversed>(c);
                     },
                     {{"shift", 0.0, "rows that are moved on", 0, 100}}});
  register_schedule({"test-squared",
                     "",
                     [](const ScheduleSpec& s) { return std::make_unique<Squared>(s.options.number("share")); },
                     {{"share", 0.25, "of the square", 0, 0.9}}});
  register_network({.name = "test-layers",
                    .summary = "two layers",
                    .make =
                        [](const NetworkContext& c) {
                          ++networks_made;
                          return std::make_unique<TwoLayers>(c.dim, c.feature, c.options.whole("hidden"));
                        },
                    .options = {{"hidden", 16.0, "hidden units", 1, 100}, {"note", std::string("none"), "a text"}}});
  register_metric(
      {"test_gap", "gap of the means", [](const at::Tensor& real, const at::Tensor& fake, const MetricOptions&) {
         return std::vector<MetricValue>{{"test_gap", (real.mean() - fake.mean()).abs().item<double>()}};
       }});
  return true;
}();

const std::vector<std::string> kOwn{"clock.family=test-lognormal",
                                    "clock.sigma=0.5",
                                    "coupling.kind=test-reversed",
                                    "path.schedule=test-squared",
                                    "path.test-squared.share=0.5",
                                    "net.kind=test-layers",
                                    "net.test-layers.hidden=24",
                                    "net.test-layers.note=a \"b\"",
                                    "data.n=300",
                                    "train.batch=100",
                                    "train.epochs=4",
                                    "train.checkpoint_steps=6",
                                    "sample.nfe=4",
                                    "sample.n=50"};

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Registered, PartsAreKeysOfAConfig) {
  const RunConfig c = parse_config("", "t", kOwn);
  EXPECT_TRUE(config_differences(c, parse_config(format_config(c), "again")).empty());
  EXPECT_NE(format_config(c).find("test-layers.hidden = 24.0"), std::string::npos);
  EXPECT_NE(format_config(c).find("test-reversed.shift = 0.0"), std::string::npos);  // a default is written down too
  std::set<std::string> keys;
  for (const ConfigKey& key : config_keys()) keys.insert(key.name);
  for (const char* key :
       {"clock.sigma", "coupling.test-reversed.shift", "path.test-squared.share", "net.test-layers.note"})
    EXPECT_TRUE(keys.contains(key)) << key;
  EXPECT_NE(refusal([] {
              parse_config("", "t", {"net.test-layers.hidden=1000", "net.kind=test-layers"});
            }).find("[net.test-layers.hidden]"),
            std::string::npos);
  EXPECT_NE(refusal([] { parse_config("[net.test-layers]\nhidden = \"x\"\n", "t"); }).find("expected a number"),
            std::string::npos);
}

// A start makes every part once; a coupling is made where a method is fitted to the transformed data.
TEST(Registered, PartsAreMadeOnceAStart) {
  const test::TemporaryFolder folder;
  const RunConfig c = parse_config("", "t", kOwn);
  for (const bool resume : {false, true}) {
    clocks_made = couplings_made = networks_made = 0;
    train(c, {.folder = folder / "run", .resume = resume});
    EXPECT_EQ(clocks_made, resume ? 2 : 1) << "one is for the check of the configuration that a checkpoint holds";
    EXPECT_EQ(couplings_made, 1) << resume;
    EXPECT_EQ(networks_made, 1) << resume;
  }
}

TEST(Registered, MessagesListTheNames) {
  EXPECT_NE(refusal([] { parse_config("", "t", {"clock.family=x"}); }).find("test-lognormal"), std::string::npos);
  EXPECT_NE(refusal([] { parse_config("", "t", {"coupling.kind=x"}); }).find("test-reversed"), std::string::npos);
  EXPECT_NE(refusal([] { parse_config("", "t", {"path.schedule=x"}); }).find("test-squared"), std::string::npos);
  EXPECT_NE(refusal([] { parse_config("", "t", {"net.kind=x"}); }).find("test-layers"), std::string::npos);
  EXPECT_NE(refusal([] {
              compute_metrics({"x"}, at::rand({9, 2}), at::rand({9, 2}));
            }).find("test_gap"),
            std::string::npos);
}

TEST(Registered, ANameIsTakenOnce) {
  const std::string taken = "expected a name that is not taken";
  EXPECT_NE(refusal([] { register_clock(lognormal()); }).find(taken), std::string::npos);
  EXPECT_NE(refusal([] { register_clock(lognormal("stable")); }).find(taken), std::string::npos);
  EXPECT_NE(refusal([] { register_clock(lognormal("with blanks")); }).find("[register_clock]"), std::string::npos);
  EXPECT_NE(refusal([] { register_coupling({"ot", "", couplings()[0].make}); }).find(taken), std::string::npos);
  EXPECT_NE(refusal([] { register_schedule({"vp", "", schedules()[0].make}); }).find(taken), std::string::npos);
  EXPECT_NE(refusal([] { register_network({"mlp", "", networks()[0].make}); }).find(taken), std::string::npos);
  EXPECT_NE(refusal([] { register_network({"empty", "", {}}); }).find("[register_network]"), std::string::npos);
  EXPECT_NE(refusal([] {
              register_metric({"mmd", "", [](const at::Tensor&, const at::Tensor&, const MetricOptions&) {
                                 return std::vector<MetricValue>{};
                               }});
            }).find(taken),
            std::string::npos);
}

TEST(Registered, EntriesStayWhereTheyAreWhileThreadsRegister) {
  const ClockFamily* first = &clock_families()[0];
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([k] {
      for (int i = 0; i < 20; ++i) {
        register_clock(lognormal("test-thread-" + std::to_string(k) + "-" + std::to_string(i)));
        find_named(clock_families(), "stable", "t");
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(first, &clock_families()[0]);
  EXPECT_EQ(find_named(clock_families(), "test-thread-3-19", "t").parameters.size(), 1u);
}

TEST(Registered, TrainsSamplesAndSurvivesACheckpoint) {
  const RunConfig config = parse_config("", "t", kOwn);
  const test::TemporaryFolder folder;
  const Model whole = train(config, {.folder = folder / "whole"});
  RunConfig half = config;
  half.train.epochs = 2;
  train(half, {.folder = folder / "parts"});
  const Model resumed = train(config, {.folder = folder / "parts", .resume = true});
  EXPECT_EQ(whole.weights_hash(), resumed.weights_hash());

  whole.save(folder / "model");
  const Model loaded = Model::load(folder / "model");
  const SampleOptions options = sample_options(config);
  const at::Tensor a = sample(whole, options).samples, b = sample(loaded, options).samples;
  EXPECT_TRUE(a.equal(b));
  EXPECT_TRUE(a.isfinite().all().item<bool>());
  EXPECT_EQ(loaded.network().layout().list()[0].shape[0], 24);
  EXPECT_GE(compute_metrics({"test_gap"}, load_dataset(config).rows, a)["test_gap"], 0);
}

TEST(Registered, ACheckpointSaysWhatToRegister) {
  const auto saved = [](const std::string& text) {
    return refusal([&] { parse_saved_config(text, "model.safetensors"); });
  };
  EXPECT_EQ(
      saved("[clock]\nfamily = \"theirs\"\nown = 2.0\n"),
      "[checkpoint] model.safetensors: expected the clock 'theirs' (clock.family) to be registered, got none: call "
      "htfm::register_clock before loading");
  EXPECT_NE(saved("[net]\nkind = \"theirs\"\ntheirs.size = 2.0\n").find("htfm::register_network"), std::string::npos);
  EXPECT_NE(saved("[path]\nschedule = \"theirs\"\n").find("htfm::register_schedule"), std::string::npos);
  EXPECT_NE(saved("[coupling]\nkind = \"theirs\"\n").find("htfm::register_coupling"), std::string::npos);
}

TEST(Registered, AScheduleMustJoinSourceAndData) {
  class Short final : public Schedule {
   public:
    Coefficients at(double t, std::span<const double>) const override { return {t / 2, 1 - t, 0.5, -1}; }
  };
  register_schedule({"test-shorter", "", [](const ScheduleSpec&) { return std::make_unique<Short>(); }});
  EXPECT_NE(refusal([] { make_schedule({.name = "test-shorter"}); }).find("at t = 1"), std::string::npos);
}

TEST(ModuleNetwork, DoesNotDependOnThreads) {
  const TwoLayers net(2, 3, 16);
  const at::Tensor p = net.initial(Key(1)), x = at::rand({1500, 2}), t = at::rand({1500}), f = at::rand({1500, 3});
  class HalfSquares final : public SampleLoss {
   public:
    double operator()(int64_t, int64_t rows, const float* output, float* gradient) const override {
      double sum = 0;
      for (int64_t i = 0; i < 2 * rows; ++i) sum += output[i] * output[i] / 2, gradient[i] = output[i];
      return sum;
    }
  } loss;
  const auto run = [&](int threads) {
    set_thread_count(threads);
    std::vector<float> g(static_cast<size_t>(net.layout().size()));
    const double value = net.gradient(p.const_data_ptr<float>(), {x, t, f}, loss, g.data());
    set_thread_count(0);
    return std::pair(value, g);
  };
  EXPECT_EQ(run(1), run(4));
  // An evaluator gives what forward gives.
  const at::Tensor out = net.forward(p.const_data_ptr<float>(), {x, t, f});
  at::Tensor own = at::rand({1500, 2});
  (*net.evaluator(p.const_data_ptr<float>(), 1500, f.const_data_ptr<float>()))(
      x.const_data_ptr<float>(), t.const_data_ptr<float>(), own.mutable_data_ptr<float>());
  EXPECT_TRUE(out.allclose(own, 1e-5, 1e-6));
}

}  // namespace
}  // namespace htfm
