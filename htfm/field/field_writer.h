// Fields into files that other programs of the weather's world open: NetCDF with the CF conventions, GRIB edition 2.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/field/calendar.h"

namespace htfm HTFM_PUBLIC {

/// What is written beside the values.
struct FieldFileHeader {
  int64_t count = 0, height = 0, width = 0;
  std::string each = "sample";  ///< what the first dimension counts
  std::vector<std::string> channels = {}, units = {};
  /// Of rows and columns, or of all points row by row; empty: not known, or each field has its own.
  std::vector<double> latitude = {}, longitude = {};
  /// Of the rows and columns of each field, one field after another, where they lie at several places.
  std::vector<double> own_latitude = {}, own_longitude = {};
  std::vector<int64_t> time = {};  ///< of each field, in seconds since 1970; empty: they have none
  Calendar calendar = Calendar::gregorian;
  std::vector<int64_t> member = {};                                  ///< of each field; empty: no ensemble
  std::vector<uint8_t> held_out = {};                                ///< of each field; empty: no parts
  std::vector<std::pair<std::string, std::string>> attributes = {};  ///< of the file: title, source, history
};

/// A file that is written field by field, and is there when it is closed; without, nothing is left.
class FieldWriter {
 public:
  virtual ~FieldWriter() = default;
  /// The next fields, n x channels x height x width.
  virtual void write(const float* values, int64_t n) = 0;
  virtual void close() = 0;
};

/// Opens a file that ends in .nc, .grib2 or .grb2. InputError for another name, for what the format cannot hold, and
/// where the library of the formats is missing.
std::unique_ptr<FieldWriter> open_field_writer(const std::string& path, const FieldFileHeader& header);
/// Whether a name ends as one of these files.
bool is_field_file_name(const std::string& path);

}  // namespace htfm
