#include "htfm/sample/sample_states.h"

#include <algorithm>
#include <cmath>

namespace htfm {

void SampleStates::take_features(const ClockSample& clocks) {
  const PathFeature& feature = method_.feature();
  const at::Tensor path = feature.size() > 0 ? feature.standardised(feature(clocks), standardiser_) : at::Tensor();
  reset(joined_feature(path, condition_), absent_.defined() ? joined_feature(path, absent_) : at::Tensor());
}

void SampleStates::take(const ClockSample& clocks, double* area) {
  const FlowMatching& flow = this->flow();
  std::copy_n(clocks.area.const_data_ptr<double>(), rows_, area);
  scales_.clear();
  coordinates_ = flow.coordinates(clocks);
  for (int64_t i = 0; i < rows_; ++i) scales_.push_back(flow.scales(area[i], ScheduleFeature::row(coordinates_, i)));
  bare_ = false;
  take_features(clocks);
}

void SampleStates::begin(Key key, int64_t first, double* area) {
  const ClockSample clocks =
      flow().clock().sample(key.child("clock"), {.count = rows_, .first = first, .paths = flow().needs_paths()});
  take(clocks, area);
  draw_source(key.child("source"), clocks.area, first);
}

void SampleStates::begin(const ClockSample& clocks, const at::Tensor& z, double* area) {
  take(clocks, area);
  const at::Tensor source = flow().source_of(clocks.area, z);
  upload(0, source.const_data_ptr<double>());
}

void SampleStates::begin_bare(Key key, int64_t first) {
  bare_ = true;
  const PathFeature& feature = method_.feature();
  if (feature.size() == 0) return take_features({});
  take_features(
      method_.clock().sample(key.child("clock"), {.count = rows_, .first = first, .paths = feature.needs_paths()}));
}

SampleStates::Coefficients SampleStates::coefficients(int64_t row, double t) const {
  if (bare_) return {.time = t};
  const FlowMatching& flow = this->flow();
  const FlowMatching::Scales& own = scales(row);
  if (angular_)
    return {.time = t >= 1 ? 1.0 : flow.network_time(flow.time_at(t * M_PI / 2, own), own), .out = M_PI / 2};
  const Scaling s = flow.scaling(t, own);
  return {s.in, flow.network_time(t, own), s.skip, s.out};
}

}  // namespace htfm
