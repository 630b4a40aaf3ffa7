// What a file of fields or a prepared set holds, as `htfm info` and `htfm prepare` show it.
#pragma once

#include <string>

#include "app/common.h"

namespace htfm::app {

/// Prints the list: a table, or one JSON object. `all_values`: the range of all fields, not of the first of each kind.
void print_field_list(const Common& common, const std::string& path, bool all_values);

}  // namespace htfm::app
