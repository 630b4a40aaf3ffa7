#include "htfm/sample/block.h"

#include <algorithm>
#include <cmath>

namespace htfm {

NetworkRows::NetworkRows(const Model& model, const float* weights, int64_t rows, const float* feature)
    : time(static_cast<size_t>(rows)),
      input(static_cast<size_t>(rows * model.dim())),
      output(input),
      network_(model.network().evaluator(weights, rows, feature)) {}

void NetworkRows::operator()(const double* x, const double* t, double* out) {
  for (size_t i = 0; i < time.size(); ++i) time[i] = static_cast<float>(t[i]);
  for (size_t k = 0; k < input.size(); ++k) input[k] = static_cast<float>(x[k]);
  evaluate();
  std::copy(output.begin(), output.end(), out);
}

void NetworkRows::evaluate() {
  if (std::all_of(time.begin(), time.end(), [&](float t) { return t == time[0]; }))
    (*network_)(input.data(), static_cast<double>(time[0]), output.data());
  else
    (*network_)(input.data(), time.data(), output.data());
}

Block::Block(const Model& model, const float* weights, Key key, int64_t first, int64_t rows, double* area, double* x)
    : flow_(model.flow()), rows_(rows), dim_(model.dim()), scales_(static_cast<size_t>(rows)), scaling_(static_cast<size_t>(rows)) {
  const ClockSample clocks = flow_.clock().sample(key.child("clock"), {.count = rows, .first = first, .paths = flow_.needs_paths()});
  const at::Tensor source = flow_.draw_source(key.child("source"), clocks.area, dim_, first);
  std::copy_n(clocks.area.const_data_ptr<double>(), rows, area);
  std::copy_n(source.const_data_ptr<double>(), rows * dim_, x);
  if (flow_.feature().size() > 0) feature_ = flow_.feature().standardised(flow_.feature()(clocks), model.standardiser);
  network_ = std::make_unique<NetworkRows>(model, weights, rows, feature_.defined() ? feature_.const_data_ptr<float>() : nullptr);
  eta_ = flow_.eta(clocks);
  for (int64_t i = 0; i < rows; ++i) scales_[i] = flow_.scales(area[i], ScheduleFeature::row(eta_, i));
}

void Block::velocity(const double* x, const double* t, double* v) {
  for (int64_t i = 0; i < rows_; ++i) {
    scaling_[i] = flow_.scaling(t[i], scales_[i]);
    network_->time[i] = static_cast<float>(flow_.network_time(t[i], scales_[i]));
    for (int64_t k = i * dim_; k < (i + 1) * dim_; ++k) network_->input[k] = static_cast<float>(scaling_[i].in * x[k]);
  }
  network_->evaluate();
  for (int64_t i = 0; i < rows_; ++i)
    for (int64_t k = i * dim_; k < (i + 1) * dim_; ++k)
      v[k] = scaling_[i].skip * x[k] + scaling_[i].out * static_cast<double>(network_->output[k]);
}

void Block::angular_velocity(const double* y, const double* u, double* v) {
  for (int64_t i = 0; i < rows_; ++i)
    network_->time[i] = u[i] >= 1 ? 1.0F : static_cast<float>(flow_.network_time(flow_.time_at(u[i] * M_PI / 2, scales_[i]), scales_[i]));
  for (int64_t k = 0; k < rows_ * dim_; ++k) network_->input[k] = static_cast<float>(y[k]);
  network_->evaluate();
  for (int64_t k = 0; k < rows_ * dim_; ++k) v[k] = M_PI / 2 * static_cast<double>(network_->output[k]);
}

void Block::to_angular(double* x) const {
  for (int64_t k = 0; k < rows_ * dim_; ++k) x[k] /= scales_[k / dim_].source;
}

void Block::from_angular(double* y) const {
  for (int64_t k = 0; k < rows_ * dim_; ++k) y[k] *= scales_[k / dim_].data;
}

}  // namespace htfm
