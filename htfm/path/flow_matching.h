// Clock-conditioned flow matching: the training pairs of the objective (eq. chtfm-loss-st), and the velocity that a trained
// network stands for.
#pragma once

#include "htfm/clock/feature.h"
#include "htfm/path/coupling.h"
#include "htfm/path/precondition.h"
#include "htfm/path/schedule.h"
#include "htfm/signature/standardise.h"

namespace htfm {

/// What a network is trained on: input, time, standardised feature and the output it should give. float32, n rows.
struct TrainingPairs {
  at::Tensor x, t, feature, target;
};

struct FlowMatchingSpec {
  ClockSpec clock;
  FeatureSpec feature;
  ScheduleSpec schedule;
  std::string coupling = "independent";
  bool precondition = true;
};

class FlowMatching {
 public:
  /// `data_scale`: s_d of the preconditioning.
  FlowMatching(const FlowMatchingSpec& spec, DataScale data_scale);
  const Clock& clock() const { return *clock_; }
  const PathFeature& feature() const { return feature_; }

  /// Training pairs for n x dim float32 data: draws clocks, sources and times, couples them, and lets the standardiser see the
  /// features. A function of the key, the data and the standardiser's state.
  TrainingPairs pairs(Key key, const at::Tensor& data, RunningStandardiser& standardiser) const;

  /// The network's coefficients at time t for the clock with this area.
  Scaling scaling(double t, double area) const;

 private:
  std::unique_ptr<Clock> clock_;
  PathFeature feature_;
  std::unique_ptr<Schedule> schedule_;
  std::unique_ptr<Coupling> coupling_;
  bool precondition_;
  DataScale data_scale_;
};

}  // namespace htfm
