#include "htfm/train/optimiser.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/parallel.h"
#include "htfm/base/single_thread_guard.h"
#include "htfm/train/optimiser_kernels.h"

namespace htfm {

namespace {
constexpr int64_t kGrain = 1 << 14;
}

OptimiserState OptimiserState::initial(at::Tensor parameters, at::Tensor ema) {
  const at::Tensor zero = at::zeros_like(parameters);
  return {std::move(parameters), std::move(ema), zero, zero.clone(), 0};
}

Optimiser::Optimiser(const ParameterLayout& layout, const TrainConfig& config, int64_t steps)
    : layout_(layout), config_(config), steps_(steps), decay_(static_cast<size_t>(layout.size()), 0.0f) {
  for (const ParameterInfo& p : layout.list())
    if (p.decay) std::fill_n(decay_.begin() + p.offset, p.size, static_cast<float>(config.weight_decay));
  if (config.optimiser == "muon") matrices_ = matrix_groups(layout);
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (const MatrixGroup& g : matrices_)
    for (const int64_t at : g.offsets) taken.emplace_back(at, at + g.rows * g.columns);
  std::sort(taken.begin(), taken.end());
  taken.emplace_back(layout.size(), layout.size());
  int64_t from = 0;
  for (const auto& [begin, end] : taken) {
    for (; from < begin; from = std::min(from + kGrain, begin))
      adam_.emplace_back(from, std::min(from + kGrain, begin));
    from = end;
  }
}

double Optimiser::learning_rate(int64_t step) const {
  const double warm =
      config_.warmup > 0 ? std::min(1.0, static_cast<double>(step + 1) / static_cast<double>(config_.warmup)) : 1;
  const double left = static_cast<double>(steps_ - step) / static_cast<double>(config_.cooldown + 1),
               cool = config_.cooldown > 0 ? std::clamp(left, 0.0, 1.0) : 1;
  return config_.lr * warm * cool * std::pow(config_.lr_decay, static_cast<double>(step / config_.lr_decay_steps));
}

double Optimiser::norm(const float* gradient) const {
  const int64_t n = layout_.size(), parts = (n + kGrain - 1) / kGrain;
  std::vector<double> sums(static_cast<size_t>(parts));
  parallel_ranges(n, kGrain, [&](int64_t a, int64_t b) {
    sums[a / kGrain] = kernels<OptimiserKernels>().square_sum(b - a, gradient + a);
  });
  double total = 0;
  for (const double s : sums) total += s;
  return std::sqrt(total);
}

// What the update of matrices needs of a step.
struct Optimiser::Coefficients {
  float lr, gradient_scale, ema;
};

void Optimiser::move_matrices(const Coefficients& c, const float* gradient, OptimiserState& state) const {
  struct Matrix {
    const MatrixGroup* group;
    int64_t at;
  };
  std::vector<Matrix> list;
  for (const MatrixGroup& g : matrices_)
    for (const int64_t at : g.offsets) list.push_back({&g, at});
  float* p = state.parameters.mutable_data_ptr<float>();
  float* m = state.first_moment.mutable_data_ptr<float>();
  float* ema = state.ema.mutable_data_ptr<float>();
  const auto momentum = static_cast<float>(config_.muon_momentum);
  parallel_for(static_cast<int64_t>(list.size()), [&](int64_t k) {
    const SingleThreadGuard one;
    const auto [group, at] = list[static_cast<size_t>(k)];
    const int64_t size = group->rows * group->columns;
    at::Tensor ahead = at::empty({1, group->rows, group->columns}, at::kFloat);
    float* u = ahead.mutable_data_ptr<float>();
    for (int64_t i = 0; i < size; ++i) {
      const float g = gradient[at + i] * c.gradient_scale;
      m[at + i] = momentum * m[at + i] + (1 - momentum) * g;
      u[i] = momentum * m[at + i] + (1 - momentum) * g;
    }
    const at::Tensor direction = orthogonalised(ahead, at::kFloat).contiguous();
    const float* d = direction.const_data_ptr<float>();
    const auto scale = static_cast<float>(muon_scale(config_.muon_rate, group->rows, group->columns));
    for (int64_t i = 0; i < size; ++i) {
      p[at + i] -= c.lr * (decay_[static_cast<size_t>(at + i)] * p[at + i] + scale * d[i]);
      ema[at + i] = c.ema * ema[at + i] + (1 - c.ema) * p[at + i];
    }
  });
}

void Optimiser::update(int64_t step, const float* gradient, double norm, OptimiserState& state) const {
  const auto count = static_cast<double>(++state.updates);
  const double lr = learning_rate(step);
  AdamStep s{};
  s.gradient_scale = config_.clip > 0 && norm > config_.clip ? static_cast<float>(config_.clip / norm) : 1.0f;
  s.beta1 = static_cast<float>(config_.beta1), s.beta2 = static_cast<float>(config_.beta2);
  s.step_size = static_cast<float>(lr / (1 - std::pow(config_.beta1, count)));
  s.root_correction = static_cast<float>(1 / std::sqrt(1 - std::pow(config_.beta2, count)));
  s.epsilon = static_cast<float>(config_.epsilon);
  s.lr = static_cast<float>(lr);
  s.ema = static_cast<float>(config_.ema_warmup ? std::min(config_.ema, (1 + count) / (10 + count)) : config_.ema);
  float* p = state.parameters.mutable_data_ptr<float>();
  float* m = state.first_moment.mutable_data_ptr<float>();
  float* v = state.second_moment.mutable_data_ptr<float>();
  float* ema = state.ema.mutable_data_ptr<float>();
  parallel_for(static_cast<int64_t>(adam_.size()), [&](int64_t k) {
    const auto [a, b] = adam_[static_cast<size_t>(k)];
    kernels<OptimiserKernels>().adamw_ema(b - a, s, gradient + a, decay_.data() + a, p + a, m + a, v + a, ema + a);
  });
  if (!matrices_.empty()) move_matrices({s.lr, s.gradient_scale, s.ema}, gradient, state);
}

}  // namespace htfm
