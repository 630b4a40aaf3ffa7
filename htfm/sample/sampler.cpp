#include "htfm/sample/sampler.h"

#include <ATen/ops/empty.h>

#include <chrono>
#include <mutex>

#include "htfm/base/error.h"
#include "htfm/base/registry.h"
#include "htfm/base/seconds.h"
#include "htfm/field/block_means.h"
#include "htfm/io/dtype.h"
#include "htfm/sample/fitted.h"
#include "htfm/sample/known_samples.h"
#include "htfm/sample/sample_runs.h"

namespace htfm {

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
  o.precision = c.sample_precision();
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
  if (!fits)
    throw InputError("[sample] expected {} clocks and z as {} x {} in float64, got {} clocks and z as {}", options.n,
                     options.n, dim, g.clocks.area.size(0), tensor_text(g.z));
}

// Samples of a method in the units of its network's rows; `run` moves them all.
SampleResult draw(const Method& method, int64_t dim, const SampleOptions& options,
                  const std::function<AllRuns(const SampleJob&)>& run, const ConditionEncoder& condition = {}) {
  const std::span<const MethodSampler> samplers = method.samplers();
  const MethodSampler* own = samplers.empty() ? nullptr : &find_named(samplers, options.solver, "sample.solver");
  const SolverInfo* solver = own ? nullptr : &find_solver(options.solver);
  if (options.n < 1) throw InputError("[sample] expected at least one sample, got {}", options.n);
  if (const int64_t least = own ? own->least_nfe : solver->least_nfe; options.solve.nfe < least)
    throw InputError("[sample.nfe] expected at least {} evaluations for {}, got {}", least, options.solver,
                     options.solve.nfe);
  check_solver_options(options.solve);
  if (options.first < 0) throw InputError("[sample] expected a first sample of at least 0, got {}", options.first);
  const int64_t n = options.n;
  const bool fitted = options.solver == "fitted", preconditioned = !own && method.flow()->angular(),
             only_angular = solver && solver->angular;
  if (options.given) check_given(options, method, dim, own);
  if (only_angular && !preconditioned)
    throw InputError("[sample.solver] expected precondition.enabled = true for the solver {}, got false",
                     options.solver);
  if (solver && solver->draws_noise && !method.flow()->noise_is_free())
    throw InputError(
        "[sample.solver] expected a solver that follows the flow (ab2, heun, ...), got {}, which draws noise anew: "
        "that "
        "needs coupling.kind = independent or clock, source.covariance = identity and no skew or shift in training",
        options.solver);

  SampleResult result;
  result.samples = at::empty({n, dim}, at::kDouble);
  result.area = at::empty({n}, at::kDouble);
  double* x = result.samples.mutable_data_ptr<double>();
  std::mutex report_mutex;
  int64_t finished = 0;
  const SampleJob job{method,
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
  if (condition.there()) result.conditions = conditions_of_samples(condition, options, options.first, n);
  for (int64_t i = 0; i < n; ++i) {
    bool finite = true;
    for (int64_t k = 0; k < dim; ++k) finite = finite && std::isfinite(x[i * dim + k]);
    if (!finite) ++result.diverged;
  }
  return result;
}

void check_condition(const Model& model, const SampleOptions& options) {
  if (!(options.guidance >= 0 && options.guidance <= 100))
    throw InputError("[sample.guidance] expected a number from 0 to 100, got {}", options.guidance);
  if (options.exact_means && !model.condition().field().there())
    throw InputError(
        "[sample.exact_means] expected a model that is given a field (condition.field), got one that is not");
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

}  // namespace

Key discrete_key(const SampleOptions& options) { return Key(options.seed).child("discrete"); }

at::Tensor sample_conditions(const Model& model, const SampleOptions& options) {
  return model.condition().there() ? conditions_of_samples(model.condition(), options, options.first, options.n)
                                   : at::Tensor();
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

// All samples by the network, whatever is known of them.
SampleResult sample_by_network(const Model& model, const SampleOptions& options) {
  const at::Tensor& weights = options.averaged ? model.weights() : model.trained.parameters;
  SampleResult result = draw(
      model.method(), model.dim(), options,
      [&](const SampleJob& job) {
        return options.device.is_cpu() ? run_on_cpu(job, model, weights) : run_on_cuda(job, model, weights);
      },
      model.condition());
  if (options.as_drawn) return result;
  result.samples = in_units_of_data(model, options, result);
  if (options.exact_means) match_given_means(model, result);
  return result;
}

}  // namespace

SampleResult sample(const Model& model, const SampleOptions& options) {
  const auto started = std::chrono::steady_clock::now();
  if (model.config().path.learn && !options.averaged)
    throw InputError(
        "[--weights] expected ema, since only the averaged curves of the schedule are used in sampling (path.learn); "
        "got raw");
  check_condition(model, options);
  const std::optional<KnownSamples> known = KnownSamples::of(model, options);
  SampleResult result =
      known ? known->completed(known->drawn() > 0 ? sample_by_network(model, known->options()) : SampleResult{})
            : sample_by_network(model, options);
  result.seconds = seconds_since(started);
  return result;
}

SampleResult sample(const FlowMatcher& matcher, const NetworkCall& network, const SampleOptions& options) {
  const auto started = std::chrono::steady_clock::now();
  if (matcher.feature_size() > 0 && matcher.standardiser().count() == 0)
    throw InputError(
        "[FlowMatcher] expected pairs to be drawn before samples, got none: the feature has no statistics yet");
  SampleResult result = draw(matcher.flow(), matcher.dim(), options,
                             [&](const SampleJob& job) { return run_by_calls(job, matcher, network); });
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
