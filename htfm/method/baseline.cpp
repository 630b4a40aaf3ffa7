#include "htfm/method/baseline.h"

#include <ATen/ops/empty.h>

#include <array>

#include "htfm/base/registry.h"
#include "htfm/clock/check_clock.h"

namespace htfm {

namespace {

struct NamedLoss {
  std::string name;
  LossKind kind;
};
const std::vector<NamedLoss>& losses() {
  static const std::vector<NamedLoss> list{{"squared", LossKind::squared},
                                           {"root", LossKind::root},
                                           {"smooth-l1", LossKind::smooth_l1},
                                           {"median", LossKind::median}};
  return list;
}

LossSpec loss_of(const MethodOptions& o, LossKind own) {
  const LossKind kind = o.loss == "auto" ? own : find_named(losses(), o.loss, "baseline.loss").kind;
  return kind == LossKind::median ? LossSpec{kind, o.outer, o.inner} : LossSpec{kind};
}

// Each row `times` times, one after the other.
at::Tensor repeated(const at::Tensor& rows, int64_t times) {
  return times == 1 ? rows : rows.repeat_interleave(times, 0);
}

}  // namespace

ClockSpec stable_noise(const ClockSpec& clock, const std::string& method) {
  if (clock.family != "stable" && clock.family != "deterministic")
    throw InputError("[clock.family] expected stable, or deterministic (alpha = 2), for method = {}; got {}", method,
                     clock.family);
  check_clock(clock);
  const double alpha = stable_index(clock);
  if (!(alpha > 1))
    throw InputError("[clock.alpha] expected more than 1 for method = {}: below, its noise has no mean; got {}", method,
                     alpha);
  ClockSpec noise = clock;
  noise.grid = 1;
  noise.scale = clock.scale * std::pow(2, 1 / alpha);
  return noise;
}

double stable_index(const ClockSpec& clock) { return clock.family == "stable" ? clock.parameters.at("alpha") : 2; }

ClockSpec student_noise(const ClockSpec& clock, const std::string& method) {
  if (clock.family != "inverse-gamma")
    throw InputError("[clock.family] expected inverse-gamma for method = {}, got {}", method, clock.family);
  check_clock(clock);
  if (const double nu = clock.parameters.at("nu"); !(nu > 2))
    throw InputError(
        "[clock.nu] expected more than 2 for method = {}: below, its noise has no variance and its squared loss no "
        "mean; got {}",
        method, nu);
  ClockSpec noise = clock;
  noise.grid = 1;
  return noise;
}

void walk_levels(States& states, std::span<const double> levels, bool heun,
                 const std::function<void(int x, double level, int k)>& slope) {
  const int k1 = states.add(), k2 = states.add(), y = states.add();
  for (size_t i = 0; i + 1 < levels.size(); ++i) {
    const double h = levels[i + 1] - levels[i];
    slope(0, levels[i], k1);
    if (i + 2 == levels.size() || !heun) {
      states.combine(0, std::array{States::Term{0}, States::Term{k1, h}});
      continue;
    }
    states.combine(y, std::array{States::Term{0}, States::Term{k1, h}});
    slope(y, levels[i + 1], k2);
    states.combine(0, std::array{States::Term{0}, States::Term{k1, h / 2}, States::Term{k2, h / 2}});
  }
}

Baseline::Baseline(const ClockSpec& noise, const MethodOptions& options, DataScale data_scale, LossKind own_loss)
    : Method(noise, {.kind = "none"}, std::move(data_scale)), options_(options), loss_(loss_of(options, own_loss)) {}

std::string Baseline::describe() const {
  const auto named =
      std::find_if(losses().begin(), losses().end(), [&](const NamedLoss& l) { return l.kind == loss_.kind; });
  std::string out = "loss " + named->name;
  if (loss_.kind == LossKind::median) out += fmt::format(" of {} means of {}", loss_.outer, loss_.inner);
  if (options_.clamp_a > 0) out += fmt::format(", A clamped at {}", options_.clamp_a);
  if (options_.clamp_eps > 0) out += fmt::format(", noise clamped at {}", options_.clamp_eps);
  return out;
}

PairPlan Baseline::plan_unconditional(Key key, const DataBatch& data, RunningStandardiser&) const {
  const int64_t each = loss_.outer * loss_.inner, n = data.rows.size(0) * each;
  PairPlan out;
  out.data = repeated(data.rows, each);
  out.noise = key.child("source");
  const std::vector<double> variance = mixing(key, 0, n / loss_.inner);
  out.source.area = at::empty({n}, at::kDouble);
  double* area = out.source.area.mutable_data_ptr<double>();
  for (int64_t i = 0; i < n; ++i) area[i] = variance[i / loss_.inner] / 2;
  if (options_.clamp_eps > 0) out.bound = options_.clamp_eps;
  out.rows.reserve(static_cast<size_t>(n));
  const Key time = key.child("time");
  for (int64_t i = 0; i < n; ++i)
    out.rows.push_back(i % each == 0 ? row(time.uniform(static_cast<uint64_t>(i / each))) : out.rows.back());
  return out;
}

std::vector<double> Baseline::mixing(Key key, int64_t first, int64_t rows) const {
  const at::Tensor area = clock().sample(key.child("clock"), {.count = rows, .first = first, .paths = false}).area;
  const double* a = area.const_data_ptr<double>();
  std::vector<double> out(a, a + rows);
  for (double& v : out) v = options_.clamp_a > 0 ? std::min(2 * v, options_.clamp_a) : 2 * v;
  return out;
}

void Baseline::draw_noise(States& states, int out, Key key, int64_t first, double* area) const {
  std::vector<double> factor = mixing(key, first, states.rows());
  for (size_t r = 0; r < factor.size(); ++r) {
    if (area) area[r] = factor[r] / 2;
    factor[r] = std::sqrt(factor[r]);
  }
  states.noise(out, key.child("source"), first);
  states.combine(out, std::array{States::Term{out, 1, factor.data()}});
  if (options_.clamp_eps > 0) states.clamp(out, options_.clamp_eps);
}

}  // namespace htfm
