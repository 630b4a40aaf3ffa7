// What the baselines share: noise with one mixing variable a sample, which the network is not told of, and independent
// of the data.
#pragma once

#include "htfm/base/api.h"
#include "htfm/method/diffusion_options.h"
#include "htfm/method/method.h"

namespace htfm HTFM_PUBLIC {

/// The keys baseline.* of a configuration.
struct MethodOptions {
  std::string loss = "auto";     ///< auto (the method's own) | squared | root | smooth-l1 | median
  std::string sampler = "auto";  ///< auto (the method's first) or one of its samplers
  int64_t steps = 100;           ///< dlpm, dlim: T of training
  double eta = 0;                ///< dlim: share of the noise that is drawn anew in each step
  double clamp_a = 0;            ///< largest mixing variable A; 0: none
  double clamp_eps = 0;          ///< largest element of the noise; 0: none
  int64_t outer = 5, inner = 2;  ///< median: mixing variables a data row, and noises for each of them
  DiffusionOptions diffusion;    ///< clock-diffusion: the keys diffusion.*
};

/// The clock whose source is the noise eps of LIM and DLPM, with E exp(i <xi, eps>) = exp(-|xi|^alpha): the stable
/// clock times 2^(1/alpha), and the deterministic one for alpha = 2. InputError where `clock` is neither of them, or
/// alpha <= 1.
ClockSpec stable_noise(const ClockSpec& clock, const std::string& method);
/// Its alpha.
double stable_index(const ClockSpec& clock);
/// The clock whose source is Student noise z / sqrt(chi2_nu / nu). InputError where `clock` is another one, or nu <= 2.
ClockSpec student_noise(const ClockSpec& clock, const std::string& method);

/// Moves register 0 from each level to the next by Heun's rule, or Euler's; the last step is always Euler's. `slope`
/// puts the derivative by the level, at register x, into register k.
void walk_levels(States& states, std::span<const double> levels, bool heun,
                 const std::function<void(int x, double level, int k)>& slope);

class Baseline : public Method {
 public:
  Baseline(const ClockSpec& noise, const MethodOptions& options, DataScale data_scale, LossKind own_loss);
  LossSpec loss() const override { return loss_; }
  std::string describe() const override;
  void fit_to_data(const TrainingData&) override {}
  PairPlan plan_unconditional(Key key, const DataBatch& data, RunningStandardiser& standardiser) const override;
  std::span<const MethodSampler> samplers() const override { return samplers_; }

  /// 2A of the clocks first.. of a key, the variances of their noise, cut at clamp_a.
  std::vector<double> mixing(Key key, int64_t first, int64_t rows) const;
  /// A register filled with noises first.. of a key; their areas where asked for.
  void draw_noise(States& states, int out, Key key, int64_t first, double* area = nullptr) const;

 protected:
  /// The plan of a row whose time was drawn by the uniform number u.
  virtual PairCoefficients row(double u) const = 0;
  const MethodOptions& options() const { return options_; }
  std::vector<MethodSampler> samplers_;

 private:
  MethodOptions options_;
  LossSpec loss_;
};

}  // namespace htfm
