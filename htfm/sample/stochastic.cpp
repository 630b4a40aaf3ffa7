#include "htfm/sample/stochastic.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace htfm {

namespace {

double angle_at(int64_t i, const SolverOptions& o) {
  if (i == o.nfe) return M_PI / 2;
  const double w = grid_time(static_cast<double>(i) / static_cast<double>(o.nfe), o);
  return o.odds > 0 ? std::atan2(o.odds * w, 1 - w) : w * M_PI / 2;
}

}  // namespace

SolverRun stochastic(States& states, const SolverOptions& o) {
  const int slope = states.add(), noise = states.add();
  int data = states.add(), before = states.add();
  std::vector<double> time(static_cast<size_t>(states.rows()));
  double last_fall = INFINITY;  // of log s, in the step before
  for (int64_t i = 0; i < o.nfe; ++i) {
    const double a = angle_at(i, o), b = angle_at(i + 1, o);
    std::fill(time.begin(), time.end(), a / (M_PI / 2));
    states.evaluate(0, time.data(), slope);  // d y / d (angle / (pi/2))
    const bool last = i + 1 == o.nfe;
    states.combine(last ? 0 : data,
                   std::array{States::Term{0, std::sin(a)}, States::Term{slope, std::cos(a) * 2 / M_PI}});
    if (last) break;
    const double ratio = std::tan(a) / std::tan(b), fall = -std::log(ratio),
                 kept = a < o.eta_from * M_PI / 2 ? 1 : std::pow(ratio, o.eta);
    const double extrapolated = std::isfinite(last_fall) ? fall / last_fall / 2 : 0,
                 to_data = std::sin(b) * (1 - ratio * kept);
    std::vector<States::Term> terms{{0, std::cos(b) * kept / std::cos(a)}, {data, to_data * (1 + extrapolated)}};
    if (extrapolated > 0) terms.push_back({before, -to_data * extrapolated});
    if (kept < 1) {
      states.noise(noise, o.noise.child(static_cast<uint64_t>(i)), o.first);
      terms.push_back({noise, std::cos(b) * std::sqrt(1 - kept * kept)});
    }
    states.combine(0, terms);
    std::swap(data, before);
    last_fall = fall;
  }
  return {o.nfe, o.nfe};
}

}  // namespace htfm
