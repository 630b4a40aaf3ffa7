#include "htfm/model/flow_matcher.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>

#include "htfm/base/error.h"
#include "htfm/condition/condition_neighbours.h"
#include "htfm/io/dtype.h"
#include "htfm/method/pair_device.h"

namespace htfm {

namespace {

void check_floats(const at::Tensor& x, const char* what) {
  if (!x.defined() || x.dim() < 2 || x.numel() < 1 || (x.scalar_type() != at::kFloat && x.scalar_type() != at::kDouble))
    throw InputError("[FlowMatcher] expected {} of float32 or float64, at least one row x the shape of a row; got {}",
                     what, tensor_text(x));
}

// The rows as the core takes them: n x dim float32 on the host.
at::Tensor host_rows(const at::Tensor& x) {
  return x.detach().reshape({x.size(0), -1}).to(at::kCPU, at::kFloat).contiguous();
}

// An exponent of ones, that of NaN and infinities, and one more reach the sign's bit. Without a branch or an early end
// compilers make vectors of it.
bool all_finite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7f800000, kOne = 0x00800000, kSign = 0x80000000;
  uint32_t seen = 0;
  for (const float v : values) seen |= (std::bit_cast<uint32_t>(v) & kExponent) + kOne;
  return (seen & kSign) == 0;
}

// `rows`: n x dim float32 on the host.
void check_finite(const at::Tensor& rows, const char* what) {
  const std::span values(rows.const_data_ptr<float>(), static_cast<size_t>(rows.numel()));
  if (all_finite(values)) return;
  const auto found = std::ranges::find_if_not(values, [](float v) { return std::isfinite(v); });
  throw InputError("[FlowMatcher] expected finite {}, also as float32; got {} in row {} (counted from 0)", what, *found,
                   (found - values.begin()) / rows.size(1));
}

// The same of rows on a device, by their distances from a centre.
void check_distances(const at::Tensor& sizes, const char* what) {
  const std::span values(sizes.const_data_ptr<double>(), static_cast<size_t>(sizes.numel()));
  const auto found = std::ranges::find_if_not(values, [](double v) { return std::isfinite(v); });
  if (found != values.end())
    throw InputError("[FlowMatcher] expected finite {}, also as float32; got another in row {} (counted from 0)", what,
                     found - values.begin());
}

// x = a x_1 + b x_0 and target = c x_1 + d x_0, row by row.
template <class T>
void mix_rows(const PairPlan& plan, const T* x1, const double* x0, int64_t dim, FlowMatcher::Pairs& out) {
  T *t = out.t.mutable_data_ptr<T>(), *x = out.x.mutable_data_ptr<T>(), *target = out.target.mutable_data_ptr<T>();
  for (size_t i = 0; i < plan.rows.size(); ++i) {
    const PairCoefficients& r = plan.rows[i];
    t[i] = static_cast<T>(r.time);
    const auto first = static_cast<int64_t>(i) * dim;
    for (int64_t k = first; k < first + dim; ++k) {
      x[k] = static_cast<T>(r.data_in * x1[k] + r.source_in * x0[k]);
      target[k] = static_cast<T>(r.data_target * x1[k] + r.source_target * x0[k]);
    }
  }
}

FlowMatcher::Pairs mix_on_host(const PairPlan& plan, const at::Tensor& x1, int64_t dim) {
  FlowMatcher::Pairs out{at::empty({x1.size(0)}, x1.options()), at::empty_like(x1), at::empty_like(x1), {}};
  const at::Tensor points = plan.points();
  if (x1.scalar_type() == at::kFloat)
    mix_rows<float>(plan, x1.const_data_ptr<float>(), points.const_data_ptr<double>(), dim, out);
  else
    mix_rows<double>(plan, x1.const_data_ptr<double>(), points.const_data_ptr<double>(), dim, out);
  if (plan.feature.defined()) out.feature = plan.feature.to(x1.scalar_type());
  return out;
}

FlowMatcher::Pairs mix_on_device(const PairPlan& plan, const at::Tensor& x1, int64_t dim) {
  const PairDevice::Pairs made = pair_device().pairs(plan, x1.reshape({x1.size(0), dim}));
  return {made.t, made.x.reshape(x1.sizes()), made.target.reshape(x1.sizes()), made.feature};
}

}  // namespace

FlowMatcher::FlowMatcher(const RunConfig& config, const at::Tensor& rows, const ConditionTable& condition)
    : config_(config), conditional_(condition.there()), type_(rows.defined() ? rows.scalar_type() : at::kFloat) {
  check_floats(rows, "training rows");
  if (config.method != "htfm") throw InputError("[method] expected htfm for a FlowMatcher, got {}", config.method);
  if (config.condition.there())
    throw InputError(
        "[condition] expected no keys for a FlowMatcher, which is given the conditions themselves, got some");
  if (config.path.learn) throw InputError("[path.learn] expected false for a FlowMatcher, got true");
  rows_ = rows.size(0);
  shape_.assign(rows.sizes().begin() + 1, rows.sizes().end());
  dim_ = std::accumulate(shape_.begin(), shape_.end(), int64_t{1}, std::multiplies<>());
  const Key key(static_cast<uint64_t>(config.seed));
  TrainingData set{host_rows(rows), {}, key.child("coupling")};
  check_finite(set.rows, "training rows");
  if (conditional_) {
    if (condition.values.size(0) != rows.size(0))
      throw InputError("[condition] expected a row for each of {} training rows, got {}", rows.size(0),
                       condition.values.size(0));
    set.neighbours = std::make_shared<const ConditionNeighbours>(find_neighbours(condition));
  }
  clock_ = choose_clock(config.clock, set.rows);
  method_ =
      config.make_method(clock_.spec, DataScale(config.data_scale > 0 ? config.data_scale : robust_scale(set.rows)));
  method_->fit_to_data(set);
  if (config.scale == "clock") method_->fit_data_scale(set);
  standardiser_ = RunningStandardiser(method_->feature().size());
}

bool FlowMatcher::takes(std::string_view key) {
  constexpr std::string_view kGroups[] = {"clock.", "coupling.", "feature.", "path.", "precondition.", "source."},
                             kKeys[] = {"data.tail",   "net.kind",           "precondition",      "seed",
                                        "train.times", "train.times_centre", "train.times_spread"};
  return !key.starts_with("path.learn") && (std::ranges::find(kKeys, key) != std::end(kKeys) ||
                                            std::ranges::any_of(kGroups, [&](auto g) { return key.starts_with(g); }));
}

// Rows that only their distances are asked of, or nothing, stay on their device.
DataBatch FlowMatcher::batch_of(const at::Tensor& own, const std::vector<int64_t>& index) {
  DataBatch out{.rows = {}, .index = index, .position = position_};
  const bool there = own.is_cuda();
  out.takes_radius = there;
  const at::Tensor centre = there ? flow().distance_centre() : at::Tensor();
  const bool looked_at = config_.coupling.kind != "independent" || config_.data.tail != "empirical";
  if (!there || (looked_at && !centre.defined())) {
    out.rows = host_rows(own);
    check_finite(out.rows, "data");
    return out;
  }
  out.rows = own.reshape({own.size(0), dim_});
  if (!centre.defined()) return out;
  if (!centre_there_.defined() || centre_there_.device() != own.device()) centre_there_ = centre.to(own.device());
  out.sizes = pair_device().distances(out.rows, centre_there_);
  check_distances(out.sizes, "data");
  return out;
}

FlowMatcher::Pairs FlowMatcher::sample(const at::Tensor& x1, const std::vector<int64_t>& index) {
  check_floats(x1, "data");
  if (!std::equal(shape_.begin(), shape_.end(), x1.sizes().begin() + 1, x1.sizes().end()))
    throw InputError("[FlowMatcher] expected rows of the shape [{}] that it was made for, got [{}]",
                     fmt::join(shape_, ", "),
                     fmt::join(std::vector<int64_t>(x1.sizes().begin() + 1, x1.sizes().end()), ", "));
  const int64_t n = x1.size(0);
  if (!index.empty() && static_cast<int64_t>(index.size()) != n)
    throw InputError("[FlowMatcher] expected a place for each of {} rows, got {}", n, index.size());
  if (index.empty() && config_.coupling.size.kind == "file")
    throw InputError(
        "[FlowMatcher] expected the rows' places in the training set (index), since coupling.size = file; got none");
  if (index.empty() && conditional_)
    throw InputError(
        "[FlowMatcher] expected the rows' places in the training set (index), since they have conditions; got none");
  if (const auto [least, most] = std::minmax_element(index.begin(), index.end());
      !index.empty() && (*least < 0 || *most >= rows_))
    throw InputError("[FlowMatcher] expected places from 0 to {}, got {} to {}", rows_ - 1, *least, *most);
  const at::Tensor own = x1.detach().contiguous();
  const Key key = Key(static_cast<uint64_t>(config_.seed)).child("train").child(static_cast<uint64_t>(step_));
  const PairPlan plan = method_->plan_pairs(key, batch_of(own, index), standardiser_);
  ++step_, position_ += n;
  const at::Tensor data = plan.data_changed ? plan.data.to(own.device(), own.scalar_type()).reshape(own.sizes()) : own;
  return own.device().is_cpu() ? mix_on_host(plan, data, dim_) : mix_on_device(plan, data, dim_);
}

std::map<std::string, at::Tensor> FlowMatcher::state() const {
  const RunningStandardiser::State s = standardiser_.state();
  return {{"step", at::scalar_tensor(step_, at::kLong)},
          {"position", at::scalar_tensor(position_, at::kLong)},
          {"feature.count", s.count},
          {"feature.mean", s.mean},
          {"feature.m2", s.m2}};
}

void FlowMatcher::load_state(const std::map<std::string, at::Tensor>& state) {
  for (const char* name : {"step", "position", "feature.count", "feature.mean", "feature.m2"})
    if (!state.contains(name)) throw InputError("[FlowMatcher] expected a state with '{}', got none", name);
  if (state.at("feature.mean").numel() != feature_size())
    throw InputError("[FlowMatcher] expected a state of {} coordinates of the feature, got {}", feature_size(),
                     state.at("feature.mean").numel());
  standardiser_.load({state.at("feature.count"), state.at("feature.mean"), state.at("feature.m2")});
  step_ = state.at("step").item<int64_t>(), position_ = state.at("position").item<int64_t>();
}

}  // namespace htfm
