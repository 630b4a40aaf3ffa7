#include "htfm/sample/cpu_states.h"

#include <algorithm>

namespace htfm {

CpuStates::CpuStates(const Model& model, const float* weights, int64_t rows)
    : SampleStates(model.method(), model.standardiser, model.dim(), rows),
      definition_(model.network()),
      weights_(weights),
      state_(static_cast<size_t>(rows * model.dim())),
      time_(static_cast<size_t>(rows)),
      input_(state_.size()),
      output_(state_.size()),
      coefficients_(static_cast<size_t>(rows)),
      velocity_([this](const double* x, const double* t, double* v) { velocity(x, t, v); }),
      registers_(velocity_, rows, model.dim(), state_.data()) {}

void CpuStates::reset(const at::Tensor& feature, const at::Tensor& without) {
  feature_ = feature, without_ = without;
  network_ = definition_.evaluator(weights_, rows_, feature_.defined() ? feature_.const_data_ptr<float>() : nullptr);
  if (without_.defined()) {
    unguided_ = definition_.evaluator(weights_, rows_, without_.const_data_ptr<float>());
    unguided_output_.resize(output_.size());
  }
  registers_.reset();
}

void CpuStates::draw_source(Key key, const at::Tensor& area, int64_t first) {
  const at::Tensor source = flow().draw_source(key, area, dim_, first);
  std::copy_n(source.const_data_ptr<double>(), rows_ * dim_, state_.data());
}

void CpuStates::evaluate_network(Evaluator& network, float* output) {
  if (std::all_of(time_.begin(), time_.end(), [&](float own) { return own == time_[0]; }))
    network(input_.data(), static_cast<double>(time_[0]), output);
  else
    network(input_.data(), time_.data(), output);
}

void CpuStates::velocity(const double* x, const double* t, double* v) {
  for (int64_t i = 0; i < rows_; ++i) {
    const Coefficients& c = coefficients_[i] = coefficients(i, t[i]);
    time_[i] = static_cast<float>(c.time);
    for (int64_t k = i * dim_; k < (i + 1) * dim_; ++k) input_[k] = static_cast<float>(c.in * x[k]);
  }
  evaluate_network(*network_, output_.data());
  if (without_.defined()) {
    evaluate_network(*unguided_, unguided_output_.data());
    const auto w = static_cast<float>(guidance());
    for (size_t k = 0; k < output_.size(); ++k) output_[k] += w * (output_[k] - unguided_output_[k]);
  }
  for (int64_t i = 0; i < rows_; ++i) {
    const Coefficients& c = coefficients_[i];
    for (int64_t k = i * dim_; k < (i + 1) * dim_; ++k) {
      const double moved = c.out * static_cast<double>(output_[k]);
      v[k] = c.skip == 0
                 ? moved
                 : c.skip * x[k] + moved;  // a state that is not finite does not matter where it is not looked at
    }
  }
}

void CpuStates::to_angular() {
  for (int64_t k = 0; k < rows_ * dim_; ++k) state_[k] /= scales(k / dim_).source;
}

void CpuStates::from_angular() {
  for (int64_t k = 0; k < rows_ * dim_; ++k) state_[k] *= scales(k / dim_).data;
}

void CpuStates::upload(int to, const double* x) { std::copy_n(x, rows_ * dim_, registers_.at(to)); }

void CpuStates::download(int from, double* x) { std::copy_n(registers_.at(from), rows_ * dim_, x); }

}  // namespace htfm
