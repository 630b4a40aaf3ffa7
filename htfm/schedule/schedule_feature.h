// The input of a clock-dependent schedule: coordinates of the raw signature of the time-augmented clock.
#pragma once

#include "htfm/base/api.h"
#include "htfm/clock/clock.h"
#include "htfm/schedule/schedule.h"

namespace htfm HTFM_PUBLIC {

class ScheduleFeature {
 public:
  /// `rising`: paths on which alpha / beta does not rise are refused too. The references must live as long as it does.
  ScheduleFeature(const Clock& clock, const Schedule& schedule, bool rising);
  /// Whether whole paths are needed; the signature of a straight line needs only its end.
  bool needs_paths() const { return depth_ > 0 && !lines_; }
  /// n x words, float64; undefined where the schedule does not look at the clock. InputError where a clock's path is
  /// not admissible, with that clock; a clock beyond the range of a double is let through.
  at::Tensor operator()(const ClockSample& clocks) const;
  /// Row i of such a tensor.
  static std::span<const double> row(const at::Tensor& coordinates, int64_t i) {
    if (!coordinates.defined()) return {};
    const auto size = static_cast<size_t>(coordinates.size(1));
    return {coordinates.const_data_ptr<double>() + i * static_cast<int64_t>(size), size};
  }
  /// coordinates of the clock T_t = t.
  const std::vector<double>& of_line() const { return of_line_; }

 private:
  void check(const at::Tensor& coordinates, const ClockSample& clocks) const;

  const Schedule& schedule_;
  bool lines_, rising_;
  int depth_ = 0;
  std::vector<int64_t> coordinate_;  // of the words in the signature
  std::vector<double> of_line_;
  std::vector<int> clock_letters_;  // of the words
};

}  // namespace htfm
