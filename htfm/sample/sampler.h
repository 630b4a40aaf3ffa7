// Samples from a trained model: draw T, compute its feature, draw x_0 | T, integrate the network's velocity to t = 1.
#pragma once

#include <memory>

#include "htfm/base/api.h"
#include "htfm/clock/clock.h"
#include "htfm/condition/given_conditions.h"
#include "htfm/model/flow_matcher.h"
#include "htfm/model/model.h"
#include "htfm/sample/solver.h"

namespace htfm HTFM_PUBLIC {

struct MultistepPlan;

/// In which coordinates and at which times a solver steps.
enum class TimeGrid {
  angle,   ///< y against the angle (FlowMatching::angular): the same for every clock; clock, where the network is not
           ///< preconditioned
  clock,   ///< x against t, at the same ratios of noise to signal for every clock (SolverOptions::source_scale)
  uniform  ///< x against t, at the same times for every clock
};
TimeGrid time_grid_by_name(const std::string& name);

/// What samples begin with, where it is given instead of drawn.
struct SourceDraws {
  ClockSample clocks;  ///< n; with paths where FlowMatching::needs_paths()
  at::Tensor z;        ///< n x dim, float64: standard normal numbers, or others where the samples' weights know of it
};

struct SampleOptions {
  int64_t n = 24000;
  int64_t first = 0;  ///< number of the first sample: many can be drawn in parts
  uint64_t seed = 0;
  std::string solver = "euler";  ///< one of solvers(), or of the method's own samplers where it has some
  SolverOptions solve;
  TimeGrid time_grid = TimeGrid::angle;
  at::Device device = at::kCPU;
  int64_t device_rows = 500;       ///< samples that a device moves together
  std::string precision = "bf16";  ///< of a device
  GivenConditions condition = {};  ///< of a model with conditions; what is not given is drawn from those of training
  double guidance = 0;             ///< w of v_0 + (1 + w)(v_c - v_0): an evaluation with and one without the
                                   ///< condition, of which solve.nfe counts one
  bool exact_means =
      false;              ///< given a field: samples are moved so that their means over its blocks are the given ones
  bool as_drawn = false;  ///< rows as the model draws them, n x dim(), without the way back to the data's units
  bool averaged = true;   ///< EMA weights, or the raw ones
  /// Called from time to time, by one thread at a time; what it throws ends the drawing.
  std::function<void(int64_t done, int64_t n)> report = {};
  std::shared_ptr<const MultistepPlan> plan = {};  ///< fitted: that of an earlier part (SampleResult), not fitted again
  std::shared_ptr<const SourceDraws> given = {};   ///< of samples 0 to n, whatever `first` is; null: drawn
};

struct SampleResult {
  at::Tensor samples;          ///< n x dim, float64, in the data's units; diverged rows stay as they came out
  at::Tensor area;             ///< n: the clock that each sample was drawn under; NaN: none (known_samples.h)
  at::Tensor conditions = {};  ///< n x width: what was given, or drawn; undefined where the model has no condition
  double evaluations = 0;      ///< network evaluations a sample really cost: mean and most
  int64_t most_evaluations = 0;
  int64_t diverged = 0;    ///< samples that are not finite
  int64_t incomplete = 0;  ///< samples whose solver gave up before t = 1
  double seconds = 0;
  double plan_error = 0,
         plain_error =
             0;  ///< fitted: mean error of the plan on its trajectories, and that of ab2 on its best power grid
  std::shared_ptr<const MultistepPlan> plan = {};  ///< fitted: for further parts of the same drawing
};

/// The sample options of a run's configuration.
SampleOptions sample_options(const RunConfig& config);

/// The key that the discrete part of samples is drawn by (Model::to_data).
Key discrete_key(const SampleOptions& options);

/// The conditions that sample() draws its samples under, n x width; undefined where the model has none.
at::Tensor sample_conditions(const Model& model, const SampleOptions& options);

/// Draws samples. Sample i depends on seed, weights and solver, not on the number of threads.
SampleResult sample(const Model& model, const SampleOptions& options);

/// A network of the caller's: what it gives for n times, states n x (the shape of a row) and features (undefined where
/// the clock has none), of the matcher's type and on the device of the call.
using NetworkCall = std::function<at::Tensor(const at::Tensor& t, const at::Tensor& x, const at::Tensor& feature)>;

/// Draws samples with a network that was trained on a matcher's pairs: n x (the shape of a row), float64, on
/// options.device. All samples move together, or options.device_rows at a time where that is less. `fitted` and the
/// other solvers as for a model; `precision` and `averaged` do not matter.
SampleResult sample(const FlowMatcher& matcher, const NetworkCall& network, const SampleOptions& options);

/// Draws the same samples part by part; what is fitted to the model is fitted once.
class HTFM_PUBLIC PartSampler {
 public:
  /// The model must outlive it.
  PartSampler(const Model& model, SampleOptions options) : model_(model), options_(std::move(options)) {}
  /// Samples `first` to `first + n` of those that sample() draws. A part must begin at a multiple of block_rows():
  /// solvers that choose their steps do so for blocks of samples.
  SampleResult draw(int64_t first, int64_t n);
  int64_t block_rows() const;

 private:
  const Model& model_;
  SampleOptions options_;  // with the plan of the fitted solver once there is one
};

}  // namespace htfm
