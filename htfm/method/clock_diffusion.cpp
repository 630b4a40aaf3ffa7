// Diffusion under a clock: clock-conditioned denoising score matching (eq. clock-cdsm-loss) and reverse-time samplers.
#include <ATen/ops/full.h>

#include <array>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/method/forward_dynamics.h"
#include "htfm/method/kept_row.h"
#include "htfm/method/methods.h"
#include "htfm/stat/scatter.h"

namespace htfm {

namespace {

// What the network is given and gives at one level of noise, for X_t / m_t = x_0 + sqrt(ratio) z: with tan(angle) = s /
// sqrt(ratio), s the data's scale, it sees x / norm at the time angle / (pi/2), and the denoised mean is skip x + out
// F.
struct NoiseLevel {
  NoiseLevel(double ratio, double s)
      : norm(std::sqrt(s * s + ratio)), skip(s / norm * (s / norm)), out(std::sqrt(ratio) * s / norm) {
    time = std::atan2(s, std::sqrt(ratio)) / (M_PI / 2);
  }
  double norm, skip, out, time;
};

// How a step treats what it brings back of the noise.
enum class Reverse {
  sde,    // the local score form (eq. clock-reverse-sde-thm)
  flow,   // the probability flow (eq. clock-pf-ode-thm), exact where the denoised mean does not change
  kernel  // the reverse jump kernel (eq. reverse-jump-kernel-measure)
};

class ClockDiffusion final : public Method {
 public:
  ClockDiffusion(const FlowMatchingSpec& flow, const DiffusionOptions& o, DataScale scale)
      : Method(flow.clock, flow.feature, std::move(scale)),
        options_(o),
        scale_(data_scale().typical()),
        dynamics_(o, scale_),
        lines_(clock_->natural_feature() != NaturalFeature::path),
        weights_(dynamics_.weights(lines_ ? 1 : clock_->grid())) {
    if (o.grid != "angle" && o.grid != "time")
      throw InputError("[diffusion.grid] expected angle or time, got '{}'", o.grid);
    if (flow.coupling.kind != "independent")
      throw InputError("[coupling.kind] expected independent for method = clock-diffusion, got '{}'",
                       flow.coupling.kind);
    const auto add = [this](const char* name, const char* summary, Reverse small, Reverse large) {
      samplers_.push_back(
          {name, summary, 1, [=, this](States& s, const SampleRequest& q) { return run(s, q, small, large); }});
    };
    add("mixed-flow", "probability flow, reverse jump kernels where an increment is large", Reverse::flow,
        Reverse::kernel);
    add("mixed", "reverse SDE, reverse jump kernels where an increment is large", Reverse::sde, Reverse::kernel);
    add("kernel", "reverse jump kernels for every increment", Reverse::kernel, Reverse::kernel);
    add("flow", "probability flow alone, for continuous clocks", Reverse::flow, Reverse::flow);
    add("sde", "reverse SDE alone, for continuous clocks", Reverse::sde, Reverse::sde);
  }
  std::string describe() const override {
    return fmt::format("{}, data scale {:.4g}, {} grid, threshold {}", options_.dynamics, scale_, options_.grid,
                       options_.threshold);
  }
  void fit_to_data(const TrainingData& data) override { centre_ = row_values(median_centre(data.rows)); }
  void save_state(std::map<std::string, at::Tensor>& out) const override { save_row("method.centre", centre_, out); }
  void load_state(const std::map<std::string, at::Tensor>& in, const std::string& path) override {
    centre_ = load_row("method.centre", in, path);
  }

  PairPlan plan_unconditional(Key key, const DataBatch& data, RunningStandardiser& standardiser) const override {
    const int64_t n = data.rows.size(0);
    PairPlan out;
    out.data = data.rows;
    out.noise = key.child("source");
    const ClockSample clocks = draw(key, 0, n);
    if (feature_.size() > 0) out.feature = seen(feature_(clocks), standardiser);
    // The noise is a standard normal one: its size is in the rows.
    out.source.area = at::full({n}, 0.5, at::kDouble);
    out.rows.resize(static_cast<size_t>(n));
    const Key time = key.child("time");
    parallel_for(n, [&](int64_t i) {
      const double t = time.uniform(static_cast<uint64_t>(i)), ratio = moments(clocks, i).ratio(t);
      const NoiseLevel c(ratio, scale_);
      // The target of F is (x_0 - skip x) / out: its squared error is the score's, weighed by omega_t = Q_t^2 / (m_t
      // out)^2.
      const double deviation = std::sqrt(ratio);
      out.rows[static_cast<size_t>(i)] = {c.time, 1 / c.norm, deviation / c.norm, deviation / (scale_ * c.norm),
                                          -scale_ / c.norm};
    });
    return out;
  }

  std::span<const MethodSampler> samplers() const override { return samplers_; }

 private:
  ClockSample draw(Key key, int64_t first, int64_t n) const {
    return clock_->sample(key.child("clock"), {.count = n, .first = first, .paths = !lines_ || feature_.needs_paths()});
  }
  ClockMoments moments(const ClockSample& clocks, int64_t row) const {
    if (lines_) return {dynamics_, weights_, std::array{0.0, clocks.end.const_data_ptr<double>()[row]}};
    const int64_t points = clocks.paths.size(1);
    return {dynamics_, weights_, {clocks.paths.const_data_ptr<double>() + row * points, static_cast<size_t>(points)}};
  }

  // The levels Q_t / m_t^2 that a row passes, from t = 1 to t = 0. By angle they may lie inside a jump: a Gaussian jump
  // is a sum of smaller ones, and its reverse kernel is composed of theirs.
  std::vector<double> levels(const ClockMoments& clock, int64_t steps) const {
    std::vector<double> out(static_cast<size_t>(steps) + 1);
    const double first = std::atan2(scale_, std::sqrt(clock.ratio(1)));
    for (int64_t k = 0; k < steps; ++k) {
      const double u = static_cast<double>(k) / static_cast<double>(steps),
                   tangent = std::tan(first + u * (M_PI / 2 - first));
      out[static_cast<size_t>(k)] =
          options_.grid == "time" ? clock.ratio(1 - u) : scale_ / tangent * (scale_ / tangent);
    }
    out.back() = 0;
    return out;
  }

  // One row's move from a level to the next: x + gain (denoised - x) + noise z.
  struct Move {
    double gain = 0, noise = 0;
  };
  // What is a large increment depends on where the local form goes wrong: the reverse SDE where the increment brings
  // much of the noise, the flow where it turns the angle far. `even`: the angle that each step would turn if all were
  // alike; levels by angle have no large ones.
  bool large_increment(double from, double to, Reverse local, double even) const {
    if (local != Reverse::flow) return from - to > options_.threshold * from;
    const double turn = std::atan2(scale_, std::sqrt(to)) - std::atan2(scale_, std::sqrt(from));
    return turn > options_.threshold * M_PI / 4 && turn > 2 * even;
  }
  Move move(double from, double to, Reverse small, Reverse large, double even) const {
    if (!(from > to)) return {};
    const double share = (from - to) / from;
    const Reverse how = large_increment(from, to, small, even) ? large : small;
    if (how == Reverse::flow) return {1 - std::sqrt(to / from), 0};
    if (how == Reverse::sde) return {share, std::sqrt(from - to)};
    // Given x_0 the kernel is Gaussian about the mean that the denoised mean gives; what x_0 itself varies, given x, is
    // taken as that of Gaussian data of the scale s. It matters for large jumps only, being of second order in the
    // increment.
    const double rest = scale_ * scale_ / (scale_ * scale_ + from) * from;
    return {share, std::sqrt(share * to + share * share * rest)};
  }

  SolverRun run(States& states, const SampleRequest& q, Reverse small, Reverse large) const {
    const int64_t rows = states.rows(), steps = q.nfe;
    const ClockSample clocks = draw(q.key, q.first, rows);
    std::copy_n(clocks.area.const_data_ptr<double>(), rows, q.area);
    std::vector<std::vector<double>> level;
    for (int64_t i = 0; i < rows; ++i) level.push_back(levels(moments(clocks, i), steps));
    const int output = states.add(), z = states.add(), input = states.add();
    std::vector<double> time(static_cast<size_t>(rows)), scale(time), kept(time), drawn(time), noise(time);
    // X_1 given the clock, for Gaussian data of this centre and scale: what data lie at t = 1 is nearly lost.
    for (int64_t i = 0; i < rows; ++i) scale[i] = std::sqrt(scale_ * scale_ + level[i][0]);
    states.noise(z, q.key.child("source"), q.first);
    states.fill(0, centre_);
    states.combine(0, std::array{States::Term{0}, States::Term{z, 1, scale.data()}});
    for (int64_t k = 0; k < steps; ++k) {
      for (int64_t i = 0; i < rows; ++i) {
        const double from = level[i][static_cast<size_t>(k)];
        const NoiseLevel c(from, scale_);
        const double even = std::atan2(std::sqrt(level[i][0]), scale_) / static_cast<double>(steps);
        const Move m = move(from, level[i][static_cast<size_t>(k) + 1], small, large, even);
        time[i] = c.time, scale[i] = 1 / c.norm;
        kept[i] = 1 - m.gain * (1 - c.skip), drawn[i] = m.gain * c.out, noise[i] = m.noise;
      }
      states.combine(input, std::array{States::Term{0, 1, scale.data()}});
      states.evaluate(input, time.data(), output);
      const States::Term moved[] = {{0, 1, kept.data()}, {output, 1, drawn.data()}, {z, 1, noise.data()}};
      const bool random = std::any_of(noise.begin(), noise.end(), [](double v) { return v > 0; });
      if (random) states.noise(z, q.key.child("step").child(static_cast<uint64_t>(k)), q.first);
      states.combine(0, std::span(moved, random ? 3 : 2));
    }
    return {steps, steps};
  }

  DiffusionOptions options_;
  double scale_;
  ForwardDynamics dynamics_;
  bool lines_;
  std::vector<double> weights_;  // of the clock's increments
  std::vector<double> centre_;
  std::vector<MethodSampler> samplers_;
};

}  // namespace

MethodInfo clock_diffusion_method() {
  return {"clock-diffusion", "clock-conditioned diffusion, by denoising score matching",
          [](const FlowMatchingSpec& flow, const MethodOptions& o, DataScale scale) -> std::unique_ptr<Method> {
            if (o.loss != "auto" && o.loss != "squared")
              throw InputError("[baseline.loss] expected squared for method = clock-diffusion, got '{}'", o.loss);
            if (o.clamp_a > 0 || o.clamp_eps > 0)
              throw InputError("[baseline.{}] expected 0 for method = clock-diffusion, which clamps nothing; got {}",
                               o.clamp_a > 0 ? "clamp_a" : "clamp_eps", o.clamp_a > 0 ? o.clamp_a : o.clamp_eps);
            return std::make_unique<ClockDiffusion>(flow, o.diffusion, std::move(scale));
          },
          true};
}

}  // namespace htfm
