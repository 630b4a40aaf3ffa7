#include "htfm/field/grib_scan_module.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "htfm/base/error.h"

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

// The length of a message of edition 1, whose sections have lengths of three bytes. One of more than 8 MB has the
// highest bit set, counts in units of 120 bytes, and says in its last section how much of them is too much.
uint64_t old_message_length(const Source& file, uint64_t at, const unsigned char* head,
                            const std::function<void(const std::string&)>& damaged) {
  const uint64_t told = big_endian(head + 4, 3), left = file.size() - at;
  const bool large = (told & 0x800000) != 0;
  if (!large && (told < 12 || told > left))
    damaged(fmt::format("it should be {} bytes long, and the file has {} from there", told, left));
  uint64_t section = 8;  // 1: what it is, 2: its grid, 3: the bitmap, 4: the values
  bool grid = false, bitmap = false;
  for (const int number : {1, 2, 3, 4}) {
    if ((number == 2 && !grid) || (number == 3 && !bitmap)) continue;
    unsigned char start[8] = {};
    if (section + 8 > left) damaged(fmt::format("the file ends inside section {}", number));
    file.read(at + section, start, 8);
    const uint64_t size = big_endian(start, 3);
    if (number == 1) grid = (start[7] & 0x80) != 0, bitmap = (start[7] & 0x40) != 0;
    if (number == 4 && large && size < 120) return (told & 0x7fffff) * 120 - size + 4;
    if (size < 4 || section + size > (large ? left : told - 4))
      damaged(fmt::format("section {} of {} bytes", number, size));
    section += size;
  }
  return told;
}

}  // namespace

GribFrame scan_grib(const Source& file) {
  GribFrame out;
  for (uint64_t at = next_message(file, 0); at < file.size();) {
    const int64_t number = ++out.messages;
    const std::function<void(const std::string&)> damaged = [&](const std::string& what) {
      throw InputError("[grib] {}: message {}: truncated or damaged: {}", file.name(), number, what);
    };
    unsigned char head[kIndicator];
    if (file.size() - at < kIndicator) damaged("the file ends inside its first section");
    file.read(at, head, kIndicator);
    if (head[7] != 1 && head[7] != 2)
      throw InputError("[grib] {}: message {}: expected GRIB edition 1 or 2, got edition {}", file.name(), number,
                       int{head[7]});
    const bool old = head[7] == 1;
    const uint64_t length = old ? old_message_length(file, at, head, damaged) : big_endian(head + 8, 8);
    if (length < kIndicator + 4 || length > file.size() - at)
      damaged(fmt::format("it should be {} bytes long, and the file has {} from there", length, file.size() - at));
    const uint64_t end = at + length - 4;
    std::vector<int64_t> counts(8, 0);
    uint64_t section = at + kIndicator;
    while (!old && section < end) {
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
      if (!old && counts[s] < 1) damaged(fmt::format("it has no section {}", s));
    out.shared = out.shared || counts[7] > 1;
    at = next_message(file, at + length);
  }
  return out;
}

}  // namespace htfm
