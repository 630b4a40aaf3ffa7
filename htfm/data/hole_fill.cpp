#include "htfm/data/hole_fill.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_solve.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/base/single_thread_guard.h"
#include "htfm/io/dtype.h"
#include "htfm/stat/estimators.h"
#include "htfm/stat/order.h"

namespace htfm {

namespace {

constexpr int64_t kKnots = 201, kEnd = 5, kSweeps = 3;
constexpr const char *kHoleKnots = "transform.fill.knots", *kHoleWeights = "transform.fill.weights",
                     *kHoleSpread = "transform.fill.spread";

double level_of(int64_t knot) { return (static_cast<double>(knot) + 0.5) / static_cast<double>(kKnots); }

// The normal score of a value by a column's quantiles, and back.
double score_of(const double* knots, double x) {
  const auto right = std::upper_bound(knots, knots + kKnots, x) - knots;
  const auto left = std::lower_bound(knots, knots + kKnots, x) - knots;
  if (right == 0) return normal_quantile(level_of(0));
  if (left == kKnots) return normal_quantile(level_of(kKnots - 1));
  if (left < right) return normal_quantile(0.5 * (level_of(left) + level_of(right - 1)));
  const double share = (x - knots[right - 1]) / (knots[right] - knots[right - 1]);
  return normal_quantile(std::lerp(level_of(right - 1), level_of(right), share));
}

double value_of(const double* knots, double score) {
  const double last = normal_quantile(level_of(kKnots - 1)), before = normal_quantile(level_of(kKnots - 1 - kEnd));
  if (score > last)  // straight on, so that what is filled in has a tail too
    return knots[kKnots - 1] + (knots[kKnots - 1] - knots[kKnots - 1 - kEnd]) * (score - last) / (last - before);
  if (score < -last) return knots[0] + (knots[kEnd] - knots[0]) * (score + last) / (last - before);
  const double level = 0.5 * std::erfc(-score * M_SQRT1_2);
  const double at = std::clamp(level * static_cast<double>(kKnots) - 0.5, 0.0, static_cast<double>(kKnots - 1));
  const auto k = std::min(static_cast<int64_t>(at), kKnots - 2);
  return std::lerp(knots[k], knots[k + 1], at - static_cast<double>(k));
}

// Scores of rows n x d; holes get independent draws to begin with.
at::Tensor scores_of(const at::Tensor& rows, const at::Tensor& knots, Key key) {
  const int64_t n = rows.size(0), d = rows.size(1);
  at::Tensor out = at::empty({n, d}, at::kDouble);
  const float* x = rows.const_data_ptr<float>();
  const double* q = knots.const_data_ptr<double>();
  double* y = out.mutable_data_ptr<double>();
  parallel_ranges(n, 4096, [&](int64_t first, int64_t last) {
    for (int64_t i = first * d; i < last * d; ++i)
      y[i] = std::isnan(x[i]) ? normal_quantile(key.uniform(static_cast<uint64_t>(i)))
                              : score_of(q + i % d * kKnots, x[i]);
  });
  return out;
}

}  // namespace

void HoleFill::sweep(at::Tensor& scores, const at::Tensor& holes, Key key) const {
  const int64_t n = scores.size(0), d = scores.size(1);
  double* y = scores.mutable_data_ptr<double>();
  const bool* empty = holes.const_data_ptr<bool>();
  const double *w = weights_.const_data_ptr<double>(), *s = spread_.const_data_ptr<double>();
  parallel_ranges(n, 4096, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      for (int64_t k = 0; k < d; ++k) {
        if (!empty[i * d + k]) continue;
        double mean = 0;
        for (int64_t j = 0; j < d; ++j) mean += w[k * d + j] * y[i * d + j];
        y[i * d + k] = mean + s[k] * normal_quantile(key.uniform(static_cast<uint64_t>(i * d + k)));
      }
  });
}

HoleFill HoleFill::fit(const at::Tensor& rows, Key key) {
  const SingleThreadGuard one;
  const int64_t n = rows.size(0), d = rows.size(1);
  const at::Tensor holes = rows.isnan();
  HoleFill out;
  out.knots_ = at::empty({d, kKnots}, at::kDouble);
  const float* x = rows.const_data_ptr<float>();
  for (int64_t k = 0; k < d; ++k) {
    std::vector<double> v;
    for (int64_t i = 0; i < n; ++i)
      if (!std::isnan(x[i * d + k])) v.push_back(x[i * d + k]);
    std::sort(v.begin(), v.end());
    for (int64_t i = 0; i < kKnots; ++i)
      out.knots_.mutable_data_ptr<double>()[k * kKnots + i] = quantile_of_sorted(v, level_of(i));
  }
  at::Tensor y = scores_of(rows, out.knots_, key);
  out.weights_ = at::zeros({d, d}, at::kDouble), out.spread_ = at::zeros({d}, at::kDouble).add_(1);
  if (d < 2) return out;
  for (int64_t round = 0; round < kSweeps; ++round) {
    for (int64_t k = 0; k < d; ++k) {
      const at::Tensor hole = holes.select(1, k);
      if (!hole.any().item().toBool()) continue;
      const at::Tensor own = y.index_select(0, hole.logical_not().nonzero().squeeze(1));
      const auto count = static_cast<double>(own.size(0));
      at::Tensor others = own.clone();
      others.select(1, k).zero_();
      // A ridge of a few rows: columns that nearly tell each other must not make the weights large.
      const at::Tensor square = at::mm(others.t(), others).add_(at::eye(d, at::kDouble), 1 + 0.01 * count);
      const at::Tensor cross = at::mm(others.t(), own.select(1, k).unsqueeze(1));
      at::Tensor w = at::linalg_solve(square, cross);
      w.select(0, k).zero_();
      const double left = own.select(1, k).unsqueeze(1).sub(at::mm(others, w)).square().mean().item().toDouble();
      out.weights_.select(0, k).copy_(w.squeeze(1));
      out.spread_.mutable_data_ptr<double>()[k] = std::sqrt(std::max(left, 1e-4));
    }
    out.sweep(y, holes, key.child(static_cast<uint64_t>(round)));
  }
  return out;
}

void HoleFill::apply(at::Tensor& rows, Key key) const {
  const int64_t n = rows.size(0), d = rows.size(1);
  const at::Tensor holes = rows.isnan();
  at::Tensor y = scores_of(rows, knots_, key);
  for (int64_t round = 0; round < kSweeps; ++round) sweep(y, holes, key.child(static_cast<uint64_t>(round)));
  float* x = rows.mutable_data_ptr<float>();
  const double *s = y.const_data_ptr<double>(), *q = knots_.const_data_ptr<double>();
  const bool* empty = holes.const_data_ptr<bool>();
  parallel_ranges(n, 4096, [&](int64_t first, int64_t last) {
    for (int64_t i = first * d; i < last * d; ++i)
      if (empty[i]) x[i] = static_cast<float>(value_of(q + i % d * kKnots, s[i]));
  });
}

void HoleFill::save_state(std::map<std::string, at::Tensor>& out) const {
  if (there()) out[kHoleKnots] = knots_, out[kHoleWeights] = weights_, out[kHoleSpread] = spread_;
}

HoleFill HoleFill::load_state(const std::map<std::string, at::Tensor>& in, const std::string& path, int64_t dim) {
  HoleFill out;
  if (!in.contains(kHoleKnots)) return out;
  const auto take = [&](const char* name, at::IntArrayRef shape) {
    const auto found = in.find(name);
    if (found == in.end() || found->second.sizes() != shape || found->second.scalar_type() != at::kDouble)
      throw InputError("[checkpoint] {}: expected '{}' in float64 for {} columns, got {}", path, name, dim,
                       found == in.end() ? "none" : tensor_text(found->second));
    return found->second;
  };
  out.knots_ = take(kHoleKnots, {dim, kKnots}), out.weights_ = take(kHoleWeights, {dim, dim});
  out.spread_ = take(kHoleSpread, {dim});
  return out;
}

}  // namespace htfm
