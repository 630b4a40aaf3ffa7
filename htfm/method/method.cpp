#include "htfm/method/method.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

namespace htfm {

namespace {

// 0 x is 0 where x is finite; four sums that need not wait for one another.
bool all_finite(const double* values, int64_t n) {
  double sum[4] = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; ++k) sum[k] += 0.0 * values[i + k];
  for (; i < n; ++i) sum[0] += 0.0 * values[i];
  return sum[0] + sum[1] + sum[2] + sum[3] == 0;
}

}  // namespace

void Method::load_state(const std::map<std::string, at::Tensor>&, const std::string&) {}

at::Tensor Method::seen(const at::Tensor& raw, RunningStandardiser& standardiser) const {
  // A clock beyond the range of a double makes the step's loss not finite, and the trainer skips it; statistics stay
  // clean.
  if (all_finite(raw.const_data_ptr<double>(), raw.numel())) standardiser.update(raw);
  return feature_.standardised(raw, standardiser);
}

at::Tensor PairPlan::points(int64_t begin, int64_t end) const {
  if (source.source.defined()) return source.source.narrow(0, begin, end - begin);
  at::Tensor x = source.radius.defined()
                     ? points_of_radius(noise, source.radius.narrow(0, begin, end - begin), data.size(1), begin)
                     : sample_source(noise, source.area.narrow(0, begin, end - begin), data.size(1), begin);
  if (std::isfinite(bound)) x.clamp_(-bound, bound);
  return x;
}

at::Tensor joined_feature(const at::Tensor& feature, const at::Tensor& condition) {
  if (!condition.defined()) return feature;
  return feature.defined() ? at::cat({feature, condition}, 1) : condition;
}

PairPlan Method::plan_pairs(Key key, const DataBatch& data, RunningStandardiser& standardiser) const {
  PairPlan out = plan_unconditional(key, data, standardiser);
  if (!data.condition.defined()) return out;
  // A loss may want each row several times.
  const int64_t each = static_cast<int64_t>(out.rows.size()) / data.rows.size(0);
  out.feature = joined_feature(out.feature, each == 1 ? data.condition : data.condition.repeat_interleave(each, 0));
  return out;
}

TrainingPairs Method::pairs(Key key, const DataBatch& data, RunningStandardiser& standardiser) const {
  return pairs(plan_pairs(key, data, standardiser));
}

TrainingPairs Method::pairs(const PairPlan& plan, int64_t begin, int64_t end) {
  const int64_t n = plan.data.size(0), dim = plan.data.size(1);
  TrainingPairs out{at::empty({n, dim}, at::kFloat), at::empty({n}, at::kFloat), plan.feature,
                    at::empty({n, dim}, at::kFloat)};
  const float* x1 = plan.data.const_data_ptr<float>();
  const at::Tensor points = plan.points(begin, end);
  const double* x0 = points.const_data_ptr<double>();
  const int64_t before = begin * dim;  // values of the rows that have no point here
  float* x = out.x.mutable_data_ptr<float>();
  float* t = out.t.mutable_data_ptr<float>();
  float* target = out.target.mutable_data_ptr<float>();
  for (int64_t i = begin; i < end; ++i) {
    const PairCoefficients& r = plan.rows[i];
    t[i] = static_cast<float>(r.time);
    for (int64_t k = i * dim; k < (i + 1) * dim; ++k) {
      x[k] = static_cast<float>(r.data_in * x1[k] + r.source_in * x0[k - before]);
      target[k] = static_cast<float>(r.data_target * x1[k] + r.source_target * x0[k - before]);
    }
  }
  return out;
}

}  // namespace htfm
