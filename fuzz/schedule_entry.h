// As entry.h, of the expressions of schedules (path.a, path.lambda, ...): their parser alone, without a configuration.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support.h"
#include "htfm/schedule/schedule_feature.h"

namespace htfm::fuzz {

/// Each text is one expression of one schedule, which its length chooses. What is accepted is used: a path that is
/// admissible has a time for every ratio of signal to noise.
inline bool schedule(std::string_view bytes) {
  struct Way {
    const char* name;
    std::string ScheduleSpec::*text;
    bool learn = false;
  };
  constexpr std::array<Way, 7> kWays{{{"near-linear", &ScheduleSpec::b},
                                      {"near-linear", &ScheduleSpec::a},
                                      {"near-linear", &ScheduleSpec::lambda},
                                      {"time-warp", &ScheduleSpec::c},
                                      {"signature-linear", &ScheduleSpec::a},
                                      {"signature-linear", &ScheduleSpec::b},
                                      {"near-linear", &ScheduleSpec::learn_words, true}}};
  static const std::unique_ptr<Clock> line = make_clock({});
  const Way& way = kWays[bytes.size() % kWays.size()];
  ScheduleSpec spec;
  spec.name = way.name, spec.learn = way.learn;
  spec.*way.text = bytes;
  return accepts([&] {
    const std::unique_ptr<Schedule> made = make_schedule(spec);
    const ScheduleFeature feature(*line, *made, true);
    const std::vector<double>& coordinates = feature.of_line();
    if (!made->violation(coordinates, true).empty()) return;
    for (const double ratio : {0.0, 1e-9, 1.0, 1e9})
      must_hold([&] {
        const double t = made->time_of(ratio, coordinates);
        return t >= 0 && t <= 1;
      });
  });
}

}  // namespace htfm::fuzz
