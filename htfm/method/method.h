// A method: how a training pair is made, what the network predicts, the loss, and how samples are drawn. Flow matching
// under a clock is one (flow_matching.h), the baselines (baseline.h) are others; trainer, networks and scores are the
// same for all.
#pragma once

#include <map>
#include <memory>

#include "htfm/base/api.h"
#include "htfm/clock/feature.h"
#include "htfm/coupling/magnitude_law.h"
#include "htfm/method/states.h"
#include "htfm/schedule/precondition.h"
#include "htfm/signature/standardise.h"
#include "htfm/source/source.h"

namespace htfm HTFM_PUBLIC {

/// What a network is trained on: input, time, standardised feature and the output it should give. float32, n rows.
struct TrainingPairs {
  at::Tensor x, t, feature, target;
};

/// The coefficients of one training pair: the network sees data_in x_1 + source_in x_0 at this time and should give
/// data_target x_1 + source_target x_0.
struct PairCoefficients {
  double time, data_in, source_in, data_target, source_target;
};

/// The plan of a batch: which data meet which sources, and how.
struct PairPlan {
  std::vector<PairCoefficients> rows;
  at::Tensor data;            ///< x_1, n x dim float32
  bool data_changed = false;  ///< x_1 may differ from the rows that the plan was made for
  SourceBatch source;         ///< its points are left out where they are sqrt(2A) z
  at::Tensor feature;         ///< standardised, then the condition's; float32; undefined where the network sees none
  Key noise =
      Key(0);  ///< x_0 = sqrt(2A) z, or radius z / |z|, with z this key's stream, where the points were left out
  double bound = std::numeric_limits<double>::infinity();  ///< of each element of x_0
  std::vector<double> path_time;                           ///< t of each row, where the schedule's curves are learned

  /// x_0 of rows begin to end, float64: drawn now where it was left out.
  at::Tensor points(int64_t begin, int64_t end) const;
  /// Of all rows.
  at::Tensor points() const { return points(0, data.size(0)); }
};

/// What the network sees beside state and time: the clock's feature, then that of the condition; n x size each,
/// undefined where there is none.
at::Tensor joined_feature(const at::Tensor& feature, const at::Tensor& condition);

/// The data set that a method is fitted to.
struct TrainingData {
  at::Tensor rows;                 ///< n x dim, float32: the whole set
  std::vector<std::string> names;  ///< of the columns; may be empty
  Key key = Key(0);                ///< of what is drawn once for many batches
  at::Tensor conditions = {};      ///< n x columns, float64: what is given beside the rows; undefined: nothing
  std::shared_ptr<const ConditionNeighbours> neighbours = {};  ///< by these conditions
  bool streamed = false;                                       ///< the rows are a mapped file, and many
};

/// How far outputs are from their targets, with d their difference.
enum class LossKind {
  squared,    ///< mean of d^2 over all elements
  root,       ///< mean over samples of the root of the mean of d^2
  smooth_l1,  ///< mean over all elements of d^2/2, |d| - 1/2 beyond 1
  median      ///< mean over data rows of the median over `outer` groups of the mean of d^2 over `inner` rows each
};
struct LossSpec {
  LossKind kind = LossKind::squared;
  int64_t outer = 1, inner = 1;  ///< median: rows of a batch are data row by data row, and group by group inside
};

/// The input of a sampler of a method: which samples to draw, one for each row of the states, from number `first` of
/// the key's stream.
struct SampleRequest {
  Key key;
  int64_t first = 0;
  int64_t nfe = 1;  ///< network evaluations, at the most
  double* area;     ///< rows: gets the clocks' areas of the noise that the samples start from
};

/// A sampler that belongs to a method. `run` fills register 0 with samples; evaluate() of the states is the network's
/// raw output.
struct MethodSampler {
  std::string name, summary;
  int64_t least_nfe;
  std::function<SolverRun(States& states, const SampleRequest& request)> run;
};

class FlowMatching;
class LearnedSchedule;

class Method {
 public:
  /// `source`: the clock of x_0. `data_scale`: s_d of a preconditioning.
  Method(const ClockSpec& source, const FeatureSpec& feature, DataScale data_scale)
      : clock_(make_clock(source)), feature_(*clock_, feature), data_scale_(std::move(data_scale)) {}
  virtual ~Method() = default;
  const Clock& clock() const { return *clock_; }
  /// What the network is told of the clock.
  const PathFeature& feature() const { return feature_; }
  const DataScale& data_scale() const { return data_scale_; }
  /// Polynomial tail exponent of the source, infinity for a light tail.
  virtual double tail_exponent() const { return clock_->tail_exponent(); }
  virtual LossSpec loss() const { return {}; }
  /// Options that change what is computed, for logs: "T = 100, loss root"; may be empty.
  virtual std::string describe() const { return {}; }

  /// Fits the parts of the method that depend on the data set; called once, before pairs().
  virtual void fit_to_data(const TrainingData& data) = 0;
  /// The state that fit_to_data() set and sampling needs, for a checkpoint.
  virtual void save_state(std::map<std::string, at::Tensor>&) const {}
  virtual void load_state(const std::map<std::string, at::Tensor>&, const std::string& path);

  /// The plan that pairs() carries out: a function of the key, the data, their position and the state of the
  /// standardiser, which it updates.
  PairPlan plan_pairs(Key key, const DataBatch& data, RunningStandardiser& standardiser) const;
  /// Training pairs.
  TrainingPairs pairs(Key key, const DataBatch& data, RunningStandardiser& standardiser) const;
  /// Training pairs of a plan.
  static TrainingPairs pairs(const PairPlan& plan) { return pairs(plan, 0, plan.data.size(0)); }
  /// The same with rows begin to end alone; the others are there and hold anything.
  static TrainingPairs pairs(const PairPlan& plan, int64_t begin, int64_t end);

  /// Processes that make plans together, each drawing some of the clocks; null: none. All make the same plans.
  virtual void share_draws(Communicator*) {}

  /// Fits the data scale by clock to the data set, where the method has one; after fit_to_data().
  virtual void fit_data_scale(const TrainingData&) {}
  /// The flow, where the network's output is its velocity; null for methods with samplers of their own.
  virtual const FlowMatching* flow() const { return nullptr; }
  /// The schedule whose curves are learned; null where there is none.
  virtual LearnedSchedule* learned_schedule() { return nullptr; }

  /// Its own samplers, the default first. None: the output is a velocity, for the solvers of htfm/sample.
  virtual std::span<const MethodSampler> samplers() const { return {}; }

 protected:
  /// The plan without the data's conditions, which plan_pairs() adds to the feature.
  virtual PairPlan plan_unconditional(Key key, const DataBatch& data, RunningStandardiser& standardiser) const = 0;
  /// Raw features as the network is given them, after the standardiser has seen them.
  at::Tensor seen(const at::Tensor& raw, RunningStandardiser& standardiser) const;

  std::unique_ptr<Clock> clock_;
  PathFeature feature_;
  DataScale data_scale_;
};

}  // namespace htfm
