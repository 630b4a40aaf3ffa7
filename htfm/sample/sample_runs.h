// Blocks of samples that are moved from noise to data: on the CPU, on CUDA, or by calls of a network that is not ours.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "htfm/model/flow_matcher.h"
#include "htfm/sample/fitted.h"
#include "htfm/sample/sampler.h"

namespace htfm {

/// What all blocks of a call share.
struct SampleJob {
  const Method& method;
  int64_t dim;
  const SampleOptions& options;
  const SolverInfo* solver;  // of the flow, or
  const MethodSampler* own;  // the method's
  Key key;
  bool fitted, angular;
  double *x, *area;  // all samples
  std::function<void(int64_t count)> done;
  const ConditionEncoder* condition = nullptr;  // of a model that has one
};

struct BlockRun {
  SolverRun run;
  int64_t rows = 0;
};

struct AllRuns {
  std::vector<BlockRun> blocks;
  std::shared_ptr<const MultistepPlan> plan;  // of the fitted solver
};

/// The conditions of samples, by their numbers.
at::Tensor conditions_of_samples(const ConditionEncoder& encoder, const SampleOptions& o, int64_t first, int64_t n);

/// Blocks of a size that suits the caches, shared out to the threads.
AllRuns run_on_cpu(const SampleJob& job, const Model& model, const at::Tensor& trained);
/// Blocks of one size, one after the other, since the network's pass over them is recorded; the rest of the last block
/// is not looked at.
AllRuns run_on_cuda(const SampleJob& job, const Model& model, const at::Tensor& weights);
/// Blocks one after the other: the network is not ours, and may want large ones.
AllRuns run_by_calls(const SampleJob& job, const FlowMatcher& matcher, const NetworkCall& network);

}  // namespace htfm
