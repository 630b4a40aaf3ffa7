// Fixed mutations of good inputs, for the ordinary test suite: the fuzzers' entry points without a fuzzer.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "htfm/base/random.h"

namespace htfm::fuzz {

using Words = std::vector<std::string_view>;

/// A stream of choices, the same in every run.
class Choices {
 public:
  explicit Choices(Key key) : key_(key) {}
  size_t below(size_t bound) { return bound == 0 ? 0 : key_.below(bound, index_++); }
  template <class List>
  const auto& among(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  Key key_;
  uint64_t index_ = 0;
};

inline void mutate(std::string& bytes, const std::vector<std::string>& seeds, const Words& words, Choices& choices) {
  const size_t at = choices.below(bytes.size() + 1);
  const size_t size = std::min(choices.below(1 + choices.below(64)), bytes.size() - at);
  switch (choices.below(8)) {
    case 0:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << choices.below(8)));
      break;
    case 1:
      if (at < bytes.size()) bytes[at] = static_cast<char>(choices.below(256));
      break;
    case 2: bytes.erase(at, size); break;
    case 3: bytes.insert(at, bytes.substr(at, size)); break;
    case 4: bytes.resize(at); break;
    case 5: bytes.replace(at, size, choices.among(words)); break;
    case 6: {  // a part of another file
      const std::string& other = choices.among(seeds);
      const size_t from = choices.below(other.size() + 1);
      bytes.replace(at, size, other.substr(from, choices.below(64)));
      break;
    }
    default: {  // another number where a number stands
      const size_t digit = bytes.find_first_of("0123456789", at);
      if (digit == std::string::npos) break;
      const size_t end = std::min(bytes.find_first_not_of("0123456789", digit), bytes.size());
      constexpr const char* kNumbers[] = {
          "0", "1", "2", "7", "-1", "255", "65536", "4294967296", "9223372036854775807", "18446744073709551616"};
      bytes.replace(digit, end - digit, choices.among(kNumbers));
    }
  }
}

/// Feeds `rounds` mutated inputs, and every seed as it is; returns how many mutated ones were accepted.
inline int64_t drive(bool (*entry)(std::string_view), const std::vector<std::string>& seeds, const Words& words,
                     int64_t rounds, Key key) {
  for (const std::string& seed : seeds) entry(seed);
  int64_t accepted = 0;
  for (int64_t round = 0; round < rounds; ++round) {
    Choices choices(key.child(static_cast<uint64_t>(round)));
    std::string bytes = choices.among(seeds);
    for (size_t left = 1 + choices.below(4); left > 0; --left) mutate(bytes, seeds, words, choices);
    // A copy of its own size, so that the sanitizer sees a read beyond the end.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    try {
      accepted += entry({exact.data(), exact.size()});
    } catch (const std::exception& error) {
      ADD_FAILURE() << "round " << round << ": expected InputError, got " << error.what();
    }
  }
  return accepted;
}

}  // namespace htfm::fuzz
