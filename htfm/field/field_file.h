// Fields out of files of GRIB edition 2 or NetCDF.
#pragma once

#include <string>

#include "htfm/field/field_message.h"

namespace htfm {

/// Visits the wanted fields of a file in its order. InputError, one line that names the file and says what was found instead, for a file of
/// another kind, a damaged one, and one that holds no such field; also where the library that reads fields (field_reader.h) is not there.
void visit_fields(const std::string& path, const FieldChoice& choice, const FieldVisitor& visitor);

}  // namespace htfm
