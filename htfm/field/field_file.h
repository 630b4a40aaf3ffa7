// Fields out of files of GRIB or NetCDF.
#pragma once

#include <string>

#include "htfm/base/api.h"
#include "htfm/field/field_message.h"

namespace htfm HTFM_PUBLIC {

/// Visits the wanted fields of a file in its order. InputError, one line that names the file and says what was found
/// instead, for a file of another kind, a damaged one, and one that holds no such field; also where the library that
/// reads fields (field_reader.h) is not there.
void visit_fields(const std::string& path, const FieldChoice& choice, const FieldVisitor& visitor);

/// The bytes that say what kind of file it is: its first 64 KiB.
std::string start_of_field_file(const std::string& path);

/// Whether a GRIB message begins in these bytes: the word at their very start, or with an edition behind it.
bool holds_grib(const std::string& start);
/// Whether they begin a NetCDF file, or one of HDF5.
bool holds_netcdf(const std::string& start);
/// What begins so where it is neither, for "expected ..., got ...": its kind and what to do with it where that is
/// known.
std::string other_kind_text(const std::string& start);

/// Files as they are named; a folder stands for the files of fields in it, by name (.grib2, .grb2, .grib, .grb,
/// .grib1, .nc, .nc4).
std::vector<std::string> list_field_files(const std::vector<std::string>& files_and_folders);

}  // namespace htfm
