#include "htfm/sample/sampler.h"

#include <ATen/ops/empty.h>

#include <chrono>
#include <mutex>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/sample/fitted.h"

namespace htfm {

namespace {

// A block of samples, each with its clock. The state is double: a large clock starts a sample far out, and what is left of
// it near t = 1 must not drown in rounding.
constexpr int64_t kCalibrationRows = 512;  // trajectories that the fitted solver is fitted to

class Block {
 public:
  Block(const FlowMatching& flow, Evaluator& network, int64_t rows, int64_t dim, const double* area)
      : flow_(flow),
        network_(network),
        rows_(rows),
        dim_(dim),
        scales_(static_cast<size_t>(rows)),
        scaling_(static_cast<size_t>(rows)),
        time_(static_cast<size_t>(rows)),
        input_(static_cast<size_t>(rows * dim)),
        output_(input_) {
    for (int64_t i = 0; i < rows; ++i) scales_[i] = flow_.scales(area[i]);
  }
  const FlowMatching::Scales& scales(int64_t row) const { return scales_[row]; }

  // c_skip x + c_out F(c_in x, t, feature).
  void velocity(const double* x, const double* t, double* v) {
    for (int64_t i = 0; i < rows_; ++i) {
      scaling_[i] = flow_.scaling(t[i], scales_[i]);
      time_[i] = static_cast<float>(t[i]);
      for (int64_t k = i * dim_; k < (i + 1) * dim_; ++k) input_[k] = static_cast<float>(scaling_[i].in * x[k]);
    }
    evaluate();
    for (int64_t i = 0; i < rows_; ++i)
      for (int64_t k = i * dim_; k < (i + 1) * dim_; ++k)
        v[k] = scaling_[i].skip * x[k] + scaling_[i].out * static_cast<double>(output_[k]);
  }

  // dy/du with the angle u pi/2.
  void angular_velocity(const double* y, const double* u, double* v) {
    for (int64_t i = 0; i < rows_; ++i) {
      const double angle = u[i] * M_PI / 2;
      time_[i] = u[i] >= 1 ? 1.0F : static_cast<float>(flow_.time_at(angle, scales_[i]));
    }
    for (int64_t k = 0; k < rows_ * dim_; ++k) input_[k] = static_cast<float>(y[k]);
    evaluate();
    for (int64_t k = 0; k < rows_ * dim_; ++k) v[k] = M_PI / 2 * static_cast<double>(output_[k]);
  }
  // x = y / c_in at an end of the path: s_0 at t = 0, s_d at t = 1.
  void to_angular(double* x) const {
    scale_rows(x, [&](int64_t i) { return 1 / scales_[i].source; });
  }
  void from_angular(double* y) const {
    scale_rows(y, [&](int64_t i) { return scales_[i].data; });
  }

 private:
  void evaluate() {
    if (std::all_of(time_.begin(), time_.end(), [&](float t) { return t == time_[0]; }))
      network_(input_.data(), static_cast<double>(time_[0]), output_.data());
    else
      network_(input_.data(), time_.data(), output_.data());
  }
  template <class Factor>
  void scale_rows(double* x, const Factor& factor) const {
    for (int64_t i = 0; i < rows_; ++i)
      for (int64_t k = i * dim_; k < (i + 1) * dim_; ++k) x[k] *= factor(i);
  }

  const FlowMatching& flow_;
  Evaluator& network_;
  int64_t rows_, dim_;
  std::vector<FlowMatching::Scales> scales_;
  std::vector<Scaling> scaling_;
  std::vector<float> time_, input_, output_;
};

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
  o.solver = c.sample.solver;
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
  const float* weights = (options.averaged ? model.state.ema : model.state.parameters).const_data_ptr<float>();
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

  // Draws clocks and sources first..first+count of a key, and hands over what moves them.
  const auto with_block = [&](Key own_key, int64_t first, int64_t count, double* own_area, double* state, const auto& solve) {
    const ClockSample clocks =
        flow.clock().sample(own_key.child("clock"), {.count = count, .first = first, .paths = flow.feature().needs_paths()});
    const at::Tensor source = sample_source(own_key.child("source"), clocks.area, dim, first);
    std::copy_n(clocks.area.const_data_ptr<double>(), count, own_area);
    std::copy_n(source.const_data_ptr<double>(), count * dim, state);
    at::Tensor feature;
    if (flow.feature().size() > 0) feature = model.standardiser.apply(flow.feature()(clocks));
    const auto network = model.network().evaluator(weights, count, feature.defined() ? feature.const_data_ptr<float>() : nullptr);
    Block own(flow, *network, count, dim, own_area);
    return solve(own);
  };

  MultistepPlan plan;
  if (fitted) {
    const int64_t count = kCalibrationRows;
    std::vector<double> own_area(static_cast<size_t>(count)), state(static_cast<size_t>(count * dim));
    plan = with_block(Key(0).child("calibration"), 0, count, own_area.data(), state.data(), [&](Block& own) {
      own.to_angular(state.data());
      std::vector<double> scale(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i) scale[i] = own.scales(i).data;
      std::vector<double> sorted = scale;
      std::nth_element(sorted.begin(), sorted.begin() + count / 2, sorted.end());
      for (double& v : scale) v /= sorted[static_cast<size_t>(count / 2)];
      return fit_multistep([&](const double* y, const double* u, double* v) { own.angular_velocity(y, u, v); }, count, dim, state.data(),
                           scale.data(), options.solve.nfe);
    });
    result.plan_error = plan.error, result.plain_error = plan.plain_error;
    if (getenv("DBG")) fprintf(stderr, "plan %g plain %g\n", plan.error, plan.plain_error);
  }

  parallel_for(blocks, [&](int64_t block) {
    const int64_t first = block * rows, count = std::min(rows, n - first);
    double* state = x + first * dim;
    runs[static_cast<size_t>(block)] = with_block(key, first, count, area + first, state, [&](Block& own) {
      const Velocity angular = [&](const double* y, const double* u, double* v) { own.angular_velocity(y, u, v); };
      if (fitted || (options.time_grid == TimeGrid::angle && flow.angular())) {
        own.to_angular(state);
        const SolverRun run =
            fitted ? run_multistep(plan, angular, count, dim, state) : solver.run(angular, count, dim, options.solve, state);
        own.from_angular(state);
        return run;
      }
      SolverOptions solve = options.solve;
      std::vector<double> source_scale(static_cast<size_t>(options.time_grid == TimeGrid::uniform ? 0 : count));
      for (size_t i = 0; i < source_scale.size(); ++i)
        source_scale[i] = own.scales(static_cast<int64_t>(i)).source / own.scales(static_cast<int64_t>(i)).data;
      if (!source_scale.empty()) solve.source_scale = source_scale.data();
      return solver.run([&](const double* at, const double* t, double* v) { own.velocity(at, t, v); }, count, dim, solve, state);
    });
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
  result.samples = model.normaliser().invert(states);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return result;
}

}  // namespace htfm
