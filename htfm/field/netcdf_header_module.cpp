#include "htfm/field/netcdf_header_module.h"

#include <netcdf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

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

// Where the values of a variable lie: all of them, or those of the first record.
struct Extent {
  uint64_t begin = 0, bytes = 0;
  bool in_records = false;
};

// Sums and products of sizes; what is larger than any file stays as large as a number can be.
uint64_t plus(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }
uint64_t times(uint64_t a, uint64_t b) {
  uint64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? UINT64_MAX : out;
}

Extent read_variable(HeaderReader& header, const std::vector<uint64_t>& sizes) {
  pass_name(header);
  Extent out{.bytes = 1};
  const uint64_t dimensions = header.count();
  for (uint64_t d = 0; d < dimensions; ++d) {
    const uint64_t id = header.count();
    if (id >= sizes.size()) header.damaged(fmt::format("dimension {} of {}", id, sizes.size()));
    if (d == 0 && sizes[id] == 0)
      out.in_records = true;
    else
      out.bytes = times(out.bytes, sizes[id]);
  }
  pass_attributes(header);
  out.bytes = times(out.bytes, bytes_of(header, header.word()));
  header.count();
  out.begin = header.offset();
  return out;
}

// The library reads zeros where a file that was cut off has no values.
void check_values(const Source& file, const std::vector<Extent>& variables, uint64_t records) {
  uint64_t record = 0, with_records = 0, end = 0;
  for (const Extent& v : variables)
    if (v.in_records) record = plus(record, plus(v.bytes, (4 - v.bytes % 4) % 4)), ++with_records;
  for (const Extent& v : variables) {
    if (v.bytes == 0 || (v.in_records && records == 0)) continue;
    if (with_records == 1 && v.in_records) record = v.bytes;  // alone it is not filled up
    end = std::max(end, plus(plus(v.begin, v.in_records ? times(records - 1, record) : 0), v.bytes));
  }
  if (end > file.size())
    throw InputError("[netcdf] {}: truncated: expected {} bytes by its header, got {}", file.name(), end, file.size());
}

}  // namespace

void check_classic_header(const Source& file) {
  char magic[4] = {};
  if (file.size() < sizeof magic) return;
  file.read(0, magic, sizeof magic);
  const int version = magic[3];
  if (std::memcmp(magic, "CDF", 3) != 0 || (version != 1 && version != 2 && version != 5)) return;
  HeaderReader header(file, version);
  const uint64_t records = header.count();
  std::vector<uint64_t> sizes;
  for (uint64_t k = list_size(header, kDimensions); k > 0; --k) {
    pass_name(header);
    sizes.push_back(header.count());
  }
  pass_attributes(header);
  std::vector<Extent> variables;
  for (uint64_t k = list_size(header, kVariables); k > 0; --k) variables.push_back(read_variable(header, sizes));
  const bool streamed = records == (version == 5 ? UINT64_MAX : UINT32_MAX);  // how many is not known
  check_values(file, variables, streamed ? 0 : records);
}

}  // namespace htfm
