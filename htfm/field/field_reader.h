// What the library htfm_fields gives: the files *_module.cpp with ecCodes and NetCDF, which nothing else links. It is
// loaded when a file of fields is first opened (htfm/base/module_library.h), by its entry point htfm_field_reader.
#pragma once

#include <memory>
#include <string>

#include "htfm/field/field_message.h"
#include "htfm/field/field_writer.h"

namespace htfm {

class FieldReader {
 public:
  virtual ~FieldReader() = default;
  /// As visit_fields, of a file that is known to be of that kind.
  virtual void visit_grib(const std::string& path, const FieldChoice& choice, const FieldVisitor& visitor) const = 0;
  virtual void visit_netcdf(const std::string& path, const FieldChoice& choice, const FieldVisitor& visitor) const = 0;
  /// As open_field_writer.
  virtual std::unique_ptr<FieldWriter> write_grib(const std::string& path, const FieldFileHeader& header) const = 0;
  virtual std::unique_ptr<FieldWriter> write_netcdf(const std::string& path, const FieldFileHeader& header) const = 0;
};

/// The library, loaded where it is not yet. InputError, which names `path`, where it is missing.
const FieldReader& field_library(const std::string& path);

}  // namespace htfm
