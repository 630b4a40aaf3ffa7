// The two kinds of file, inside the library htfm_fields.
#pragma once

#include <string>

#include "htfm/field/field_message.h"

namespace htfm {

void visit_grib(const std::string& path, const FieldChoice& choice, const FieldVisitor& visitor);
void visit_netcdf(const std::string& path, const FieldChoice& choice, const FieldVisitor& visitor);

}  // namespace htfm
