// Which NetCDF variables are latitudes and longitudes: by the CF conventions, and by what programs write instead.
#pragma once

#include "htfm/field/netcdf_file_module.h"

namespace htfm {

bool is_netcdf_latitude(const NetcdfVariable& v);
bool is_netcdf_longitude(const NetcdfVariable& v);

/// Whether a dimension without a variable is named as one of latitudes, or of longitudes.
bool is_latitude_name(const std::string& name);
bool is_longitude_name(const std::string& name);

/// What its values are multiplied by to be degrees.
double degrees_factor(const NetcdfVariable& v);

/// Whether an attribute `coordinates` names the variable.
bool is_listed(const NetcdfVariable& v, const std::string& coordinates);

/// Whether the points along a dimension are a list, as those of an icosahedral or a cubed-sphere grid are.
bool is_list_of_points(const NetcdfVariable& field, const NetcdfDimension& d, const std::vector<NetcdfVariable>& all);

}  // namespace htfm
