// AdamW and Muon against their definitions.
#include "htfm/train/optimiser.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linalg_svdvals.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/parallel.h"

namespace htfm {
namespace {

struct Case {
  ParameterLayout layout;
  int64_t matrix, vector;
  explicit Case(int64_t rows = 24, int64_t columns = 40)
      : matrix(layout.add("w", {rows, columns}, true, 0.1)), vector(layout.add("b", {7}, false, 0.1)) {}
  OptimiserState start() const {
    const at::Tensor p = layout.initial(Key(3));
    return OptimiserState::initial(p, p.clone());
  }
  std::vector<float> gradient(int step) const {
    std::vector<float> g(static_cast<size_t>(layout.size()));
    layout.initialise(Key(100 + step), g.data());
    return g;
  }
};

// Loshchilov and Hutter's formulas in double, with warm-up, StepLR, clipping of the norm and both kinds of EMA.
TEST(AdamW, FollowsItsDefinition) {
  const Case c;
  for (const bool warm_average : {false, true}) {
    TrainConfig t;
    t.lr = 0.01, t.weight_decay = 0.1, t.warmup = 3, t.lr_decay = 0.5, t.lr_decay_steps = 4, t.clip = 1, t.ema = 0.9,
    t.ema_warmup = warm_average;
    const Optimiser o(c.layout, t, 9);
    OptimiserState state = c.start();
    const auto n = static_cast<size_t>(c.layout.size());
    std::vector<double> p(n), m(n, 0), v(n, 0), e;
    for (size_t i = 0; i < n; ++i) p[i] = state.parameters.const_data_ptr<float>()[i];
    e = p;
    for (int step = 0; step < 9; ++step) {
      const std::vector<float> g = c.gradient(step);
      double norm = 0;
      for (const float x : g) norm += static_cast<double>(x) * x;
      norm = std::sqrt(norm);
      EXPECT_NEAR(o.norm(g.data()), norm, 1e-9 * norm);
      const double lr = 0.01 * std::min(1.0, (step + 1) / 3.0) * std::pow(0.5, step / 4), k = step + 1;
      EXPECT_DOUBLE_EQ(o.learning_rate(step), lr);
      const double average = warm_average ? std::min(0.9, (1 + k) / (10 + k)) : 0.9;
      for (size_t i = 0; i < n; ++i) {
        const double clipped = g[i] * std::min(1.0, 1 / norm);
        m[i] = 0.9 * m[i] + 0.1 * clipped, v[i] = 0.999 * v[i] + 0.001 * clipped * clipped;
        const bool decays = static_cast<int64_t>(i) < c.matrix + 24 * 40;
        p[i] -= lr * ((decays ? 0.1 * p[i] : 0) +
                      m[i] / (1 - std::pow(0.9, k)) / (std::sqrt(v[i] / (1 - std::pow(0.999, k))) + 1e-8));
        e[i] = average * e[i] + (1 - average) * p[i];
      }
      o.update(step, g.data(), norm, state);
    }
    EXPECT_EQ(state.updates, 9);
    for (const auto& [at, count] : {std::pair{c.matrix, int64_t{24 * 40}}, std::pair{c.vector, int64_t{7}}})
      for (int64_t i = at; i < at + count; ++i) {
        EXPECT_NEAR(state.parameters.const_data_ptr<float>()[i], p[static_cast<size_t>(i)], 2e-6);
        EXPECT_NEAR(state.ema.const_data_ptr<float>()[i], e[static_cast<size_t>(i)], 2e-6);
      }
  }
}

TEST(Muon, MakesSingularValuesEqual) {
  for (const auto& [rows, columns] : {std::pair{24, 40}, std::pair{40, 24}, std::pair{32, 32}}) {
    const Case c(rows, columns);
    const std::vector<float> g = c.gradient(0);
    const at::Tensor x = at::from_blob(const_cast<float*>(g.data()), {1, rows, columns}, at::kFloat);
    const at::Tensor y = orthogonalised(x, at::kFloat);
    ASSERT_EQ(y.sizes(), x.sizes());
    const at::Tensor s = at::linalg_svdvals(y);
    EXPECT_GT(s.min().item<double>(), 0.6) << rows;
    EXPECT_LT(s.max().item<double>(), 1.3) << rows;
    // The singular vectors stay: y x' is symmetric, and positive.
    const at::Tensor product = rows <= columns ? y[0].matmul(x[0].t()) : x[0].t().matmul(y[0]);
    EXPECT_LT((product - product.t()).abs().max().item<double>(), 1e-4 * product.abs().max().item<double>());
    EXPECT_GT(product.trace().item<double>(), 0);
  }
  EXPECT_EQ(orthogonalised(at::zeros({2, 16, 20}), at::kFloat).abs().max().item<double>(), 0);
}

TEST(Muon, MovesMatricesByItsRateAndTheRestAsAdamWDoes) {
  const Case c;
  TrainConfig t;
  t.lr = 0.01, t.weight_decay = 0, t.clip = 0;
  OptimiserState adam = c.start(), muon = c.start();
  const at::Tensor before = muon.parameters.clone();
  const std::vector<float> g = c.gradient(1);
  Optimiser(c.layout, t, 1).update(0, g.data(), 1, adam);
  t.optimiser = "muon", t.muon_rate = 0.3;
  Optimiser(c.layout, t, 1).update(0, g.data(), 1, muon);
  const auto part = [&](const at::Tensor& x, int64_t at, int64_t count) { return x.narrow(0, at, count); };
  EXPECT_TRUE(part(adam.parameters, c.vector, 7).equal(part(muon.parameters, c.vector, 7)));
  const at::Tensor moved = part(muon.parameters - before, c.matrix, 24 * 40);
  EXPECT_NEAR(moved.square().mean().sqrt().item<double>(), 0.01 * 0.3, 0.2 * 0.01 * 0.3);
  // Against the gradient.
  const at::Tensor gradient = at::from_blob(const_cast<float*>(g.data()), {c.layout.size()}, at::kFloat);
  EXPECT_LT((moved * part(gradient, c.matrix, 24 * 40)).sum().item<double>(), 0);
  EXPECT_EQ(part(muon.second_moment, c.matrix, 24 * 40).abs().max().item<double>(), 0);
}

TEST(Optimiser, CooldownEndsInALineToZero) {
  const Case c;
  TrainConfig t;
  t.lr = 0.01, t.cooldown = 4;
  const Optimiser o(c.layout, t, 10);
  for (int step = 0; step <= 5; ++step) EXPECT_DOUBLE_EQ(o.learning_rate(step), 0.01) << step;
  for (int step = 6; step < 10; ++step) EXPECT_DOUBLE_EQ(o.learning_rate(step), 0.01 * (10 - step) / 5) << step;
}

TEST(Muon, SameBitsForAnyNumberOfThreads) {
  ParameterLayout layout;
  for (int k = 0; k < 5; ++k) layout.add("w" + std::to_string(k), {48, 64 + 16 * (k % 2)}, true, 0.1);
  TrainConfig t;
  t.optimiser = "muon";
  const Optimiser o(layout, t, 100);
  std::vector<at::Tensor> ends;
  const int threads = thread_count();
  for (const int count : {1, 3}) {
    set_thread_count(count);
    const at::Tensor p = layout.initial(Key(1));
    OptimiserState state = OptimiserState::initial(p, p.clone());
    for (int step = 0; step < 4; ++step) {
      std::vector<float> g(static_cast<size_t>(layout.size()));
      layout.initialise(Key(10 + step), g.data());
      o.update(step, g.data(), o.norm(g.data()), state);
    }
    ends.push_back(state.parameters);
  }
  set_thread_count(threads);
  EXPECT_TRUE(ends[0].equal(ends[1]));
}

}  // namespace
}  // namespace htfm
