#include "htfm/field/netcdf_header_module.h"

#include <netcdf.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "htfm/base/error.h"

namespace htfm {
namespace {

constexpr uint64_t kHeaderPiece = 1 << 16;
constexpr uint64_t kDimensions = 10, kVariables = 11, kAttributes = 12;  // what a list begins with

// Numbers of the header, one after the other, in the widths of its version.
class HeaderReader {
 public:
  HeaderReader(const Source& file, int version) : file_(file), version_(version) {}

  uint64_t word() { return number(4); }
  uint64_t count() { return number(version_ == 5 ? 8 : 4); }
  uint64_t offset() { return number(version_ == 1 ? 4 : 8); }
  /// Passes over so many bytes, and those that fill the last four.
  void skip(uint64_t bytes) {
    if (bytes > left()) ends();
    at_ += std::min(left(), (bytes + 3) / 4 * 4);
  }
  uint64_t left() const { return file_.size() - at_; }
  [[noreturn]] void damaged(const std::string& what) const {
    throw InputError("[netcdf] {}: expected a NetCDF file, got one whose header is damaged at byte {}: {}",
                     file_.name(), at_, what);
  }
  [[noreturn]] void ends() const { damaged("it goes on beyond the end of the file"); }

 private:
  uint64_t number(uint64_t bytes) {
    if (bytes > left()) ends();
    if (at_ < from_ || at_ + bytes > from_ + piece_.size()) {
      from_ = at_;
      piece_.resize(std::min(kHeaderPiece, left()));
      file_.read(from_, piece_.data(), piece_.size());
    }
    uint64_t out = 0;
    for (uint64_t k = 0; k < bytes; ++k) out = out << 8 | static_cast<unsigned char>(piece_[at_ - from_ + k]);
    at_ += bytes;
    return out;
  }

  const Source& file_;
  int version_;
  uint64_t at_ = 4, from_ = 0;
  std::string piece_;
};

void pass_name(HeaderReader& header) {
  const uint64_t size = header.count();
  if (size > NC_MAX_NAME) header.damaged(fmt::format("a name of {} bytes, {} are the most", size, NC_MAX_NAME));
  header.skip(size);
}

// How many entries of this kind follow. A list without any may begin with 0.
uint64_t list_size(HeaderReader& header, uint64_t kind) {
  const uint64_t found = header.word(), size = header.count();
  if (found != kind && (found != 0 || size != 0))
    header.damaged(fmt::format("expected a list of kind {}, got kind {} of {} entries", kind, found, size));
  return size;
}

uint64_t bytes_of(HeaderReader& header, uint64_t type) {
  switch (type) {
    case NC_BYTE:
    case NC_CHAR:
    case NC_UBYTE: return 1;
    case NC_SHORT:
    case NC_USHORT: return 2;
    case NC_INT:
    case NC_UINT:
    case NC_FLOAT: return 4;
    case NC_DOUBLE:
    case NC_INT64:
    case NC_UINT64: return 8;
    default: header.damaged(fmt::format("a type {} of values", type));
  }
}

void pass_attributes(HeaderReader& header) {
  for (uint64_t k = list_size(header, kAttributes); k > 0; --k) {
    pass_name(header);
    const uint64_t size = bytes_of(header, header.word()), values = header.count();
    if (values > header.left()) header.ends();  // and so the product below is no more than a number can be
    header.skip(values * size);
  }
}

void pass_variables(HeaderReader& header) {
  for (uint64_t k = list_size(header, kVariables); k > 0; --k) {
    pass_name(header);
    for (uint64_t d = header.count(); d > 0; --d) header.count();
    pass_attributes(header);
    bytes_of(header, header.word());
    header.count();
    header.offset();
  }
}

}  // namespace

void check_classic_header(const Source& file) {
  char magic[4] = {};
  if (file.size() < sizeof magic) return;
  file.read(0, magic, sizeof magic);
  const int version = magic[3];
  if (std::memcmp(magic, "CDF", 3) != 0 || (version != 1 && version != 2 && version != 5)) return;
  HeaderReader header(file, version);
  header.count();  // of the records
  for (uint64_t k = list_size(header, kDimensions); k > 0; --k) {
    pass_name(header);
    header.count();
  }
  pass_attributes(header);
  pass_variables(header);
}

}  // namespace htfm
