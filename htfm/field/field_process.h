// Files of fields are decoded in a process of their own: the libraries that do it were not written for files from
// anywhere, and one that crashes them, fills the memory or never ends must cost no more than a message.
#pragma once

#include <string>

#include "htfm/field/field_reader.h"

namespace htfm {

enum class FieldFormat { grib, netcdf };

/// Visits the fields of a file as the reader does, which runs in another process with a limit on its memory and, from
/// one answer to the next, on its time (the variable HTFM_FIELD_SECONDS, 120 where it is not set). What the reader
/// throws is thrown here; a process that ends, or does not answer, is an InputError that names the file.
void visit_in_process(const FieldReader& reader, FieldFormat format, const std::string& path, const FieldChoice& choice,
                      const FieldVisitor& visitor);

}  // namespace htfm
