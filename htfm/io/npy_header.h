// What stands at the beginning of an .npy file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "htfm/io/file.h"

namespace htfm {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

struct NpyHeader {
  std::string descr;
  bool structured = false;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

/// The header of a file, and where its numbers begin; InputError where it is none.
NpyHeader read_npy_header(const Source& source, uint64_t& data_start);
/// A type's description in words, for the message about one that is not read here.
std::string describe_type(const NpyHeader& header);

}  // namespace htfm
