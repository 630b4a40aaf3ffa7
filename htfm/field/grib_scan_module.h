// The frame of a GRIB file, checked before ecCodes sees it: it takes lengths on trust, and a wrong one can end the
// process.
#pragma once

#include <cstdint>

#include "htfm/io/file.h"

namespace htfm {

struct GribFrame {
  int64_t messages = 0;
  bool shared = false;  ///< some message holds several fields
};

/// Walks through messages and their sections. InputError, which names file and message, for another edition than 1 and
/// 2, a file that ends inside a message, and sections that do not fill theirs.
GribFrame scan_grib(const Source& file);

}  // namespace htfm
