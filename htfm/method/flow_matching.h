// Clock-conditioned flow matching: the training pairs of the objective (eq. chtfm-loss-st), and the velocity that a
// trained network stands for.
#pragma once

#include "htfm/base/api.h"
#include "htfm/coupling/coupling.h"
#include "htfm/method/method.h"
#include "htfm/schedule/learned_schedule.h"
#include "htfm/schedule/schedule.h"

namespace htfm {
class LevelNoise;
}

namespace htfm HTFM_PUBLIC {

/// The times of training. Any law with full support leaves the minimiser of the loss for each clock unchanged; it says
/// where the network's effort goes.
struct TrainingTimes {
  bool normal = false;            ///< not uniform: the logarithm of signal to noise, alpha s_d / (beta s_0), is normal
  double centre = 0, spread = 1;  ///< its mean and deviation
};

struct FlowMatchingSpec {
  ClockSpec clock;
  FeatureSpec feature;
  ScheduleSpec schedule;
  CouplingSpec coupling;
  SourceMeanSpec source;
  SourceCovarianceSpec covariance;
  bool precondition = true;
  bool clock_time = false;  ///< times by clock: the network is told, and training draws, the time at which an ordinary
                            ///< clock has this ratio of noise to signal
  DataTail tail = DataTail::empirical;  ///< how the data's sizes go on beyond the largest
  TrainingTimes times = {};
};

class FlowMatching final : public Method {
 public:
  /// `data_scale`: s_d of the preconditioning.
  explicit FlowMatching(const FlowMatchingSpec& spec, DataScale data_scale = DataScale());
  double tail_exponent() const override { return source_.mean().tail_exponent(clock_->tail_exponent()); }
  const SizeTail& size_tail() const { return sizes_->tail(); }
  /// The centre whose distance is all that a plan asks of data rows, n x dim: their distances may stand for them
  /// (DataBatch::sizes). Undefined where it asks for more, or for nothing.
  at::Tensor distance_centre() const;
  void set_data_scale(DataScale scale) {
    data_scale_ = std::move(scale);
    ordinary_ = {1, data_scale_.typical(), schedule_feature_.of_line()};
    largest_ = std::isfinite(feature_.largest_area()) ? scales(feature_.largest_area())
                                                      : Scales{std::numeric_limits<double>::infinity(), 1, {}};
  }

  /// Fits the source's covariance, unless load_state() has brought it, and prepares the coupling for a data set; before
  /// pairs() and fit_scale().
  void fit_to_data(const TrainingData& data) override;
  void save_state(std::map<std::string, at::Tensor>& out) const override { source_.covariance().save_state(out); }
  void load_state(const std::map<std::string, at::Tensor>& in, const std::string& path) override {
    source_.set_covariance(SourceCovariance::load_state(covariance_spec_, in, path));
  }
  const SourceCovariance& covariance() const { return source_.covariance(); }
  /// The data scale by clock that belongs to this coupling and data set.
  DataScale fit_scale(const TrainingData& data) const;

  void share_draws(Communicator* processes) override { source_.share(processes); }
  PairPlan plan_unconditional(Key key, const DataBatch& data, RunningStandardiser& standardiser) const override;
  void fit_data_scale(const TrainingData& data) override { set_data_scale(fit_scale(data)); }
  const FlowMatching* flow() const override { return this; }
  LearnedSchedule* learned_schedule() override { return learned_; }
  /// Whether x_0, given the clock, is sqrt(2A) z with z standard normal and independent of the data.
  bool noise_is_free() const {
    return (coupling_spec_.kind == "independent" || coupling_spec_.kind == "clock") && source_.mean().zero() &&
           covariance_spec_.identity();
  }

  /// Whether paths are needed to draw a source, or areas and ends suffice.
  bool needs_paths() const { return feature_.needs_paths() || schedule_feature_.needs_paths(); }
  /// What the schedule is told of these clocks, for scales(); undefined where it does not look at them.
  at::Tensor coordinates(const ClockSample& clocks) const { return schedule_feature_(clocks); }

  /// Source points of these areas, rows first.. of a key; on the areas' device.
  at::Tensor draw_source(Key key, const at::Tensor& area, int64_t dim, int64_t first) const {
    at::Tensor x = sample_source(key, area, dim, first);
    source_.place(area, x);
    return x;
  }
  /// The source points of these areas (n) and standard normal numbers z (n x dim), float64 on the CPU.
  at::Tensor source_of(const at::Tensor& area, const at::Tensor& z) const;

  /// The schedule where its curves are learned; null otherwise.
  const LearnedSchedule* learned() const { return learned_; }
  /// What the curves are trained on, given the mean squared error of the network in each row of a batch: the logarithm
  /// of the mean of error (d angle / dt)^2, angles held fixed. It is the second moment of the gradient at the network's
  /// output, for a loss uniform in angle whose times the schedule draws; least where angles are drawn as often as the
  /// root of the error is large. `gradient`: in the parameters of the curves, overwritten.
  double curve_loss(const PairPlan& plan, std::span<const double> errors, std::vector<double>& gradient) const;

  /// What is the same along the path of one clock: its scales (root mean squares over the coordinates), and a row of
  /// coordinates.
  struct Scales {
    double source = 1, data = 1;
    std::span<const double> coordinates = {};
  };
  Scales scales(double area, std::span<const double> coordinates = {}) const {
    const SourceMean& mean = source_.mean();
    return {mean.zero() ? std::sqrt(2 * area) : std::sqrt(2 * area + mean.square(area)), data_scale_.at(area),
            coordinates};
  }
  /// The network's coefficients at time t for a clock with these scales.
  Scaling scaling(double t, const Scales& s) const {
    return precondition_ ? clock_scaling(schedule_->at(t, s.coordinates), s.data, s.source) : Scaling{};
  }
  /// Whether the network is preconditioned, so that the flow has angular coordinates: with y = c_in x and tan(angle) =
  /// alpha s_d / (beta s_0) it is dy/d angle = F(y), of order one for every clock, for angles from 0 to pi/2.
  bool angular() const { return precondition_; }
  /// The time that the network is told. Given the clock and an independent coupling, the task depends on the ratio of
  /// noise to signal alone; so it may be the time of the same ratio for an ordinary clock (clock_time). Where a clock
  /// is larger than those that the network is shown, it is that of the largest shown one.
  double network_time(double t, const Scales& s) const {
    if (clock_time_) return same_ratio(t, s, ordinary_);
    return precondition_ && s.source > largest_.source
               ? same_ratio(t, s, {largest_.source, largest_.data, s.coordinates})
               : t;
  }
  /// The time at this angle for a clock with these scales.
  double time_at(double angle, const Scales& s) const {
    return schedule_->time_of(s.source / s.data * std::tan(angle), s.coordinates);
  }

 private:
  // Whether a plan needs the source's points, since the coupling looks at them or they are more than sqrt(2A) z (or
  // radius z / |z|, where that is asked for).
  bool needs_points(const DataBatch& data) const {
    const bool told = coupling_spec_.kind == "independent" || (data.takes_radius && coupling_spec_.kind == "pool");
    return !told || !source_.mean().zero() || !covariance_spec_.identity();
  }
  // The rows of a plan whose clocks are drawn, from draws of their times.
  void add_coefficients(const std::vector<double>& draws, PairPlan& plan) const;
  // The levels of the sources that rows of these levels meet.
  std::vector<double> source_levels(Key key, const std::vector<double>& level) const;
  // The time that a draw of training stands for, normal or uniform (TrainingTimes).
  double training_time(double draw, const Scales& own) const {
    if (times_.normal)
      return schedule_->time_of(own.source / own.data * std::exp(times_.centre + times_.spread * draw),
                                own.coordinates);
    return clock_time_ ? same_ratio(draw, ordinary_, own) : draw;
  }
  // The time at which the second clock has the ratio of noise to signal that the first has at t.
  double same_ratio(double t, const Scales& from, const Scales& to) const {
    const Coefficients c = schedule_->at(t, from.coordinates);
    return c.beta > 0 ? schedule_->time_of(c.alpha / c.beta * (from.data / from.source) * (to.source / to.data),
                                           to.coordinates)
                      : 1;
  }

  std::unique_ptr<Schedule> schedule_;
  LearnedSchedule* learned_;
  ScheduleFeature schedule_feature_;
  CouplingSpec coupling_spec_;
  std::shared_ptr<const LevelNoise> level_noise_;  // once there are data
  SourceCovarianceSpec covariance_spec_;
  SourceSampler source_;
  std::unique_ptr<MagnitudeLaw> sizes_;
  std::unique_ptr<Coupling> coupling_;
  bool precondition_, clock_time_;
  DataTail tail_;
  TrainingTimes times_;
  Scales ordinary_, largest_;  // of a clock of unit scale, and of the largest one that the network is shown
};

}  // namespace htfm
