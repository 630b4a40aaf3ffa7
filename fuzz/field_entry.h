// As entry.h, of files of fields: the frame of a GRIB file, which we check, and what their libraries decode, in a
// process of their own. A crash of that process is a refusal; a fault that a sanitizer finds in our part of it is not.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support.h"
#include "htfm/field/field_process.h"
#include "htfm/field/grib_scan_module.h"
#include "htfm/io/file.h"

extern "C" const void* htfm_field_reader(const char** reason);

namespace htfm::fuzz {

/// Two copies of an accepted file hold twice its messages.
inline bool grib_scan(std::string_view bytes) {
  return accepts([&] {
    const GribFrame frame = scan_grib(MemorySource(bytes, "fuzz.grib"));
    must_hold([&] {
      const std::string twice = std::string(bytes) + "\n" + std::string(bytes);
      const GribFrame both = scan_grib(MemorySource(twice, "twice.grib"));
      return both.messages == 2 * frame.messages && both.shared == frame.shared;
    });
  });
}

/// Lists every field of a file and reads the first rows of those that are not large.
inline bool decoded(FieldFormat format, std::string_view bytes) {
  static const FieldReader& reader = []() -> const FieldReader& {
    ::setenv("HTFM_FIELD_SECONDS", "2", 1);
    return *static_cast<const FieldReader*>(htfm_field_reader(nullptr));
  }();
  const MemoryFile file(bytes);
  return accepts([&] {
    visit_in_process(reader, format, file.path(), {.everything = true}, [](const FieldMessage& message) {
      if (!message.grid || !message.problem.empty() || message.grid->width > 10000) return;
      const Window window{0, 0, std::min<int64_t>(message.grid->height, 2), message.grid->width};
      std::vector<double> values(static_cast<size_t>(window.height * window.width));
      message.read(window, values.data());
    });
  });
}

inline bool netcdf(std::string_view bytes) { return decoded(FieldFormat::netcdf, bytes); }
inline bool grib(std::string_view bytes) { return decoded(FieldFormat::grib, bytes); }

}  // namespace htfm::fuzz
