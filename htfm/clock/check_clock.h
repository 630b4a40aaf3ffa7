// Whether a clock can be made.
#pragma once

#include "htfm/clock/clock.h"

namespace htfm {

/// InputError names the family or parameter of a specification that is wrong; make_clock asks it too.
void check_clock(const ClockSpec& spec);

}  // namespace htfm
