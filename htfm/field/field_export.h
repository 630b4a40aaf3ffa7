// A prepared set, and samples of a model of it, as files that other programs open (field_writer.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/field/field_set.h"
#include "htfm/field/field_writer.h"

namespace htfm HTFM_PUBLIC {

/// Names, units and, where all fields of a set lie at one place, latitudes and longitudes: those of samples too.
FieldFileHeader header_of_samples(const FieldSet& set, int64_t count);
/// Writes the fields of a set with these numbers.
void export_fields(const FieldSet& set, const std::vector<int64_t>& index, const std::string& path,
                   const std::vector<std::pair<std::string, std::string>>& attributes);

}  // namespace htfm
