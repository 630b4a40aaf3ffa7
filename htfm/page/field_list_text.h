// What a file of fields, or a prepared set, holds: for the eye and as JSON.
#pragma once

#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/field/field_set.h"
#include "htfm/field/list_fields.h"
#include "htfm/field/prepare.h"

namespace htfm HTFM_PUBLIC {

/// A row for each kind of field (the first 500), and their grids. `all_values`: the ranges are of all fields, not of
/// the first ones.
std::string field_list_text(const std::vector<ListedFields>& list, const std::string& path, bool all_values);
std::string field_list_json(const std::vector<ListedFields>& list, const std::string& path);
/// Size, times, transform, range and tail of each channel, and where the fields come from.
std::string field_set_json(const FieldSet& set, const std::string& path);
/// What was made of the files, and the set that came out.
std::string prepared_json(const PrepareSummary& summary, const FieldSet& set);

}  // namespace htfm
