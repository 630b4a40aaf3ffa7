#include "htfm/sample/sampler.h"

#include <ATen/ops/empty.h>

#include <chrono>
#include <mutex>

#include "htfm/base/error.h"
#include "htfm/base/one_thread.h"
#include "htfm/base/parallel.h"
#include "htfm/base/registry.h"
#include "htfm/sample/block.h"
#include "htfm/sample/device_states.h"
#include "htfm/sample/fitted.h"

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

// The plan of the fitted solver for a model: the same for every seed.
MultistepPlan calibrate(const Model& model, const float* weights, int64_t steps) {
  const int64_t rows = kCalibrationRows, dim = model.dim(), part = kCalibrationBlock, parts = rows / part;
  std::vector<double> area(static_cast<size_t>(rows)), y(static_cast<size_t>(rows * dim)), scale(static_cast<size_t>(rows));
  std::vector<std::unique_ptr<Block>> blocks;
  for (int64_t b = 0; b < parts; ++b) {
    double* own = y.data() + b * part * dim;
    blocks.push_back(std::make_unique<Block>(model, weights, Key(0).child("calibration"), b * part, part, area.data() + b * part, own));
    blocks.back()->to_angular(own);
    for (int64_t i = 0; i < part; ++i) scale[b * part + i] = blocks.back()->scales(i).data;
  }
  scale = in_median_units(std::move(scale));
  const Velocity velocity = [&](const double* at, const double* u, double* v) {
    parallel_for(parts, [&](int64_t b) {
      const OneThread alone;
      blocks[b]->angular_velocity(at + b * part * dim, u + b * part, v + b * part * dim);
    });
  };
  return fit_multistep(velocity, rows, dim, y.data(), scale.data(), steps);
}

// The ratio of source to data scale, in units of a clock in the middle: what the grid by clock goes by.
double grid_ratio(const FlowMatching& flow, const FlowMatching::Scales& s) { return s.source / s.data * flow.data_scale().typical(); }

// What the network is told of the clocks that a method's own sampler draws for these rows: the same key gives the same ones.
at::Tensor own_feature(const Model& model, Key key, int64_t first, int64_t rows) {
  const PathFeature& feature = model.method().feature();
  if (feature.size() == 0) return {};
  const ClockSample clocks =
      model.method().clock().sample(key.child("clock"), {.count = rows, .first = first, .paths = feature.needs_paths()});
  return feature.standardised(feature(clocks), model.standardiser);
}

// What all blocks of a call share.
struct Job {
  const Model& model;
  const SampleOptions& options;
  const SolverInfo* solver;  // of the flow, or
  const MethodSampler* own;  // the method's
  const at::Tensor& weights;
  Key key;
  bool fitted, angular;
  double *x, *area;  // all samples
  std::function<void(int64_t count)> done;
};

// In angular coordinates a grid is the same for all clocks.
SolverOptions angular_options(const Job& job, int64_t first) {
  SolverOptions out = job.options.solve;
  if (job.options.time_grid == TimeGrid::clock) out.odds = job.model.data_scale().typical();
  out.noise = job.key.child("noise"), out.first = job.options.first + first;
  return out;
}

struct BlockRun {
  SolverRun run;
  int64_t rows = 0;
};

std::vector<BlockRun> run_on_host(const Job& job, const MultistepPlan& plan) {
  const Model& model = job.model;
  const int64_t n = job.options.n, dim = model.dim(), rows = model.network().evaluation_rows(), blocks = (n + rows - 1) / rows;
  std::vector<BlockRun> runs(static_cast<size_t>(blocks));
  parallel_for(blocks, [&](int64_t block) {
    const OneThread alone;  // blocks are what is shared out
    const int64_t first = block * rows, count = std::min(rows, n - first);
    double* state = job.x + first * dim;
    if (job.own) {
      const at::Tensor feature = own_feature(model, job.key, job.options.first + first, count);
      NetworkRows network(model, job.weights.const_data_ptr<float>(), count, feature.defined() ? feature.const_data_ptr<float>() : nullptr);
      const Velocity bare = std::ref(network);
      HostStates states(bare, count, dim, state);
      runs[static_cast<size_t>(block)] = {
          job.own->run(states, {job.key, job.options.first + first, job.options.solve.nfe, job.area + first}), count};
      job.done(count);
      return;
    }
    Block own(model, job.weights.const_data_ptr<float>(), job.key, job.options.first + first, count, job.area + first, state);
    SolverRun run;
    if (job.angular) {
      const Velocity angular = [&](const double* y, const double* u, double* v) { own.angular_velocity(y, u, v); };
      own.to_angular(state);
      run = job.fitted ? run_multistep(plan, angular, count, dim, state)
                       : job.solver->run(angular, count, dim, angular_options(job, first), state);
      own.from_angular(state);
    } else {
      SolverOptions solve = job.options.solve;
      std::vector<double> ratio;
      for (int64_t i = 0; i < count && job.options.time_grid != TimeGrid::uniform; ++i)
        ratio.push_back(grid_ratio(model.flow(), own.scales(i)));
      if (!ratio.empty()) solve.source_scale = ratio.data();
      run = job.solver->run([&](const double* at, const double* t, double* v) { own.velocity(at, t, v); }, count, dim, solve, state);
    }
    runs[static_cast<size_t>(block)] = {run, count};
    job.done(count);
  });
  return runs;
}

// The plan is fitted to the block's rows of another key.
MultistepPlan calibrate_on_device(DeviceStates& states, int64_t dim, int64_t steps) {
  const int64_t rows = states.rows();
  std::vector<double> area(static_cast<size_t>(rows)), y(static_cast<size_t>(rows * dim)), scale(static_cast<size_t>(rows)), inverse(scale);
  states.begin(Key(0).child("calibration"), 0, area.data());
  for (int64_t i = 0; i < rows; ++i) inverse[i] = 1 / states.scales(i).source, scale[i] = states.scales(i).data;
  states.scale(inverse);
  states.download(0, y.data());
  const int v = states.add();
  return fit_multistep(
      [&](const double* at, const double* u, double* out) {
        states.upload(0, at);
        states.evaluate(0, u, v);
        states.download(v, out);
      },
      rows, dim, y.data(), in_median_units(std::move(scale)).data(), steps);
}

std::vector<BlockRun> run_on_device(const Job& job, MultistepPlan& plan) {
  const int64_t n = job.options.n, dim = job.model.dim(), rows = std::min(n, job.options.device_rows);
  DeviceStates states(job.model, job.weights, rows, job.options.precision);
  states.set_angular(job.angular);
  if (job.fitted) plan = calibrate_on_device(states, dim, job.options.solve.nfe);
  std::vector<BlockRun> runs;
  std::vector<double> area(static_cast<size_t>(rows)), x(static_cast<size_t>(rows * dim)), factor(area), ratio(area);
  for (int64_t first = 0; first < n; first += rows) {
    const int64_t count = std::min(rows, n - first);  // the rest of the last block is not looked at
    const auto finish = [&](const SolverRun& run) {
      states.download(0, x.data());
      std::copy_n(x.data(), count * dim, job.x + first * dim);
      std::copy_n(area.data(), count, job.area + first);
      runs.push_back({run, count});
      job.done(count);
    };
    if (job.own) {
      states.begin_bare(own_feature(job.model, job.key, job.options.first + first, rows));
      finish(job.own->run(states, {job.key, job.options.first + first, job.options.solve.nfe, area.data()}));
      continue;
    }
    states.begin(job.key, job.options.first + first, area.data());
    SolverOptions solve = job.options.solve;
    if (job.angular) {
      for (int64_t i = 0; i < rows; ++i) factor[i] = 1 / states.scales(i).source;
      states.scale(factor);
      solve = angular_options(job, first);
    } else if (job.options.time_grid != TimeGrid::uniform) {
      for (int64_t i = 0; i < rows; ++i) ratio[i] = grid_ratio(job.model.flow(), states.scales(i));
      solve.source_scale = ratio.data();
    }
    const SolverRun run = job.fitted ? run_multistep(plan, states) : job.solver->solve(states, solve);
    if (job.angular) {
      for (int64_t i = 0; i < rows; ++i) factor[i] = states.scales(i).data;
      states.scale(factor);
    }
    finish(run);
  }
  return runs;
}

}  // namespace

TimeGrid time_grid_by_name(const std::string& name) {
  if (name == "angle") return TimeGrid::angle;
  if (name == "clock") return TimeGrid::clock;
  if (name == "uniform") return TimeGrid::uniform;
  throw InputError("[sample.time_grid] expected angle, clock or uniform; got '{}'", name);
}

SampleOptions sample_options(const RunConfig& c) {
  SampleOptions o;
  o.n = c.sample.n;
  o.seed = static_cast<uint64_t>(c.seed);
  const bool images = c.net.kind != "mlp";  // thousands of evaluations to fit a solver are too many there
  o.solver = c.sample.solver;
  if (o.solver == "auto") o.solver = c.precondition && !images ? "fitted" : "ab2";
  if (c.method != "htfm")
    o.solver =
        c.method_options.sampler != "auto" ? c.method_options.sampler : c.make_method(c.provisional_clock())->samplers().front().name;
  o.precision = c.train.precision;
  o.solve.nfe = c.sample.nfe;
  o.solve.time_power = c.sample.time_power;
  o.solve.rtol = c.sample.rtol;
  o.solve.atol = c.sample.atol;
  o.solve.eta = c.sample.eta;
  o.solve.eta_from = c.sample.eta_from;
  o.time_grid = time_grid_by_name(c.sample.time_grid != "auto" ? c.sample.time_grid : images ? "clock" : "angle");
  return o;
}

SampleResult sample(const Model& model, const SampleOptions& options) {
  const std::span<const MethodSampler> samplers = model.method().samplers();
  const MethodSampler* own = samplers.empty() ? nullptr : &find_named(samplers, options.solver, "sample.solver");
  const SolverInfo* solver = own ? nullptr : &find_solver(options.solver);
  if (options.n < 1) throw InputError("[sample] expected at least one sample, got {}", options.n);
  if (const int64_t least = own ? own->least_nfe : solver->least_nfe; options.solve.nfe < least)
    throw InputError("[sample.nfe] expected at least {} evaluations for {}, got {}", least, options.solver, options.solve.nfe);
  const auto started = std::chrono::steady_clock::now();
  const int64_t n = options.n, dim = model.dim();
  if (model.config().path.learn && !options.averaged)
    throw InputError("[--weights] expected ema, since only the averaged curves of the schedule are used in sampling (path.learn); got raw");
  const at::Tensor& weights = options.averaged ? model.weights() : model.state.parameters;
  const bool fitted = options.solver == "fitted", preconditioned = !own && model.flow().angular(), only_angular = solver && solver->angular;
  if (only_angular && !preconditioned)
    throw InputError("[sample.solver] expected precondition.enabled = true for the solver {}, got false", options.solver);
  if (solver && solver->draws_noise && !model.flow().noise_is_free())
    throw InputError(
        "[sample.solver] expected coupling.kind = independent or clock and an isotropic source for the solver {}, which draws noise "
        "anew; got others",
        options.solver);

  SampleResult result;
  at::Tensor states = at::empty({n, dim}, at::kDouble);
  result.area = at::empty({n}, at::kDouble);
  double* x = states.mutable_data_ptr<double>();
  std::mutex report_mutex;
  int64_t finished = 0;
  const Job job{model,
                options,
                solver,
                own,
                weights,
                Key(options.seed).child("sample"),
                fitted,
                only_angular || (options.time_grid == TimeGrid::angle && preconditioned),
                x,
                result.area.mutable_data_ptr<double>(),
                [&](int64_t count) {
                  if (!options.report) return;
                  std::lock_guard lock(report_mutex);
                  options.report(finished += count, n);
                }};
  MultistepPlan plan;
  if (fitted && options.device.is_cpu()) plan = calibrate(model, weights.const_data_ptr<float>(), options.solve.nfe);
  const std::vector<BlockRun> runs = options.device.is_cpu() ? run_on_host(job, plan) : run_on_device(job, plan);
  result.plan_error = plan.error, result.plain_error = plan.plain_error;

  double evaluations = 0;
  for (const BlockRun& b : runs) {
    evaluations += static_cast<double>(b.run.evaluations * b.rows);
    result.most_evaluations = std::max(result.most_evaluations, b.run.evaluations);
    if (!b.run.complete) result.incomplete += b.rows;
  }
  result.evaluations = evaluations / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) {
    bool finite = true;
    for (int64_t k = 0; k < dim; ++k) finite = finite && std::isfinite(x[i * dim + k]);
    if (!finite) ++result.diverged;
  }
  result.samples = model.to_data(states);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return result;
}

}  // namespace htfm
