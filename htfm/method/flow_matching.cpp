#include "htfm/method/flow_matching.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>

#include "htfm/base/error.h"
#include "htfm/base/registry.h"
#include "htfm/coupling/level_noise.h"
#include "htfm/method/coefficient_kernels.h"
#include "htfm/stat/scatter.h"

namespace htfm {

namespace {

// Pairs that the data scale is fitted to; fewer of long rows.
constexpr int64_t kScalePairs = 1 << 18, kFewestScalePairs = 1 << 14, kScaleValues = 1 << 30;

}  // namespace

FlowMatching::FlowMatching(const FlowMatchingSpec& spec, DataScale data_scale)
    : Method(spec.clock, spec.feature, DataScale(1)),
      schedule_(make_schedule(spec.schedule)),
      learned_(schedule_->learned()),
      schedule_feature_(*clock_, *schedule_, spec.precondition || spec.clock_time || spec.times.normal),
      coupling_spec_(spec.coupling),
      covariance_spec_(spec.covariance),
      source_(*clock_, feature_, &schedule_feature_, SourceMean(spec.source)),
      precondition_(spec.precondition),
      clock_time_(spec.clock_time),
      tail_(spec.tail),
      times_(spec.times) {
  if (learned_ && (!precondition_ || clock_time_))
    throw InputError("[path.learn] expected precondition.enabled = true and precondition.time = path, got {} and {}",
                     precondition_, clock_time_ ? "clock" : "path");
  if (learned_ && times_.normal)
    throw InputError("[path.learn] expected train.times = uniform, since the curves determine the times, got normal");
  set_data_scale(std::move(data_scale));
  find_named(couplings(), spec.coupling.kind, "coupling.kind");
  find_named(source_covariances(), spec.covariance.kind, "source.covariance");
  find_named(size_statistics(), spec.coupling.size.kind, "coupling.size");
}

void FlowMatching::fit_to_data(const TrainingData& data) {
  source_.mean().check(data.rows.size(1));
  if (source_.covariance().identity()) source_.set_covariance(SourceCovariance::fit(covariance_spec_, data.rows));
  sizes_ =
      std::make_unique<MagnitudeLaw>(make_size(coupling_spec_.size, data.rows, data.names), data.rows, data.neighbours);
  if (tail_ == DataTail::pareto || (tail_ == DataTail::clusters && !sizes_->fit_clusters(data.rows)))
    sizes_->fit_tail(tail_exponent());
  level_noise_ = std::make_shared<LevelNoise>(coupling_spec_.noise, coupling_spec_.noise_fade);
  coupling_ = make_coupling({coupling_spec_, source_, data.rows.size(1), data.key, data.neighbours});
}

DataScale FlowMatching::fit_scale(const TrainingData& data) const {
  if (std::optional<DataScale> known = coupling_->data_scale(*sizes_)) return std::move(*known);
  const int64_t n = data.rows.size(0), dim = data.rows.size(1), batch = std::min<int64_t>(n, 1024),
                pairs = std::clamp(kScaleValues / dim, kFewestScalePairs, kScalePairs),
                rounds = (pairs + batch - 1) / batch;
  const at::Tensor& centre = sizes_->centre();
  const Key key = data.key.child("scale");
  std::vector<int64_t> order(static_cast<size_t>(n)), index(static_cast<size_t>(batch));
  std::vector<double> areas, paired;
  fill_permutation(key, n, order.data());
  for (int64_t round = 0; round < rounds; ++round) {
    for (int64_t i = 0; i < batch; ++i) index[i] = order[(round * batch + i) % n];
    const DataBatch rows{data.rows.index_select(0, at::from_blob(index.data(), {batch}, at::kLong)), index,
                         round * batch};
    const Key own = key.child(static_cast<uint64_t>(round));
    const std::vector<double> level = sizes_->levels(own.child("level"), rows);
    const at::Tensor stretched = sizes_->stretch(rows, level);
    const SourceBatch source =
        coupling_->pair(own, {stretched, index, rows.position}, source_levels(own, level), false);
    const at::Tensor from_centre = distances(stretched, centre);
    const double* area = source.area.const_data_ptr<double>();
    const double* distance = from_centre.const_data_ptr<double>();
    areas.insert(areas.end(), area, area + batch);
    paired.insert(paired.end(), distance, distance + batch);
  }
  return htfm::fit_data_scale(areas, paired, dim,
                              coupling_spec_.kind == "independent" ? 0 : tail_slope(*clock_, *sizes_));
}

at::Tensor FlowMatching::distance_centre() const {
  const std::string& kind = coupling_spec_.kind;
  const bool ranks = kind == "pool" || kind == "radial" || kind == "clock";
  return ranks && tail_ == DataTail::empirical && sizes_->size().is_distance() ? sizes_->centre() : at::Tensor();
}

at::Tensor FlowMatching::source_of(const at::Tensor& area, const at::Tensor& z) const {
  at::Tensor x = z.clone();
  double* out = x.mutable_data_ptr<double>();
  const double* a = area.const_data_ptr<double>();
  const int64_t n = x.size(0), dim = x.size(1);
  for (int64_t i = 0; i < n; ++i) {
    const double scale = std::sqrt(2 * a[i]);
    for (int64_t k = 0; k < dim; ++k) out[i * dim + k] *= scale;
  }
  source_.place(area, x);
  return x;
}

std::vector<double> FlowMatching::source_levels(Key key, const std::vector<double>& level) const {
  return level_noise_->apply(key.child("level noise"), level);
}

PairPlan FlowMatching::plan_unconditional(Key key, const DataBatch& data, RunningStandardiser& standardiser) const {
  if (!coupling_) throw Error("[coupling] expected a data set before pairs are made");
  const int64_t n = data.rows.size(0);
  // An independent coupling does not ask how large the rows are.
  const std::vector<double> level = coupling_spec_.kind == "independent" && tail_ == DataTail::empirical
                                        ? std::vector<double>()
                                        : sizes_->levels(key.child("level"), data);
  PairPlan out;
  out.data = sizes_->stretch(data, level), out.data_changed = tail_ != DataTail::empirical;
  out.source =
      coupling_->pair(key, {out.data, data.index, data.position}, source_levels(key, level), needs_points(data));
  out.noise = key.child("source");
  if (feature_.size() > 0) out.feature = seen(out.source.feature, standardiser);
  std::vector<double> times(static_cast<size_t>(n));
  if (times_.normal)
    fill_normal(key.child("time"), 0, n, times.data());
  else
    fill_uniform(key.child("time"), 0, n, times.data());
  if (learned_) out.path_time = times;
  add_coefficients(times, out);
  return out;
}

void FlowMatching::add_coefficients(const std::vector<double>& draws, PairPlan& plan) const {
  const double* area = plan.source.area.const_data_ptr<double>();
  const auto n = static_cast<int64_t>(draws.size());
  plan.rows.resize(draws.size());
  CoefficientRows own{};
  for (int64_t first = 0; first < n; first += CoefficientRows::kMost) {
    const int64_t count = std::min(n - first, CoefficientRows::kMost);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t i = first + k;
      const Scales s = scales(area[i], ScheduleFeature::row(plan.source.coordinates, i));
      const double t = training_time(draws[i], s);
      const Coefficients c = schedule_->at(t, s.coordinates);
      plan.rows[i].time = clock_time_ && !times_.normal ? draws[i] : network_time(t, s);
      own.alpha[k] = c.alpha, own.beta[k] = c.beta, own.dalpha[k] = c.dalpha, own.dbeta[k] = c.dbeta;
      own.data_scale[k] = s.data, own.source_scale[k] = s.source;
    }
    if (precondition_) kernels<CoefficientKernels>().precondition(own);
    for (int64_t k = 0; k < count; ++k) {
      PairCoefficients& r = plan.rows[first + k];
      if (precondition_)
        r = {r.time, own.data_in[k], own.source_in[k], own.data_target[k], own.source_target[k]};
      else
        r = {r.time, own.alpha[k], own.beta[k], own.dalpha[k], own.dbeta[k]};
    }
  }
}

double FlowMatching::curve_loss(const PairPlan& plan, std::span<const double> errors,
                                std::vector<double>& gradient) const {
  std::vector<double> sums(static_cast<size_t>(learned_->size()), 0.0);
  const double* area = plan.source.area.const_data_ptr<double>();
  double total = 0;
  for (size_t i = 0; i < errors.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    const Scales own = scales(area[i], ScheduleFeature::row(plan.source.coordinates, row));
    const double t = plan.path_time[i], ratio = own.data / own.source;
    const Coefficients c = schedule_->at(t, own.coordinates);
    // tan(angle) = ratio alpha / beta.
    const double turning =
        ratio * (c.dalpha * c.beta - c.alpha * c.dbeta) / (c.beta * c.beta + ratio * ratio * c.alpha * c.alpha);
    const double weight = errors[i] * turning * turning;
    total += weight;
    learned_->add_speed_gradient(weight, t, own.coordinates, sums);
  }
  gradient = learned_->in_parameters(sums);
  for (double& g : gradient) g /= total;
  return std::log(total / static_cast<double>(errors.size()));
}

}  // namespace htfm
