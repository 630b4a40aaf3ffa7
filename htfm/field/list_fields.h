// What a file of fields holds.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/field/field_file.h"

namespace htfm HTFM_PUBLIC {

/// Fields of a file that differ in time and member alone.
struct ListedFields {
  std::string name = {}, title = {}, units = {}, level = {}, step = {};
  std::string text = {};     ///< as messages say it
  std::string grid = {};     ///< "regular_ll, 73 x 144, 90 to -90 N, 0 to 357.5 E, around the globe"
  std::string problem = {};  ///< why they cannot be read, and what to do
  int64_t count = 0;
  int64_t first_time = 0, last_time = 0;
  bool dated = true;  ///< whether the times are dates, and not numbers of the fields
  Calendar calendar = Calendar::gregorian;
  std::set<int64_t> members = {};
  double lowest = 0, highest = 0;  ///< NaN: not looked at, or all missing
  int64_t missing = 0;             ///< values of those that were looked at
};

/// Whether a path is a prepared set, GRIB or NetCDF by its first bytes, or a Zarr store, which is refused by name.
bool is_field_file(const std::string& path);
/// InputError, which says how it begins, for a file that is neither such a file nor a checkpoint.
void check_known_file(const std::string& path);

/// In the order of the file. `values`: of how many fields of each kind the values are looked at, -1: of all.
/// InputError as visit_fields.
std::vector<ListedFields> list_fields(const std::string& path, int64_t values = 1);

}  // namespace htfm
