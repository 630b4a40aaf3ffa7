#include "htfm/sample/sampler.h"

#include <ATen/ops/empty.h>

#include <chrono>
#include <mutex>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/base/registry.h"
#include "htfm/base/single_thread_guard.h"
#include "htfm/field/block_means.h"
#include "htfm/sample/call_states.h"
#include "htfm/sample/cpu_states.h"
#include "htfm/sample/cuda_states.h"
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

// The ratio of source to data scale, in units of a clock in the middle: what the grid by clock goes by.
double grid_ratio(const FlowMatching& flow, const FlowMatching::Scales& s) {
  return s.source / s.data * flow.data_scale().typical();
}

// What all blocks of a call share.
struct Job {
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

// The conditions of samples, by their numbers.
at::Tensor conditions_of(const ConditionEncoder& encoder, const SampleOptions& o, int64_t first, int64_t n) {
  return o.condition.of_samples(encoder, first, n, Key(o.seed).child("sample").child("condition"));
}

// Tells a block of samples from this number on what is given.
void give_conditions(const Job& job, SampleStates& states, int64_t number) {
  if (!job.condition) return;
  const double w = job.options.guidance;
  states.give(job.condition->encode(conditions_of(*job.condition, job.options, number, states.rows())),
              w > 0 ? job.condition->absent(states.rows()) : at::Tensor(), w);
}

// In angular coordinates a grid is the same for all clocks.
SolverOptions angular_options(const Job& job, int64_t first) {
  SolverOptions out = job.options.solve;
  if (job.options.time_grid == TimeGrid::clock) out.odds = job.method.data_scale().typical();
  out.noise = job.key.child("noise"), out.first = job.options.first + first;
  return out;
}

struct BlockRun {
  SolverRun run;
  int64_t rows = 0;
};

// Rows first.. of what is given, as many as a block has: the last one is repeated where a block is longer.
SourceDraws rows_of(const SourceDraws& given, int64_t first, int64_t rows) {
  const int64_t n = given.z.size(0);
  at::Tensor index = at::empty({rows}, at::kLong);
  for (int64_t i = 0; i < rows; ++i) index.mutable_data_ptr<int64_t>()[i] = std::min(first + i, n - 1);
  const auto chosen = [&](const at::Tensor& t) { return t.defined() ? t.index_select(0, index) : t; };
  return {{chosen(given.clocks.area), chosen(given.clocks.end), chosen(given.clocks.paths)}, chosen(given.z)};
}

// Moves one block of samples from noise to data.
SolverRun run_block(const Job& job, const MultistepPlan& plan, SampleStates& states, int64_t first, double* area) {
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
MultistepPlan calibrate(const Job& job, std::span<const std::unique_ptr<SampleStates>> blocks) {
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

struct AllRuns {
  std::vector<BlockRun> blocks;
  std::shared_ptr<const MultistepPlan> plan;  // of the fitted solver
};

// The plan of an earlier part, or a new one; an empty one for other solvers.
std::shared_ptr<const MultistepPlan> plan_for(const Job& job, std::span<const std::unique_ptr<SampleStates>> blocks) {
  return std::make_shared<const MultistepPlan>(job.fitted ? calibrate(job, blocks) : MultistepPlan());
}

// Blocks of a size that suits the caches, shared out to the threads.
AllRuns run_on_cpu(const Job& job, const Model& model, const at::Tensor& trained) {
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

// Blocks of one size, one after the other, since the network's pass over them is recorded; the rest of the last block
// is not looked at.
AllRuns run_on_cuda(const Job& job, const Model& model, const at::Tensor& weights) {
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

// Blocks one after the other: the network is not ours, and may want large ones.
AllRuns run_by_calls(const Job& job, const FlowMatcher& matcher, const NetworkCall& network) {
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
  const bool images = find_named(networks(), c.net.kind, "net.kind")
                          .images;  // thousands of evaluations to fit a solver are too many there
  o.solver = c.sample.solver;
  if (o.solver == "auto") o.solver = c.precondition && !images ? "fitted" : "ab2";
  if (c.method != "htfm")
    o.solver = c.method_options.sampler != "auto" ? c.method_options.sampler
                                                  : c.make_method(c.provisional_clock())->samplers().front().name;
  o.precision = c.train.precision;
  o.solve.nfe = c.sample.nfe;
  o.solve.time_power = c.sample.time_power;
  o.solve.time_centre = c.sample.time_centre;
  o.solve.time_spread = c.sample.time_spread;
  o.solve.rtol = c.sample.rtol;
  o.solve.atol = c.sample.atol;
  o.solve.eta = c.sample.eta;
  o.solve.eta_from = c.sample.eta_from;
  o.guidance = c.sample.guidance;
  o.exact_means = c.sample.exact_means;
  o.time_grid = time_grid_by_name(c.sample.time_grid != "auto" ? c.sample.time_grid : images ? "clock" : "angle");
  return o;
}

namespace {

void check_given(const SampleOptions& options, const Method& method, int64_t dim, const MethodSampler* own) {
  if (own)
    throw InputError(
        "[sample] expected a model of flow matching where clocks and sources are given, got the sampler {}",
        options.solver);
  const SourceDraws& g = *options.given;
  const bool fits = g.z.dim() == 2 && g.z.size(0) == options.n && g.z.size(1) == dim &&
                    g.z.scalar_type() == at::kDouble && g.clocks.area.size(0) == options.n &&
                    (g.clocks.paths.defined() || !method.flow()->needs_paths());
  if (!fits) throw InputError("[sample] expected {} clocks and z as {} x {} in float64", options.n, options.n, dim);
}

// Samples of a method in the units of its network's rows; `run` moves them all.
SampleResult draw(const Method& method, int64_t dim, const SampleOptions& options,
                  const std::function<AllRuns(const Job&)>& run, const ConditionEncoder& condition = {}) {
  const std::span<const MethodSampler> samplers = method.samplers();
  const MethodSampler* own = samplers.empty() ? nullptr : &find_named(samplers, options.solver, "sample.solver");
  const SolverInfo* solver = own ? nullptr : &find_solver(options.solver);
  if (options.n < 1) throw InputError("[sample] expected at least one sample, got {}", options.n);
  if (const int64_t least = own ? own->least_nfe : solver->least_nfe; options.solve.nfe < least)
    throw InputError("[sample.nfe] expected at least {} evaluations for {}, got {}", least, options.solver,
                     options.solve.nfe);
  const int64_t n = options.n;
  const bool fitted = options.solver == "fitted", preconditioned = !own && method.flow()->angular(),
             only_angular = solver && solver->angular;
  if (options.given) check_given(options, method, dim, own);
  if (only_angular && !preconditioned)
    throw InputError("[sample.solver] expected precondition.enabled = true for the solver {}, got false",
                     options.solver);
  if (solver && solver->draws_noise && !method.flow()->noise_is_free())
    throw InputError(
        "[sample.solver] expected coupling.kind = independent or clock and an isotropic source for the solver {}, "
        "which draws noise "
        "anew; got others",
        options.solver);

  SampleResult result;
  result.samples = at::empty({n, dim}, at::kDouble);
  result.area = at::empty({n}, at::kDouble);
  double* x = result.samples.mutable_data_ptr<double>();
  std::mutex report_mutex;
  int64_t finished = 0;
  const Job job{method,
                dim,
                options,
                solver,
                own,
                Key(options.seed).child("sample"),
                fitted,
                only_angular || (options.time_grid == TimeGrid::angle && preconditioned),
                x,
                result.area.mutable_data_ptr<double>(),
                [&](int64_t count) {
                  if (!options.report) return;
                  std::lock_guard lock(report_mutex);
                  options.report(finished += count, n);
                },
                condition.there() ? &condition : nullptr};
  const AllRuns runs = run(job);
  result.plan = runs.plan, result.plan_error = runs.plan->error, result.plain_error = runs.plan->plain_error;

  double evaluations = 0;
  for (const BlockRun& b : runs.blocks) {
    evaluations += static_cast<double>(b.run.evaluations * b.rows);
    result.most_evaluations = std::max(result.most_evaluations, b.run.evaluations);
    if (!b.run.complete) result.incomplete += b.rows;
  }
  const int64_t each = condition.there() && options.guidance > 0 ? 2 : 1;  // with and without the condition
  result.evaluations = static_cast<double>(each) * evaluations / static_cast<double>(n);
  result.most_evaluations *= each;
  if (condition.there()) result.conditions = conditions_of(condition, options, options.first, n);
  for (int64_t i = 0; i < n; ++i) {
    bool finite = true;
    for (int64_t k = 0; k < dim; ++k) finite = finite && std::isfinite(x[i * dim + k]);
    if (!finite) ++result.diverged;
  }
  return result;
}

void check_condition(const Model& model, const SampleOptions& options) {
  if (options.exact_means && !model.condition().field().there())
    throw InputError("[sample.exact_means] expected a model that is given a field (condition.field), got another");
  if (model.condition().there()) {
    if (options.guidance > 0) model.condition().absent(0);  // InputError where it was never left out
    if (options.condition.each < 1)
      throw InputError("[--each] expected at least one sample a row, got {}", options.condition.each);
    return;
  }
  if (options.condition.there())
    throw InputError("[--given] expected a model that was trained with conditions, got one without");
  if (options.guidance > 0)
    throw InputError("[sample.guidance] expected a model that was trained with conditions, got one without");
}

double seconds_since(std::chrono::steady_clock::time_point started) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

}  // namespace

Key discrete_key(const SampleOptions& options) { return Key(options.seed).child("discrete"); }

at::Tensor sample_conditions(const Model& model, const SampleOptions& options) {
  return model.condition().there() ? conditions_of(model.condition(), options, options.first, options.n) : at::Tensor();
}

namespace {

constexpr int64_t kManyValues = 1 << 24;

// Samples as the data were. Very many become so in parts that take each other's place: there is no second copy of all.
at::Tensor in_units_of_data(const Model& model, const SampleOptions& options, const SampleResult& drawn) {
  const at::Tensor& samples = drawn.samples;
  const Key key = discrete_key(options);
  if (samples.numel() <= kManyValues) return model.to_data(samples, key, options.first, drawn.conditions);
  const int64_t n = samples.size(0), part = std::max<int64_t>(1, kManyValues / 16 / samples.size(1));
  at::Tensor out;
  for (int64_t first = 0; first < n; first += part) {
    const int64_t count = std::min(part, n - first);
    const at::Tensor given = drawn.conditions.defined() ? drawn.conditions.narrow(0, first, count) : at::Tensor();
    const at::Tensor made = model.to_data(samples.narrow(0, first, count), key, options.first + first, given);
    if (!out.defined()) {
      std::vector<int64_t> shape = made.sizes().vec();
      shape[0] = n;
      out = made.sizes().slice(1) == samples.sizes().slice(1) ? samples : at::empty(shape, made.options());
    }
    out.narrow(0, first, count).copy_(made);
  }
  return out;
}

// Values that cannot be negative are those of channels where dry ones are 0.
void match_given_means(const Model& model, SampleResult& drawn) {
  const ImageShape& shape = *model.image();
  const ConditionField& given = model.condition().field().field();
  std::vector<bool> positive;
  for (int64_t c = 0; c < shape.channels; ++c)
    positive.push_back(model.field() && model.field()->threshold && !model.field()->is_plain(c));
  drawn.samples = drawn.samples.contiguous();
  at::Tensor fields = drawn.samples.view({-1, shape.channels, shape.height, shape.width});
  match_block_means(fields, drawn.conditions.view({-1, given.channels, given.height, given.width}), positive);
}

}  // namespace

SampleResult sample(const Model& model, const SampleOptions& options) {
  const auto started = std::chrono::steady_clock::now();
  if (model.config().path.learn && !options.averaged)
    throw InputError(
        "[--weights] expected ema, since only the averaged curves of the schedule are used in sampling (path.learn); "
        "got raw");
  check_condition(model, options);
  const at::Tensor& weights = options.averaged ? model.weights() : model.trained.parameters;
  SampleResult result = draw(
      model.method(), model.dim(), options,
      [&](const Job& job) {
        return options.device.is_cpu() ? run_on_cpu(job, model, weights) : run_on_cuda(job, model, weights);
      },
      model.condition());
  if (!options.as_drawn) {
    result.samples = in_units_of_data(model, options, result);
    if (options.exact_means) match_given_means(model, result);
  }
  result.seconds = seconds_since(started);
  return result;
}

SampleResult sample(const FlowMatcher& matcher, const NetworkCall& network, const SampleOptions& options) {
  const auto started = std::chrono::steady_clock::now();
  if (matcher.feature_size() > 0 && matcher.standardiser().count() == 0)
    throw InputError(
        "[FlowMatcher] expected pairs to have been drawn before samples are: the feature has no statistics");
  SampleResult result =
      draw(matcher.flow(), matcher.dim(), options, [&](const Job& job) { return run_by_calls(job, matcher, network); });
  std::vector<int64_t> shape = matcher.row_shape();
  shape.insert(shape.begin(), options.n);
  result.samples = result.samples.to(options.device).reshape(shape);
  result.seconds = seconds_since(started);
  return result;
}

SampleResult PartSampler::draw(int64_t first, int64_t n) {
  SampleOptions own = options_;
  own.first += first, own.n = n;
  SampleResult result = sample(model_, own);
  options_.plan = result.plan;
  return result;
}

int64_t PartSampler::block_rows() const {
  return options_.device.is_cpu() ? model_.network().evaluation_rows() : options_.device_rows;
}

}  // namespace htfm
