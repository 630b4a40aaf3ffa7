// Clock-conditioned flow matching: the training pairs of the objective (eq. chtfm-loss-st), and the velocity that a trained
// network stands for.
#pragma once

#include "htfm/path/coupling.h"
#include "htfm/path/method.h"
#include "htfm/path/schedule.h"

namespace htfm {

struct FlowMatchingSpec {
  ClockSpec clock;
  FeatureSpec feature;
  ScheduleSpec schedule;
  CouplingSpec coupling;
  bool precondition = true;
  bool pareto_tail = false;  ///< the data's sizes continued by a Pareto law (SizeLaw::fit_tail)
};

class FlowMatching final : public Method {
 public:
  /// `data_scale`: s_d of the preconditioning.
  explicit FlowMatching(const FlowMatchingSpec& spec, DataScale data_scale = DataScale());
  const SizeTail& size_tail() const { return sizes_->tail(); }
  void set_data_scale(DataScale scale) {
    data_scale_ = std::move(scale);
    largest_ =
        std::isfinite(feature_.largest_area()) ? scales(feature_.largest_area()) : Scales{std::numeric_limits<double>::infinity(), 1};
  }

  /// Prepares the coupling for a data set; before pairs() and fit_scale().
  void couple(const CoupledData& data) override;
  /// The data scale by clock that belongs to this coupling and data set.
  DataScale fit_scale(const CoupledData& data) const;

  BatchRecipe recipe(Key key, const DataBatch& data, RunningStandardiser& standardiser, bool points) const override;

  /// The scales of one clock, which stay the same along its path.
  struct Scales {
    double source = 1, data = 1;
  };
  Scales scales(double area) const { return {std::sqrt(2 * area), data_scale_.at(area)}; }
  /// The network's coefficients at time t for a clock with these scales.
  Scaling scaling(double t, const Scales& s) const { return precondition_ ? clock_scaling(schedule_->at(t), s.data, s.source) : Scaling{}; }
  /// Whether the network is preconditioned, so that the flow has angular coordinates: with y = c_in x and tan(angle) = alpha s_d / (beta
  /// s_0) it is dy/d angle = F(y), of order one for every clock, for angles from 0 to pi/2.
  bool angular() const { return precondition_; }
  /// The time that the network is told: that of the same angle for the largest clock that it is shown, where this one is larger.
  double network_time(double t, const Scales& s) const {
    if (!precondition_ || !(s.source > largest_.source)) return t;
    const Coefficients c = schedule_->at(t);
    return c.beta > 0 ? schedule_->time_of(c.alpha / c.beta * (s.data / s.source) * (largest_.source / largest_.data)) : 1;
  }
  /// The time at this angle for a clock with these scales.
  double time_at(double angle, const Scales& s) const { return schedule_->time_of(s.source / s.data * std::tan(angle)); }

 private:
  std::unique_ptr<Schedule> schedule_;
  CouplingSpec coupling_spec_;
  SourceSampler source_;
  std::unique_ptr<SizeLaw> sizes_;
  std::unique_ptr<Coupling> coupling_;
  bool precondition_, pareto_tail_;
  Scales largest_;  // of the largest clock that the network is shown
};

}  // namespace htfm
