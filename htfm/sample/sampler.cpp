#include "htfm/sample/sampler.h"

#include <ATen/ops/empty.h>

#include <chrono>
#include <mutex>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"

namespace htfm {

namespace {

// The velocity c_skip x + c_out F(c_in x, t, feature) of a block of samples. The state is double: a large clock starts a
// sample far out, and what is left of it near t = 1 must not drown in rounding.
class BlockVelocity {
 public:
  BlockVelocity(const Model& model, Evaluator& network, int64_t rows, const double* area)
      : flow_(model.flow()),
        network_(network),
        rows_(rows),
        dim_(model.dim()),
        scales_(static_cast<size_t>(rows)),
        scaling_(static_cast<size_t>(rows)),
        time_(static_cast<size_t>(rows)),
        input_(static_cast<size_t>(rows * dim_)),
        output_(input_) {
    for (int64_t i = 0; i < rows; ++i) scales_[i] = flow_.scales(area[i]);
  }

  void operator()(const double* x, const double* t, double* v) {
    bool one_time = true;
    for (int64_t i = 0; i < rows_; ++i) {
      scaling_[i] = flow_.scaling(t[i], scales_[i]);
      time_[i] = static_cast<float>(t[i]);
      one_time = one_time && t[i] == t[0];
      for (int64_t k = i * dim_; k < (i + 1) * dim_; ++k) input_[k] = static_cast<float>(scaling_[i].in * x[k]);
    }
    if (one_time)
      network_(input_.data(), t[0], output_.data());
    else
      network_(input_.data(), time_.data(), output_.data());
    for (int64_t i = 0; i < rows_; ++i)
      for (int64_t k = i * dim_; k < (i + 1) * dim_; ++k)
        v[k] = scaling_[i].skip * x[k] + scaling_[i].out * static_cast<double>(output_[k]);
  }

 private:
  const FlowMatching& flow_;
  Evaluator& network_;
  int64_t rows_, dim_;
  std::vector<FlowMatching::Scales> scales_;
  std::vector<Scaling> scaling_;
  std::vector<float> time_, input_, output_;
};

}  // namespace

SampleOptions sample_options(const RunConfig& c) {
  SampleOptions o;
  o.n = c.sample.n;
  o.seed = static_cast<uint64_t>(c.seed);
  o.solver = c.sample.solver;
  o.solve.nfe = c.sample.nfe;
  o.solve.time_power = c.sample.time_power;
  o.solve.rtol = c.sample.rtol;
  o.solve.atol = c.sample.atol;
  o.clock_grid = c.sample.time_grid == "clock";
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

  SampleResult result;
  at::Tensor states = at::empty({n, dim}, at::kDouble);
  result.area = at::empty({n}, at::kDouble);
  double* x = states.mutable_data_ptr<double>();
  double* area = result.area.mutable_data_ptr<double>();
  std::vector<SolverRun> runs(static_cast<size_t>(blocks));
  std::mutex report_mutex;
  int64_t done = 0;

  parallel_for(blocks, [&](int64_t block) {
    const int64_t first = block * rows, count = std::min(rows, n - first);
    const ClockSample clocks =
        flow.clock().sample(key.child("clock"), {.count = count, .first = first, .paths = flow.feature().needs_paths()});
    const at::Tensor source = sample_source(key.child("source"), clocks.area, dim, first);
    std::copy_n(clocks.area.const_data_ptr<double>(), count, area + first);
    std::copy_n(source.const_data_ptr<double>(), count * dim, x + first * dim);
    at::Tensor feature;
    if (flow.feature().size() > 0) feature = model.standardiser.apply(flow.feature()(clocks));
    const auto network = model.network().evaluator(weights, count, feature.defined() ? feature.const_data_ptr<float>() : nullptr);
    BlockVelocity velocity(model, *network, count, area + first);
    SolverOptions solve = options.solve;
    std::vector<double> source_scale(static_cast<size_t>(options.clock_grid ? count : 0));
    if (options.clock_grid) {
      for (int64_t i = 0; i < count; ++i) {
        const FlowMatching::Scales s = flow.scales(area[first + i]);
        source_scale[i] = s.source / s.data;
      }
      solve.source_scale = source_scale.data();
    }
    runs[static_cast<size_t>(block)] =
        solver.run([&](const double* at, const double* t, double* v) { velocity(at, t, v); }, count, dim, solve, x + first * dim);
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
