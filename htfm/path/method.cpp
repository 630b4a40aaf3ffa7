#include "htfm/path/method.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

namespace htfm {

void Method::take(const std::map<std::string, at::Tensor>&, const std::string&) {}

at::Tensor Method::seen(const at::Tensor& raw, RunningStandardiser& standardiser) const {
  // A clock beyond the range of a double makes the step's loss not finite, and the trainer skips it; statistics stay clean.
  const double* values = raw.const_data_ptr<double>();
  if (std::all_of(values, values + raw.numel(), [](double v) { return std::isfinite(v); })) standardiser.update(raw);
  return feature_.standardised(raw, standardiser);
}

TrainingPairs Method::pairs(Key key, const DataBatch& data, RunningStandardiser& standardiser) const {
  return pairs(recipe(key, data, standardiser, true));
}

TrainingPairs Method::pairs(const BatchRecipe& recipes) {
  const int64_t n = recipes.data.size(0), dim = recipes.data.size(1);
  TrainingPairs out{at::empty({n, dim}, at::kFloat), at::empty({n}, at::kFloat), recipes.feature, at::empty({n, dim}, at::kFloat)};
  const float* x1 = recipes.data.const_data_ptr<float>();
  const double* x0 = recipes.source.source.const_data_ptr<double>();
  float* x = out.x.mutable_data_ptr<float>();
  float* t = out.t.mutable_data_ptr<float>();
  float* target = out.target.mutable_data_ptr<float>();
  for (int64_t i = 0; i < n; ++i) {
    const RowRecipe& r = recipes.rows[i];
    t[i] = static_cast<float>(r.time);
    for (int64_t k = i * dim; k < (i + 1) * dim; ++k) {
      x[k] = static_cast<float>(r.data_in * x1[k] + r.source_in * x0[k]);
      target[k] = static_cast<float>(r.data_target * x1[k] + r.source_target * x0[k]);
    }
  }
  return out;
}

}  // namespace htfm
