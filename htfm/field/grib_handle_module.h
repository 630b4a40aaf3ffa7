// A message of ecCodes: its keys, and the order of its values.
#pragma once

#include <eccodes.h>

#include <cstdint>
#include <string>
#include <utility>

#include "htfm/base/error.h"
#include "htfm/field/grid.h"

namespace htfm {

/// Keeps what ecCodes would print, as words of what is done to that file; a damaged message is an InputError.
void set_up_eccodes(const std::string& path);
/// What ecCodes says of an error, with its last words.
std::string grib_reason(int error);

class GribHandle {
 public:
  GribHandle(codes_handle* handle, std::string where) : handle_(handle), where_(std::move(where)) {}
  ~GribHandle() { codes_handle_delete(handle_); }
  GribHandle(const GribHandle&) = delete;
  GribHandle& operator=(const GribHandle&) = delete;

  codes_handle* get() const { return handle_; }
  const std::string& where() const { return where_; }
  void check(int error, const char* what) const {
    if (error) throw InputError("[grib] {}: expected {}, got: {}", where_, what, grib_reason(error));
  }
  int64_t whole(const char* key) const {
    long v = 0;
    check(codes_get_long(handle_, key, &v), key);
    return v;
  }
  int64_t whole_or(const char* key, int64_t default_value) const {
    long v = 0;
    return codes_get_long(handle_, key, &v) ? default_value : v;
  }
  double number_or(const char* key, double default_value) const {
    double v = 0;
    return codes_get_double(handle_, key, &v) ? default_value : v;
  }
  double number(const char* key) const {
    double v = 0;
    check(codes_get_double(handle_, key, &v), key);
    return v;
  }
  std::string words(const char* key) const {
    char text[256] = {};
    size_t size = sizeof text;
    return codes_get_string(handle_, key, text, &size) ? std::string() : std::string(text);
  }

 private:
  codes_handle* handle_;
  std::string where_;
};

/// Where the value of a row and column, from west to east, stands in a message.
struct ScanOrder {
  int64_t height = 0, width = 0;
  bool west_to_east = true, columns_first = false, alternate = false;

  ScanOrder(const GribHandle& h, const Grid& grid)
      : height(grid.height),
        width(grid.width),
        west_to_east(h.whole_or("iScansNegatively", 0) == 0),
        columns_first(h.whole_or("jPointsAreConsecutive", 0) != 0),
        alternate(h.whole_or("alternativeRowScanning", 0) != 0) {}
  bool plain() const { return west_to_east && !columns_first && !alternate; }
  int64_t at(int64_t j, int64_t i) const {
    if (!west_to_east) i = width - 1 - i;
    if (columns_first) return i * height + (alternate && i % 2 ? height - 1 - j : j);
    return j * width + (alternate && j % 2 ? width - 1 - i : i);
  }
};

}  // namespace htfm
