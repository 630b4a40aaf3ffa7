#include "htfm/field/field_writer.h"

#include "htfm/base/error.h"
#include "htfm/field/field_reader.h"

namespace htfm {

bool is_field_file_name(const std::string& path) {
  return path.ends_with(".nc") || path.ends_with(".grib2") || path.ends_with(".grb2");
}

std::unique_ptr<FieldWriter> open_field_writer(const std::string& path, const FieldFileHeader& header) {
  if (!is_field_file_name(path))
    throw InputError("[-o] expected a file that ends in .nc, .grib2 or .grb2, got '{}'", path);
  const FieldReader& library = field_library(path);
  return path.ends_with(".nc") ? library.write_netcdf(path, header) : library.write_grib(path, header);
}

}  // namespace htfm
