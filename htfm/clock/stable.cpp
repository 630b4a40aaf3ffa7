// The rho-stable subordinator, rho = alpha/2, with E exp(-s T_t) = exp(-(rho+1) t s^rho / 2): the isotropic alpha-stable
// source (HTFM-alpha).
#include "htfm/clock/clock.h"

namespace htfm {

namespace {

class Stable final : public Clock {
 public:
  explicit Stable(ClockSpec spec) : Clock(std::move(spec)), rho_(parameter("alpha") / 2) {
    const int steps = grid();
    const double h = 1.0 / steps;
    increment_scale_ = std::pow((rho_ + 1) * h / 2, 1 / rho_);
    // A = c sum_i w_i dT_i with w_i the weights of the piecewise-linear path; c makes the law of A exact on this grid.
    weight_.resize(static_cast<size_t>(steps));
    double sum = 0;
    for (int i = 0; i < steps; ++i) {
      weight_[static_cast<size_t>(i)] = 1 - (i + 0.5) * h;
      sum += h * std::pow(weight_[static_cast<size_t>(i)], rho_);
    }
    const double c = std::pow((rho_ + 1) * sum, -1 / rho_);
    for (double& w : weight_) w *= c;
  }
  NaturalFeature natural_feature() const override { return NaturalFeature::path; }
  double tail_exponent() const override { return parameter("alpha"); }

 protected:
  void fill(Key key, int64_t first, int64_t n, double* area, double* end, double* paths) const override {
    const int64_t steps = grid();
    std::vector<double> increments(static_cast<size_t>(steps));
    for (int64_t i = 0; i < n; ++i) {
      fill_positive_stable(key, rho_, increment_scale_, static_cast<uint64_t>((first + i) * steps), steps, increments.data());
      double t = 0, a = 0;
      double* path = paths ? paths + i * (steps + 1) : nullptr;
      if (path) path[0] = 0;
      for (int64_t j = 0; j < steps; ++j) {
        const double step = increments[static_cast<size_t>(j)];
        t += step;
        a += weight_[static_cast<size_t>(j)] * step;
        if (path) path[j + 1] = t;
      }
      end[i] = t;
      area[i] = a;
    }
  }

 private:
  double rho_, increment_scale_ = 0;
  std::vector<double> weight_;
};

}  // namespace

ClockFamily stable_family() {
  return {"stable",
          "alpha/2-stable subordinator; isotropic alpha-stable source (HTFM-alpha)",
          {{"alpha", 0, 2, "stability index"}},
          [](ClockSpec spec) { return std::make_unique<Stable>(std::move(spec)); }};
}

}  // namespace htfm
