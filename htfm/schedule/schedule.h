// Schedules alpha, beta of the affine path X_t = alpha_t X_1 + beta_t X_0 (eq. affine-family), with alpha_0 = beta_1 =
// 0 and alpha_1 = beta_0 = 1.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/base/part_options.h"
#include "htfm/base/registry.h"
#include "htfm/schedule/scaling.h"

namespace htfm HTFM_PUBLIC {

class LearnedSchedule;

class Schedule {
 public:
  virtual ~Schedule() = default;
  /// At time t in [0,1] for the clock with feature coordinates; schedules that do not look at the clock take an empty
  /// span.
  virtual Coefficients at(double t, std::span<const double> coordinates = {}) const = 0;
  /// The time at which alpha / beta has this value in [0, infinity], where that ratio rises. As it stands: by Newton's
  /// method.
  virtual double time_of(double ratio, std::span<const double> coordinates = {}) const;

  /// The coordinates that coordinates holds: words of the letters t (time) and c (clock) of the signature. None: it
  /// does not look at the clock.
  virtual const std::vector<std::string>& words() const;
  bool depends_on_clock() const { return !words().empty(); }
  /// Whether the signature is that of the normalised clock T / T_1.
  virtual bool normalised() const { return true; }
  /// Why this clock's path is not admissible, "beta_t > 0, got -0.1 at t = 0.5"; empty where it is. `rising`: alpha /
  /// beta must rise too.
  virtual std::string violation(std::span<const double> coordinates, bool rising) const;
  /// Itself, where its curves are learned; null otherwise.
  virtual LearnedSchedule* learned() { return nullptr; }
};

/// A schedule by its name in a config, with its parameters.
struct ScheduleSpec {
  std::string name = "straight";
  double gamma = 2;                                ///< polynomial: sigma = (1-t)^gamma
  double ratio = 50;                               ///< ve: ratio of the largest to the smallest noise level
  double lambda_alpha = 0.25, lambda_beta = 0.25;  ///< ve-signature: how far the clock's shape bends alpha and beta
  std::string lambda = "0 1";  ///< near-linear, time-warp: lambda_t, coefficients from the constant up
  std::string a = {}, b = {},
              c = {};  ///< coefficient curves (parse_curve); empty: those that give ve-signature with 1/4
  std::string coordinates = "normalised";  ///< of what clock: normalised (T / T_1) | raw
  bool learn = false;                ///< near-linear, time-warp: the curves train with the network (LearnedSchedule)
  std::string learn_words = "1 ct";  ///< their words
  int64_t learn_degree = 4;          ///< of alpha and beta in t
  PartOptions options = {};          ///< of a registered schedule
};

struct ScheduleInfo {
  std::string name, summary;
  std::function<std::unique_ptr<Schedule>(const ScheduleSpec&)> make;
  std::vector<PartOption> options = {};  ///< keys path.<name>.<option>
};
/// All schedules: those of the library, then those that the program registered.
EntryList<ScheduleInfo> schedules();
/// Makes a schedule known by its name wherever a config names one. InputError where the name is taken.
void register_schedule(ScheduleInfo schedule);
std::unique_ptr<Schedule> make_schedule(const ScheduleSpec& spec);

}  // namespace htfm
