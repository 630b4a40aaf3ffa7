// Random clocks: nondecreasing paths T on [0,1] with T_0 = 0. Given T the source is Gaussian with covariance 2 A(T) I,
// A(T) = int_0^1 T_s ds; over T it is Gaussian, alpha-stable, Student-t, ... according to the family (Theorem
// "Recovered clock marginals").
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/base/random.h"
#include "htfm/base/registry.h"
#include "htfm/clock/device.h"

namespace htfm HTFM_PUBLIC {

/// The law of a clock, as a config or a command line states it.
struct ClockSpec {
  std::string family = "deterministic";
  std::map<std::string, double> parameters;  ///< by name: alpha, nu, ...
  int grid = 200;                            ///< number of steps on [0,1]
  std::vector<double> table = {};            ///< fitted: the law of V (QuantileTable); empty for every other family
  double scale = 1;                          ///< the source is multiplied by it, so clocks and areas by its square

  /// "stable(alpha=1.7), grid 200", with ", scale 2" where it is not 1: one line for logs, and what two laws are
  /// compared by.
  std::string describe() const;
};

/// n realised clocks. All tensors are float64.
struct ClockSample {
  at::Tensor area;   ///< n: A(T), exact in law on any grid
  at::Tensor end;    ///< n: T_1
  at::Tensor paths;  ///< n x (grid + 1); undefined unless asked for
};

struct ClockRequest {
  int64_t count = 0;
  int64_t first = 0;  ///< index of the first clock of the key's stream: parts of a batch agree with the whole
  bool paths = true;  ///< whole paths, or only area and end
  at::Device device = at::kCPU;
};

/// How many independent standard normal numbers, its scores, a clock can be made of (Clock::of_scores).
struct ClockScores {
  int64_t count = 1;
  /// The first so many are levels: the clock grows with each of them, and a large clock has one that is far out. 0: the
  /// family says nothing, and a clock is another one with every change of its score.
  int64_t levels = 0;
};

/// The default path feature of a family.
enum class NaturalFeature { none, log_slope, path };

class Clock {
 public:
  explicit Clock(ClockSpec spec) : spec_(std::move(spec)) {}
  virtual ~Clock() = default;
  const ClockSpec& spec() const { return spec_; }
  int grid() const { return spec_.grid; }

  /// Draws clocks. Clock i of a key is the same whatever the count, the number of threads or the part asked for; on a
  /// CUDA device it is the same up to rounding.
  ClockSample sample(Key key, const ClockRequest& request) const;
  /// How clocks are made of scores: where samples of large clocks are wanted, scores are drawn by another law.
  virtual ClockScores scores() const { return {}; }
  /// Clocks of scores (n x scores().count, float64): where these are standard normal, of the law that sample() draws.
  ClockSample of_scores(const at::Tensor& scores, bool paths = true) const;
  virtual NaturalFeature natural_feature() const = 0;
  /// Polynomial tail exponent of the source, infinity for a light tail.
  virtual double tail_exponent() const = 0;
  /// Where T_t = t V with V ~ InvGamma(nu/2, nu/2), scale 1: nu. Otherwise 0.
  virtual double student_degrees() const { return 0; }

 protected:
  /// Fills area[n], end[n] and, when not null, paths[n x (grid+1)] with clocks first..first+n of scale 1.
  virtual void fill(Key key, int64_t first, int64_t n, double* area, double* end, double* paths) const = 0;
  /// The same from n x scores().count scores.
  virtual void fill_of_scores(int64_t n, const double* scores, double* area, double* end, double* paths) const;
  /// The law as a CUDA kernel takes it; InputError where the family has none.
  virtual DeviceClockLaw device_law() const;
  double parameter(const char* name) const { return spec_.parameters.at(name); }
  /// The grid points j / grid, j = 0..grid.
  std::vector<double> grid_times() const;

 private:
  // Memory for n clocks on a device.
  ClockSample empty_sample(int64_t n, bool paths, at::Device device) const;
  void apply_scale(ClockSample& sample) const;
  ClockSpec spec_;
};

/// One parameter of a family, with the open interval it must lie in.
struct ClockParameter {
  std::string name;
  double lower, upper;
  std::string meaning;
};

/// A family of clocks: what the registry knows of it.
struct ClockFamily {
  std::string name;
  std::string summary;
  std::vector<ClockParameter> parameters;
  std::function<std::unique_ptr<Clock>(ClockSpec)> make;
  bool from_data = false;  ///< has no law until a data set gives it one
};

/// All families: those of the library, then those that the program registered.
EntryList<ClockFamily> clock_families();
/// Makes a family known by its name wherever a config names one, its parameters as keys clock.<parameter>. InputError
/// where the name is taken. Families of the same parameter name share the key.
void register_clock(ClockFamily family);
/// The clock of a specification; InputError names the family or parameter that is wrong.
std::unique_ptr<Clock> make_clock(const ClockSpec& spec);

/// Source points given areas: x_i = sqrt(2 A_i) z_i with z normal; n x dim float64. Row i depends on the key and first
/// + i only. Drawn on the areas' device.
at::Tensor sample_source(Key key, const at::Tensor& area, int64_t dim, int64_t first = 0);

}  // namespace htfm
