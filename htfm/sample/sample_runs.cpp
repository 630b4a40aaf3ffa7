#include "htfm/sample/sample_runs.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "htfm/base/parallel.h"
#include "htfm/base/single_thread_guard.h"
#include "htfm/sample/call_states.h"
#include "htfm/sample/cpu_states.h"
#include "htfm/sample/cuda_states.h"

namespace htfm {

namespace {

constexpr int64_t kCalibrationRows = 512, kCalibrationBlock = 128;  // trajectories that the fitted solver is fitted to

// In units of the median: the body of the data is of order one.
std::vector<double> in_median_units(std::vector<double> scale) {
  std::vector<double> sorted = scale;
  const auto middle = sorted.begin() + static_cast<int64_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  for (double& s : scale) s /= *middle;
  return scale;
}

// The ratio of source to data scale, in units of a clock in the middle: what the grid by clock goes by.
double grid_ratio(const FlowMatching& flow, const FlowMatching::Scales& s) {
  return s.source / s.data * flow.data_scale().typical();
}

// Tells a block of samples from this number on what is given.
void give_conditions(const SampleJob& job, SampleStates& states, int64_t number) {
  if (!job.condition) return;
  const double w = job.options.guidance;
  states.give(job.condition->encode(conditions_of_samples(*job.condition, job.options, number, states.rows())),
              w > 0 ? job.condition->absent(states.rows()) : at::Tensor(), w);
}

// In angular coordinates a grid is the same for all clocks.
SolverOptions angular_options(const SampleJob& job, int64_t first) {
  SolverOptions out = job.options.solve;
  if (job.options.time_grid == TimeGrid::clock) out.odds = job.method.data_scale().typical();
  out.noise = job.key.child("noise"), out.first = job.options.first + first;
  return out;
}

// Rows first.. of what is given, as many as a block has: the last one is repeated where a block is longer.
SourceDraws rows_of(const SourceDraws& given, int64_t first, int64_t rows) {
  const int64_t n = given.z.size(0);
  at::Tensor index = at::empty({rows}, at::kLong);
  for (int64_t i = 0; i < rows; ++i) index.mutable_data_ptr<int64_t>()[i] = std::min(first + i, n - 1);
  const auto chosen = [&](const at::Tensor& t) { return t.defined() ? t.index_select(0, index) : t; };
  return {{chosen(given.clocks.area), chosen(given.clocks.end), chosen(given.clocks.paths)}, chosen(given.z)};
}

// Moves one block of samples from noise to data.
SolverRun run_block(const SampleJob& job, const MultistepPlan& plan, SampleStates& states, int64_t first,
                    double* area) {
  const int64_t number = job.options.first + first;
  give_conditions(job, states, number);
  if (job.own) {
    states.begin_bare(job.key, number);
    return job.own->run(states, {job.key, number, job.options.solve.nfe, area});
  }
  if (job.options.given) {
    const SourceDraws own = rows_of(*job.options.given, first, states.rows());
    states.begin(own.clocks, own.z, area);
  } else {
    states.begin(job.key, number, area);
  }
  if (job.angular) {
    states.to_angular();
    const SolverRun run =
        job.fitted ? run_multistep(plan, states) : job.solver->solve(states, angular_options(job, first));
    states.from_angular();
    return run;
  }
  SolverOptions solve = job.options.solve;
  std::vector<double> ratio;
  if (job.options.time_grid != TimeGrid::uniform) {
    for (int64_t i = 0; i < states.rows(); ++i) ratio.push_back(grid_ratio(*job.method.flow(), states.scales(i)));
    solve.source_scale = ratio.data();
  }
  return job.solver->solve(states, solve);
}

// The plan of the fitted solver for a model, the same for every seed: fitted to trajectories that start in these
// blocks, one after the other or, on the CPU, side by side.
MultistepPlan calibrate(const SampleJob& job, std::span<const std::unique_ptr<SampleStates>> blocks) {
  const int64_t dim = job.dim, steps = job.options.solve.nfe;
  const int64_t part = blocks[0]->rows(), parts = static_cast<int64_t>(blocks.size()), rows = part * parts;
  std::vector<double> area(static_cast<size_t>(rows)), y(static_cast<size_t>(rows * dim)),
      scale(static_cast<size_t>(rows));
  std::vector<int> velocity_register;
  for (int64_t b = 0; b < parts; ++b) {
    SampleStates& states = *blocks[b];
    give_conditions(job, states, b * part);
    states.begin(Key(0).child("calibration"), b * part, area.data() + b * part);
    states.to_angular();
    states.download(0, y.data() + b * part * dim);
    for (int64_t i = 0; i < part; ++i) scale[b * part + i] = states.scales(i).data;
    velocity_register.push_back(states.add());
  }
  const Velocity velocity = [&](const double* at, const double* u, double* v) {
    parallel_for(parts, [&](int64_t b) {
      const SingleThreadGuard guard;
      SampleStates& states = *blocks[b];
      states.upload(0, at + b * part * dim);
      states.evaluate(0, u + b * part, velocity_register[b]);
      states.download(velocity_register[b], v + b * part * dim);
    });
  };
  return fit_multistep(velocity, rows, dim, y.data(), in_median_units(std::move(scale)).data(), steps);
}

// The plan of an earlier part, or a new one; an empty one for other solvers.
std::shared_ptr<const MultistepPlan> plan_for(const SampleJob& job,
                                              std::span<const std::unique_ptr<SampleStates>> blocks) {
  return std::make_shared<const MultistepPlan>(job.fitted ? calibrate(job, blocks) : MultistepPlan());
}

}  // namespace

at::Tensor conditions_of_samples(const ConditionEncoder& encoder, const SampleOptions& o, int64_t first, int64_t n) {
  return o.condition.of_samples(encoder, first, n, Key(o.seed).child("sample").child("condition"));
}

AllRuns run_on_cpu(const SampleJob& job, const Model& model, const at::Tensor& trained) {
  const int64_t n = job.options.n, dim = job.dim, rows = model.network().evaluation_rows(),
                blocks = (n + rows - 1) / rows;
  const float* weights = trained.const_data_ptr<float>();
  AllRuns out{.blocks = {}, .plan = job.options.plan};
  if (!out.plan) {
    std::vector<std::unique_ptr<SampleStates>> states;
    for (int64_t b = 0; job.fitted && b < kCalibrationRows / kCalibrationBlock; ++b)
      states.push_back(std::make_unique<CpuStates>(model, weights, kCalibrationBlock));
    out.plan = plan_for(job, states);
  }
  out.blocks.resize(static_cast<size_t>(blocks));
  parallel_for(blocks, [&](int64_t block) {
    const SingleThreadGuard guard;
    const int64_t first = block * rows, count = std::min(rows, n - first);
    CpuStates states(model, weights, count);
    states.set_angular(job.angular);
    const SolverRun run = run_block(job, *out.plan, states, first, job.area + first);
    states.download(0, job.x + first * dim);
    out.blocks[static_cast<size_t>(block)] = {run, count};
    job.done(count);
  });
  return out;
}

AllRuns run_on_cuda(const SampleJob& job, const Model& model, const at::Tensor& weights) {
  const int64_t n = job.options.n, dim = job.dim, rows = std::min(n, job.options.device_rows);
  std::vector<std::unique_ptr<SampleStates>> block;
  block.push_back(std::make_unique<CudaStates>(model, weights, rows, job.options.precision));
  SampleStates& states = *block[0];
  AllRuns out{.blocks = {}, .plan = job.options.plan};
  if (!out.plan) out.plan = plan_for(job, block);
  states.set_angular(job.angular);
  std::vector<double> area(static_cast<size_t>(rows)), x(static_cast<size_t>(rows * dim));
  for (int64_t first = 0; first < n; first += rows) {
    const int64_t count = std::min(rows, n - first);
    const SolverRun run = run_block(job, *out.plan, states, first, area.data());
    states.download(0, x.data());
    std::copy_n(x.data(), count * dim, job.x + first * dim);
    std::copy_n(area.data(), count, job.area + first);
    out.blocks.push_back({run, count});
    job.done(count);
  }
  return out;
}

AllRuns run_by_calls(const SampleJob& job, const FlowMatcher& matcher, const NetworkCall& network) {
  const int64_t n = job.options.n, rows = std::min(n, std::max<int64_t>(1, job.options.device_rows));
  AllRuns out{.blocks = {}, .plan = job.options.plan};
  if (!out.plan) {
    std::vector<std::unique_ptr<SampleStates>> states;
    if (job.fitted)
      states.push_back(std::make_unique<CallStates>(matcher, network, job.options.device, kCalibrationRows));
    out.plan = plan_for(job, states);
  }
  for (int64_t first = 0; first < n; first += rows) {
    const int64_t count = std::min(rows, n - first);
    CallStates states(matcher, network, job.options.device, count);
    states.set_angular(job.angular);
    const SolverRun run = run_block(job, *out.plan, states, first, job.area + first);
    states.download(0, job.x + first * job.dim);
    out.blocks.push_back({run, count});
    job.done(count);
  }
  return out;
}

}  // namespace htfm
