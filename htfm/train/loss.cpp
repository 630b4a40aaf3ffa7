#include "htfm/train/loss.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>

#include "htfm/train/shared_gradient.h"

namespace htfm {

namespace {

class TargetLoss : public SampleLoss {
 public:
  explicit TargetLoss(const at::Tensor& target)
      : dim_(target.size(1)),
        inverse_(1 / static_cast<double>(target.numel())),
        target_(target.const_data_ptr<float>()) {}

 protected:
  const float* target(int64_t row) const { return target_ + row * dim_; }
  int64_t dim_;
  double inverse_;  // of the number of elements

 private:
  const float* target_;
};

class SquaredError final : public TargetLoss {
 public:
  using TargetLoss::TargetLoss;
  double operator()(int64_t first, int64_t rows, const float* output, float* gradient) const override {
    const float* t = target(first);
    double sum = 0;
    for (int64_t i = 0; i < rows * dim_; ++i) {
      const double d = static_cast<double>(output[i]) - t[i];
      sum += d * d;
      gradient[i] = static_cast<float>(2 * inverse_ * d);
    }
    return sum * inverse_;
  }
};

class RootError final : public TargetLoss {
 public:
  using TargetLoss::TargetLoss;
  double operator()(int64_t first, int64_t rows, const float* output, float* gradient) const override {
    const auto dim = static_cast<double>(dim_);
    double sum = 0;
    for (int64_t r = 0; r < rows; ++r) {
      const float* t = target(first + r);
      const float* o = output + r * dim_;
      double squares = 0;
      for (int64_t k = 0; k < dim_; ++k)
        squares += (static_cast<double>(o[k]) - t[k]) * (static_cast<double>(o[k]) - t[k]);
      const double root = std::sqrt(squares / dim + 1e-12);  // its gradient would be infinite at zero
      sum += root;
      for (int64_t k = 0; k < dim_; ++k)
        gradient[r * dim_ + k] = static_cast<float>((static_cast<double>(o[k]) - t[k]) / root * inverse_);
    }
    return sum * dim * inverse_;
  }
};

class SmoothL1 final : public TargetLoss {
 public:
  using TargetLoss::TargetLoss;
  double operator()(int64_t first, int64_t rows, const float* output, float* gradient) const override {
    const float* t = target(first);
    double sum = 0;
    for (int64_t i = 0; i < rows * dim_; ++i) {
      const double d = static_cast<double>(output[i]) - t[i], size = std::abs(d);
      sum += size < 1 ? d * d / 2 : size - 0.5;
      gradient[i] = static_cast<float>(inverse_ * std::clamp(d, -1.0, 1.0));
    }
    return sum * inverse_;
  }
};

// Another loss, with the rows' squared errors written down.
class RowErrors final : public TargetLoss {
 public:
  RowErrors(const SampleLoss& loss, const at::Tensor& target, std::span<double> errors)
      : TargetLoss(target), loss_(loss), errors_(errors) {}
  double operator()(int64_t first, int64_t rows, const float* output, float* gradient) const override {
    const float* t = target(first);
    for (int64_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (int64_t k = r * dim_; k < (r + 1) * dim_; ++k)
        sum += (static_cast<double>(output[k]) - t[k]) * (static_cast<double>(output[k]) - t[k]);
      errors_[first + r] = sum / static_cast<double>(dim_);
    }
    return loss_(first, rows, output, gradient);
  }

 private:
  const SampleLoss& loss_;
  std::span<double> errors_;
};

std::unique_ptr<SampleLoss> make_loss(LossKind kind, const at::Tensor& target) {
  switch (kind) {
    case LossKind::root: return std::make_unique<RootError>(target);
    case LossKind::smooth_l1: return std::make_unique<SmoothL1>(target);
    default: return std::make_unique<SquaredError>(target);
  }
}

// The rows of the group that is the (lower) median of each data row: the loss is their squared error.
std::vector<int64_t> median_rows(const LossSpec& spec, const at::Tensor& output, const at::Tensor& target) {
  const int64_t dim = target.size(1), each = spec.outer * spec.inner, size = spec.inner * dim;
  const float *o = output.const_data_ptr<float>(), *t = target.const_data_ptr<float>();
  std::vector<int64_t> rows;
  std::vector<std::pair<double, int64_t>> group(static_cast<size_t>(spec.outer));
  for (int64_t first = 0; first < target.size(0); first += each) {
    for (int64_t g = 0; g < spec.outer; ++g) {
      const int64_t at = first + g * spec.inner;
      double sum = 0;
      for (int64_t k = at * dim; k < at * dim + size; ++k)
        sum += (static_cast<double>(o[k]) - t[k]) * (static_cast<double>(o[k]) - t[k]);
      group[g] = {std::isnan(sum) ? HUGE_VAL : sum, at};
    }
    const auto middle = group.begin() + (spec.outer - 1) / 2;
    std::nth_element(group.begin(), middle, group.end());
    for (int64_t k = 0; k < spec.inner; ++k) rows.push_back(middle->second + k);
  }
  return rows;
}

at::Tensor selected(const at::Tensor& from, std::vector<int64_t>& rows) {
  return from.index_select(0, at::from_blob(rows.data(), {static_cast<int64_t>(rows.size())}, at::kLong));
}

}  // namespace

double batch_loss(const LossSpec& spec, const at::Tensor& output, const at::Tensor& target) {
  if (spec.kind == LossKind::median) {
    std::vector<int64_t> rows = median_rows(spec, output, target);
    return batch_loss({LossKind::squared}, selected(output, rows), selected(target, rows));
  }
  at::Tensor gradient = at::empty_like(output);
  return (*make_loss(spec.kind, target))(0, output.size(0), output.const_data_ptr<float>(),
                                         gradient.mutable_data_ptr<float>());
}

double batch_gradient(const LossSpec& spec, const Network& network, const float* parameters, const TrainingPairs& pairs,
                      float* gradient, std::span<double> errors, Communicator* processes) {
  if (spec.kind == LossKind::median) {
    std::vector<int64_t> rows =
        median_rows(spec, network.forward(parameters, {pairs.x, pairs.t, pairs.feature}), pairs.target);
    const TrainingPairs chosen{selected(pairs.x, rows), selected(pairs.t, rows),
                               pairs.feature.defined() ? selected(pairs.feature, rows) : at::Tensor(),
                               selected(pairs.target, rows)};
    return batch_gradient({LossKind::squared}, network, parameters, chosen, gradient, {}, processes);
  }
  const std::unique_ptr<SampleLoss> loss = make_loss(spec.kind, pairs.target);
  const NetworkInput input{pairs.x, pairs.t, pairs.feature};
  const auto run = [&](const SampleLoss& of_rows) {
    return processes ? shared_gradient(*processes, network, parameters, input, of_rows, gradient)
                     : network.gradient(parameters, input, of_rows, gradient);
  };
  if (errors.empty()) return run(*loss);
  const double value = run(RowErrors(*loss, pairs.target, errors));
  if (processes) share_row_values(*processes, network, errors);
  return value;
}

}  // namespace htfm
