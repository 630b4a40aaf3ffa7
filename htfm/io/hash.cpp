#include "htfm/io/hash.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL  // the header is the whole library
#define XXH_NO_XXH3
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "htfm/io/file.h"

namespace htfm {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the file formats here are little-endian and read as they lie");

constexpr std::array<uint32_t, 64> kSha256Round = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// SHA-256 by hand: every library that has it would be one more that the core needs at run time (doc/dependencies.md).
class Sha256 {
 public:
  void update(const unsigned char* data, size_t size) {
    total_ += size;
    while (size > 0) {
      const size_t take = std::min(size, block_.size() - filled_);
      std::memcpy(block_.data() + filled_, data, take);
      filled_ += take;
      data += take;
      size -= take;
      if (filled_ == block_.size()) absorb();
    }
  }

  std::string finish() {
    const uint64_t bits = total_ * 8;
    const unsigned char one = 0x80;
    const unsigned char zero = 0;
    update(&one, 1);
    while (filled_ != 56) update(&zero, 1);
    std::array<unsigned char, 8> length;
    for (int i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(bits >> (56 - 8 * i));
    update(length.data(), length.size());
    std::string hex;
    for (const uint32_t word : state_) hex += fmt::format("{:08x}", word);
    return hex;
  }

 private:
  void absorb() {
    std::array<uint32_t, 64> w;
    std::memcpy(w.data(), block_.data(), block_.size());
    for (int i = 0; i < 16; ++i) w[i] = __builtin_bswap32(w[i]);
    for (int i = 16; i < 64; ++i) {
      const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
      const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (int i = 0; i < 64; ++i) {
      const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kSha256Round[i] + w[i];
      const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
      const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + t1;
      d = c;
      c = b;
      b = a;
      a = t1 + t2;
    }
    const std::array<uint32_t, 8> round = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; ++i) state_[i] += round[i];
    filled_ = 0;
  }

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> block_;
  size_t filled_ = 0;
  uint64_t total_ = 0;
};

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0x82F63B78u : 0u);
    table[i] = value;
  }
  return table;
}

}  // namespace

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  return hash.finish();
}

std::string sha256_file(const std::string& path) {
  const FileSource source(path);
  std::vector<unsigned char> piece(size_t{1} << 20);
  Sha256 hash;
  for (uint64_t at = 0; at < source.size(); at += piece.size()) {
    const size_t size = std::min<uint64_t>(piece.size(), source.size() - at);
    source.read(at, piece.data(), size);
    hash.update(piece.data(), size);
  }
  return hash.finish();
}

struct Xxh64::State {
  XXH64_state_t value;
};

Xxh64::Xxh64() : state_(std::make_unique<State>()) { XXH64_reset(&state_->value, 0); }
Xxh64::~Xxh64() = default;

void Xxh64::update(const void* data, size_t size) {
  if (size > 0) XXH64_update(&state_->value, data, size);
}

uint64_t Xxh64::digest() const { return XXH64_digest(&state_->value); }

std::string Xxh64::hex() const { return fmt::format("{:016x}", digest()); }

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = make_crc_table();
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

}  // namespace htfm
