#include "htfm/schedule/schedule_feature.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/signature/signature.h"

namespace htfm {

ScheduleFeature::ScheduleFeature(const Clock& clock, const Schedule& schedule, bool rising)
    : schedule_(schedule), lines_(clock.natural_feature() != NaturalFeature::path), rising_(rising) {
  for (const std::string& word : schedule.words()) {
    depth_ = std::max(depth_, static_cast<int>(word.size()));
    // Levels stand one after the other, words in alphabetical order, time before the clock.
    int64_t place = 0, factorial = 1;
    for (size_t k = 0; k < word.size(); ++k)
      place = 2 * place + (word[k] == 'c'), factorial *= static_cast<int64_t>(k) + 1;
    coordinate_.push_back((int64_t{1} << word.size()) - 2 + place);
    clock_letters_.push_back(static_cast<int>(std::count(word.begin(), word.end(), 'c')));
    of_line_.push_back(1 / static_cast<double>(factorial));
  }
  if (depth_ > 0) return;
  if (const std::string problem = schedule.violation({}, rising); !problem.empty())
    throw InputError("[path.schedule] expected {} for every clock", problem);
}

at::Tensor ScheduleFeature::operator()(const ClockSample& clocks) const {
  if (depth_ == 0) return {};
  const int64_t n = clocks.end.size(0), size = static_cast<int64_t>(coordinate_.size());
  at::Tensor coordinates = at::empty({n, size}, at::kDouble);
  double* to = coordinates.mutable_data_ptr<double>();
  const double* end = clocks.end.const_data_ptr<double>();
  if (lines_) {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = 0; k < size; ++k)
        to[i * size + k] = schedule_.normalised() ? of_line_[k] : of_line_[k] * std::pow(end[i], clock_letters_[k]);
  } else {
    if (!clocks.paths.defined()) throw Error("[path.schedule] expected clocks with their paths");
    at::Tensor paths = clocks.paths;
    if (schedule_.normalised()) {
      paths = paths.clone();
      const int64_t points = paths.size(1);
      double* p = paths.mutable_data_ptr<double>();
      for (int64_t i = 0; i < n; ++i) {
        // By the path's own end, so that it ends in 1. A clock that stands still has no shape: it counts as a line.
        const double last = p[(i + 1) * points - 1];
        for (int64_t k = 0; k < points; ++k)
          p[i * points + k] =
              last > 0 ? p[i * points + k] / last : static_cast<double>(k) / static_cast<double>(points - 1);
      }
    }
    PathOptions options;
    options.augment_time = true;
    const at::Tensor all = signature(paths, depth_, options);
    const double* from = all.const_data_ptr<double>();
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = 0; k < size; ++k) to[i * size + k] = from[i * all.size(1) + coordinate_[k]];
  }
  check(coordinates, clocks);
  return coordinates;
}

void ScheduleFeature::check(const at::Tensor& coordinates, const ClockSample& clocks) const {
  for (int64_t i = 0; i < coordinates.size(0); ++i) {
    const std::span<const double> own = row(coordinates, i);
    if (!std::all_of(own.begin(), own.end(), [](double v) { return std::isfinite(v); })) continue;
    const std::string problem = schedule_.violation(own, rising_);
    if (problem.empty()) continue;
    std::string clock = fmt::format("T_1 = {:.4g}", clocks.end.const_data_ptr<double>()[i]);
    for (size_t k = 0; k < own.size(); ++k) clock += fmt::format(", {} = {:.4g}", schedule_.words()[k], own[k]);
    throw InputError("[path.schedule] expected {} for the clock with {}", problem, clock);
  }
}

}  // namespace htfm
