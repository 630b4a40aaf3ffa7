#include "htfm/train/optimiser.h"

#include <ATen/ops/zeros_like.h>

#include "htfm/base/parallel.h"
#include "htfm/train/optimiser_kernels.h"

namespace htfm {

namespace {
constexpr int64_t kGrain = 1 << 14;
}

OptimiserState OptimiserState::initial(at::Tensor parameters, at::Tensor ema) {
  const at::Tensor zero = at::zeros_like(parameters);
  return {std::move(parameters), std::move(ema), zero, zero.clone(), 0};
}

Optimiser::Optimiser(const ParameterLayout& layout, const TrainConfig& config)
    : layout_(layout), config_(config), decay_(static_cast<size_t>(layout.size()), 0.0f) {
  for (const ParameterInfo& p : layout.list())
    if (p.decay) std::fill_n(decay_.begin() + p.offset, p.size, static_cast<float>(config.weight_decay));
}

double Optimiser::learning_rate(int64_t step) const {
  const double warm =
      config_.warmup > 0 ? std::min(1.0, static_cast<double>(step + 1) / static_cast<double>(config_.warmup)) : 1;
  return config_.lr * warm * std::pow(config_.lr_decay, static_cast<double>(step / config_.lr_decay_steps));
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
  parallel_ranges(layout_.size(), kGrain, [&](int64_t a, int64_t b) {
    kernels<OptimiserKernels>().adamw_ema(b - a, s, gradient + a, decay_.data() + a, p + a, m + a, v + a, ema + a);
  });
}

}  // namespace htfm
