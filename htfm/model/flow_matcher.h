// Training pairs of flow matching under a clock for a loop of one's own: network, loss and optimiser are the caller's.
//
//   FlowMatcher matcher(config, rows);
//   FlowMatcher::Pairs p = matcher.sample(x1);   // the network sees p.x, p.t and p.feature, and should give p.target
//   SampleResult drawn = sample(matcher, network, options);  // htfm/sample/sampler.h
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/condition/condition_table.h"
#include "htfm/model/choose_clock.h"
#include "htfm/model/config.h"

namespace htfm HTFM_PUBLIC {

class FlowMatcher {
 public:
  /// `rows`: the training set, n x (the shape of a row), float32 or float64 on any device: coupling and scales are
  /// fitted to it. `config`: the keys that it takes (takes()) are used, all others are not; the method must be htfm.
  /// `condition`: what the caller's network is told of each row beside its pair: rows are then coupled with clocks and
  /// noise among those of like conditions, so that given the condition these keep their law.
  FlowMatcher(const RunConfig& config, const at::Tensor& rows, const ConditionTable& condition = {});

  /// Whether a key of a configuration changes the pairs: clock, feature, path (but no curves that are learned),
  /// coupling, source, precondition, seed, data.tail, train.times, and net.kind, by which `auto` is resolved.
  static bool takes(std::string_view key);

  /// What a network is trained on, of the type and on the device of x1. With preconditioning x and target are in the
  /// network's units (htfm/schedule/precondition.h), otherwise x_t and its velocity.
  struct Pairs {
    at::Tensor t;        ///< n
    at::Tensor x;        ///< the shape of x1
    at::Tensor target;   ///< the shape of x1
    at::Tensor feature;  ///< n x feature_size(); undefined where the clock has none
  };
  /// The pairs of one step for a batch of data, n x (the shape of a row). Step after step gives other pairs, the same
  /// in every run of a seed; the batches of a training in its order give that training's pairs. `index`: the places of
  /// the rows in the training set, needed where coupling.size = file, and where there is a condition. Values that are
  /// not finite are an InputError, except on a device with a coupling that looks at no rows: nothing waits for it
  /// there, and they come out in x and target.
  Pairs sample(const at::Tensor& x1, const std::vector<int64_t>& index = {});

  const RunConfig& config() const { return config_; }
  const FlowMatching& flow() const { return *method_->flow(); }
  const RunningStandardiser& standardiser() const { return standardiser_; }
  /// The clock's law, which the data may have chosen, and in that case why.
  const ChosenClock& clock() const { return clock_; }
  int64_t feature_size() const { return method_->feature().size(); }
  /// The shape of a row, and how many values it has.
  const std::vector<int64_t>& row_shape() const { return shape_; }
  int64_t dim() const { return dim_; }
  at::ScalarType type() const { return type_; }
  int64_t step() const { return step_; }

  /// What training has changed (step, rows taken, statistics of the feature), to go on from later with the same bits.
  std::map<std::string, at::Tensor> state() const;
  void load_state(const std::map<std::string, at::Tensor>& state);

 private:
  DataBatch batch_of(const at::Tensor& own, const std::vector<int64_t>& index);

  RunConfig config_;
  bool conditional_;
  ChosenClock clock_;
  int64_t rows_ = 0;  // of the training set
  std::vector<int64_t> shape_;
  int64_t dim_ = 1;
  at::ScalarType type_;
  std::unique_ptr<Method> method_;
  RunningStandardiser standardiser_;
  int64_t step_ = 0, position_ = 0;
  at::Tensor centre_there_;  // of the distances, on the device of the last batch that asked for them
};

}  // namespace htfm
