#include "htfm/field/grib_scan_module.h"

#include <algorithm>
#include <vector>

#include "htfm/base/error.h"
#include "htfm/io/file.h"

namespace htfm {
namespace {

constexpr uint64_t kIndicator = 16, kPiece = 4096;

uint64_t big_endian(const unsigned char* p, int bytes) {
  uint64_t v = 0;
  for (int k = 0; k < bytes; ++k) v = v << 8 | p[k];
  return v;
}

// Where the next message begins; the end of the file where there is none. Other bytes may stand between messages.
uint64_t next_message(const Source& file, uint64_t at) {
  std::string piece;
  while (at + 4 <= file.size()) {
    piece.resize(std::min(kPiece, file.size() - at));
    file.read(at, piece.data(), piece.size());
    if (const size_t found = piece.find("GRIB"); found != std::string::npos) return at + found;
    at += piece.size() - 3;
  }
  return file.size();
}

}  // namespace

GribFrame scan_grib(const std::string& path) {
  const FileSource file(path);
  GribFrame out;
  for (uint64_t at = next_message(file, 0); at < file.size();) {
    const int64_t number = ++out.messages;
    const auto damaged = [&](const std::string& what) {
      throw InputError("[grib] {}: message {}: truncated or damaged: {}", path, number, what);
    };
    unsigned char head[kIndicator];
    if (file.size() - at < kIndicator) damaged("the file ends inside its first section");
    file.read(at, head, kIndicator);
    if (head[7] != 2)
      throw InputError("[grib] {}: message {}: expected GRIB edition 2, got edition {}", path, number, int{head[7]});
    const uint64_t length = big_endian(head + 8, 8);
    if (length < kIndicator + 4 || length > file.size() - at)
      damaged(fmt::format("it should be {} bytes long, and the file has {} from there", length, file.size() - at));
    const uint64_t end = at + length - 4;
    std::vector<int64_t> counts(8, 0);
    uint64_t section = at + kIndicator;
    while (section < end) {
      unsigned char start[5];
      if (end - section < 5) damaged("its sections do not fill it");
      file.read(section, start, 5);
      const uint64_t size = big_endian(start, 4);
      if (size < 5 || size > end - section || start[4] < 1 || start[4] > 7)
        damaged(fmt::format("section {} of {} bytes", int{start[4]}, size));
      ++counts[start[4]];
      section += size;
    }
    char last[4];
    file.read(end, last, 4);
    if (std::string_view(last, 4) != "7777") damaged("it does not end as messages do");
    for (const size_t s : {1, 3, 4, 5, 6, 7})
      if (counts[s] < 1) damaged(fmt::format("it has no section {}", s));
    out.shared = out.shared || counts[7] > 1;
    at = next_message(file, at + length);
  }
  return out;
}

}  // namespace htfm
