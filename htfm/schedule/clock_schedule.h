// Schedules that depend on the realised clock through coordinates of its signature (the paper's appendices on
// signature-linear schedules and on the VE-type signature-linear schedule).
#pragma once

#include "htfm/schedule/schedule.h"

namespace htfm {

/// The signed clock-shape score R = <e_ct - e_tc, phi> = 2 int T/T_1 - 1 (eq. signature-clock-shape-score) from
/// coordinates = (ct, tc).
double clock_shape(std::span<const double> coordinates);

/// The time at which alpha / beta of a schedule whose ratio rises has this value, by Newton's method.
double time_of_ratio(const Schedule& schedule, double ratio, std::span<const double> coordinates);

/// What schedules() makes of these names. InputError names the key that is wrong.
std::unique_ptr<Schedule> make_ve_signature(const ScheduleSpec& spec);
std::unique_ptr<Schedule> make_signature_linear(const ScheduleSpec& spec);
std::unique_ptr<Schedule> make_near_linear(const ScheduleSpec& spec);
std::unique_ptr<Schedule> make_time_warp(const ScheduleSpec& spec);

}  // namespace htfm
