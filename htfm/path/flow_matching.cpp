#include "htfm/path/flow_matching.h"

#include <ATen/ops/empty.h>

#include "htfm/base/error.h"

namespace htfm {

FlowMatching::FlowMatching(const FlowMatchingSpec& spec, DataScale data_scale)
    : clock_(make_clock(spec.clock)),
      feature_(*clock_, spec.feature),
      schedule_(make_schedule(spec.schedule)),
      coupling_(make_coupling(spec.coupling)),
      precondition_(spec.precondition),
      data_scale_(data_scale) {}

Scaling FlowMatching::scaling(double t, double area) const {
  if (!precondition_) return {};
  return clock_scaling(schedule_->at(t), data_scale_.at(area), std::sqrt(2 * area));
}

TrainingPairs FlowMatching::pairs(Key key, const at::Tensor& data, RunningStandardiser& standardiser) const {
  const int64_t n = data.size(0), dim = data.size(1);
  SourceBatch batch;
  batch.clocks = clock_->sample(key.child("clock"), {.count = n, .paths = feature_.needs_paths()});
  batch.source = sample_source(key.child("source"), batch.clocks.area, dim);
  coupling_->pair(key.child("coupling"), data, batch);

  TrainingPairs out;
  if (feature_.size() > 0) {
    const at::Tensor raw = feature_(batch.clocks);
    // A clock beyond the range of a double makes the step's loss not finite, and the trainer skips it; statistics stay clean.
    const double* values = raw.const_data_ptr<double>();
    if (std::all_of(values, values + raw.numel(), [](double v) { return std::isfinite(v); })) standardiser.update(raw);
    out.feature = standardiser.apply(raw);
  }
  out.x = at::empty({n, dim}, at::kFloat);
  out.t = at::empty({n}, at::kFloat);
  out.target = at::empty({n, dim}, at::kFloat);
  std::vector<double> times(static_cast<size_t>(n));
  fill_uniform(key.child("time"), 0, n, times.data());

  const float* x1 = data.const_data_ptr<float>();
  const double* x0 = batch.source.const_data_ptr<double>();
  const double* area = batch.clocks.area.const_data_ptr<double>();
  float* x = out.x.mutable_data_ptr<float>();
  float* t = out.t.mutable_data_ptr<float>();
  float* target = out.target.mutable_data_ptr<float>();
  for (int64_t i = 0; i < n; ++i) {
    const Coefficients c = schedule_->at(times[i]);
    const Scaling s = precondition_ ? clock_scaling(c, data_scale_.at(area[i]), std::sqrt(2 * area[i])) : Scaling{};
    t[i] = static_cast<float>(times[i]);
    for (int64_t k = i * dim; k < (i + 1) * dim; ++k) {
      // Given both endpoints, the affine target (eq. clock-affine-target) is the path's own derivative.
      const double state = c.alpha * x1[k] + c.beta * x0[k], velocity = c.dalpha * x1[k] + c.dbeta * x0[k];
      x[k] = static_cast<float>(s.in * state);
      target[k] = static_cast<float>((velocity - s.skip * state) / s.out);
    }
  }
  return out;
}

}  // namespace htfm
