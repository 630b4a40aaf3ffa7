// Units of variables, as files write them.
#pragma once

#include <string>

namespace htfm {

/// Whether two texts mean one unit: "kg m**-2 s-1", "kg/m2/s" and "kg m^-2 s^-1" do, "K" and "kelvin", "mm/h" and
/// "mm hr-1"; units that differ by a factor (hPa, Pa) are others. What is not understood is compared as it stands.
bool is_same_unit(const std::string& a, const std::string& b);

/// Whether a unit says nothing: none, or GRIB's "unknown" and "~".
bool is_no_unit(const std::string& unit);

}  // namespace htfm
