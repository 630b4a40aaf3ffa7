// The two kinds of file, inside the library htfm_fields.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "htfm/field/field_message.h"
#include "htfm/field/field_writer.h"

namespace htfm {

void visit_grib(const std::string& path, const FieldChoice& choice, const FieldVisitor& visitor);
void visit_netcdf(const std::string& path, const FieldChoice& choice, const FieldVisitor& visitor);
std::unique_ptr<FieldWriter> write_grib(const std::string& path, const FieldFileHeader& header);
std::unique_ptr<FieldWriter> write_netcdf(const std::string& path, const FieldFileHeader& header);

/// ecCodes and its settings are one for the process: one thread at a time.
std::mutex& eccodes_mutex();
/// Neither NetCDF's library nor HDF5 below it is made for several threads.
std::mutex& netcdf_mutex();

}  // namespace htfm
