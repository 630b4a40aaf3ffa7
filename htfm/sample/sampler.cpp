#include "htfm/sample/sampler.h"

#include <ATen/ops/empty.h>

#include <chrono>
#include <mutex>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/sample/block.h"
#include "htfm/sample/fitted.h"

namespace htfm {

namespace {

constexpr int64_t kCalibrationRows = 512, kCalibrationBlock = 128;  // trajectories that the fitted solver is fitted to

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
  // In units of the median scale: the body of the data is of order one.
  std::vector<double> sorted = scale;
  std::nth_element(sorted.begin(), sorted.begin() + rows / 2, sorted.end());
  for (double& s : scale) s /= sorted[static_cast<size_t>(rows / 2)];
  const Velocity velocity = [&](const double* at, const double* u, double* v) {
    parallel_for(parts, [&](int64_t b) { blocks[b]->angular_velocity(at + b * part * dim, u + b * part, v + b * part * dim); });
  };
  return fit_multistep(velocity, rows, dim, y.data(), scale.data(), steps);
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
  o.solver = c.sample.solver == "fitted" && !c.precondition ? "ab2" : c.sample.solver;
  o.solve.nfe = c.sample.nfe;
  o.solve.time_power = c.sample.time_power;
  o.solve.rtol = c.sample.rtol;
  o.solve.atol = c.sample.atol;
  o.time_grid = time_grid_by_name(c.sample.time_grid);
  return o;
}

SampleResult sample(const Model& model, const SampleOptions& options) {
  const SolverInfo& solver = find_solver(options.solver);
  if (options.n < 1) throw InputError("[sample] expected at least one sample, got {}", options.n);
  if (options.solve.nfe < solver.least_nfe)
    throw InputError("[sample.nfe] expected at least {} evaluations for {}, got {}", solver.least_nfe, solver.name, options.solve.nfe);
  const auto started = std::chrono::steady_clock::now();
  const int64_t n = options.n, dim = model.dim(), rows = model.network().evaluation_rows(), blocks = (n + rows - 1) / rows;
  const float* weights = (options.averaged ? model.weights() : model.state.parameters).const_data_ptr<float>();
  const Key key = Key(options.seed).child("sample");
  const FlowMatching& flow = model.flow();
  const bool fitted = options.solver == "fitted";
  if (fitted && !flow.angular()) throw InputError("[sample.solver] expected precondition.enabled = true for the solver fitted, got false");

  SampleResult result;
  at::Tensor states = at::empty({n, dim}, at::kDouble);
  result.area = at::empty({n}, at::kDouble);
  double* x = states.mutable_data_ptr<double>();
  double* area = result.area.mutable_data_ptr<double>();
  std::vector<SolverRun> runs(static_cast<size_t>(blocks));
  std::mutex report_mutex;
  int64_t done = 0;

  MultistepPlan plan;
  if (fitted) {
    plan = calibrate(model, weights, options.solve.nfe);
    result.plan_error = plan.error, result.plain_error = plan.plain_error;
  }
  parallel_for(blocks, [&](int64_t block) {
    const int64_t first = block * rows, count = std::min(rows, n - first);
    double* state = x + first * dim;
    Block own(model, weights, key, first, count, area + first, state);
    SolverRun& run = runs[static_cast<size_t>(block)];
    if (fitted || (options.time_grid == TimeGrid::angle && flow.angular())) {
      const Velocity angular = [&](const double* y, const double* u, double* v) { own.angular_velocity(y, u, v); };
      own.to_angular(state);
      run = fitted ? run_multistep(plan, angular, count, dim, state) : solver.run(angular, count, dim, options.solve, state);
      own.from_angular(state);
    } else {
      SolverOptions solve = options.solve;
      std::vector<double> ratio(static_cast<size_t>(options.time_grid == TimeGrid::uniform ? 0 : count));
      for (size_t i = 0; i < ratio.size(); ++i)
        ratio[i] = own.scales(static_cast<int64_t>(i)).source / own.scales(static_cast<int64_t>(i)).data * flow.data_scale().typical();
      if (!ratio.empty()) solve.source_scale = ratio.data();
      run = solver.run([&](const double* at, const double* t, double* v) { own.velocity(at, t, v); }, count, dim, solve, state);
    }
    if (options.report) {
      std::lock_guard lock(report_mutex);
      options.report(done += count, n);
    }
  });

  double evaluations = 0;
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t count = std::min(rows, n - block * rows);
    evaluations += static_cast<double>(runs[block].evaluations * count);
    result.most_evaluations = std::max(result.most_evaluations, runs[block].evaluations);
    if (!runs[block].complete) result.incomplete += count;
  }
  result.evaluations = evaluations / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) {
    bool finite = true;
    for (int64_t k = 0; k < dim; ++k) finite = finite && std::isfinite(x[i * dim + k]);
    if (!finite) ++result.diverged;
  }
  result.samples = model.transform().invert(states);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return result;
}

}  // namespace htfm
