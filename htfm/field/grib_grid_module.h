// The grid of a message of ecCodes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "htfm/field/field_message.h"
#include "htfm/field/grib_handle_module.h"

namespace htfm {

bool is_reduced(const GribHandle& h);
std::vector<int64_t> points_of_rows(const GribHandle& h);
/// Why a message is no field of rows and columns, and what to do; empty where it is one.
std::string grid_problem(const GribHandle& h, const FieldChoice& choice);
/// The grid; the last few are kept, since the places of a projected one take a second and years of files have the same.
std::shared_ptr<const Grid> shared_grid(const GribHandle& h);

}  // namespace htfm
