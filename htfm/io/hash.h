// Digests: SHA-256 names a file's content, XXH64 finds damage at memory speed, CRC-32C frames event records.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// SHA-256 (FIPS 180-4) of bytes, as 64 hexadecimal digits.
std::string sha256(std::string_view bytes);
/// The same of a file's content.
std::string sha256_file(const std::string& path);

/// XXH64 with seed 0, fed piece by piece. Not cryptographic.
class Xxh64 {
 public:
  Xxh64();
  ~Xxh64();
  void update(const void* data, size_t size);
  /// The hash of all bytes so far, as a number and as 16 hexadecimal digits.
  uint64_t digest() const;
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// CRC-32C (Castagnoli).
uint32_t crc32c(std::string_view bytes);

}  // namespace htfm
