// Times of a NetCDF file, by the CF conventions.
#pragma once

#include <cstdint>
#include <vector>

#include "htfm/field/calendar.h"
#include "htfm/field/netcdf_file_module.h"

namespace htfm {

struct NetcdfTimes {
  std::vector<int64_t> seconds = {};  ///< since 1970 of the calendar
  Calendar calendar = Calendar::gregorian;
};

/// Whether a variable's units are those of a time: "hours since 1900-01-01", or "day as %Y%m%d.%f".
bool is_netcdf_time(const NetcdfVariable& variable);
/// Of a variable with such units, or of text (WRF's Times). InputError for units and calendars that are not known, and
/// for missing times.
NetcdfTimes read_netcdf_times(const NetcdfVariable& variable);
/// Whether its units are those of a span of time.
bool is_netcdf_span(const NetcdfVariable& variable);
/// Of a span of time ("hours"), in seconds. InputError for units that are not known.
std::vector<int64_t> read_netcdf_spans(const NetcdfVariable& variable);

}  // namespace htfm
