// The name that somebody may have meant.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// How many letters must be changed, put in or left out to make one word of another; `most` + 1 where it is more than
/// `most`.
inline size_t edit_distance(std::string_view a, std::string_view b, size_t most) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > most) return most + 1;
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = std::min(j, most + 1);
  for (size_t i = 1; i <= a.size(); ++i) {
    // Further from the diagonal than `most` all distances are larger.
    const size_t first = i > most ? i - most : 1, last = std::min(b.size(), i + most);
    size_t diagonal = row[first - 1], least = most + 1;
    row[first - 1] = first == 1 ? std::min(i, most + 1) : most + 1;
    for (size_t j = first; j <= last; ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]), most + 1});
      diagonal = above;
      least = std::min(least, row[j]);
    }
    if (least > most && row[first - 1] > most) return most + 1;
  }
  return row[b.size()];
}

/// The letters of a word as bits; some share one.
inline uint64_t letters_of(std::string_view word) {
  uint64_t set = 0;
  for (const char c : word) set |= uint64_t{1} << (static_cast<unsigned char>(c) % 64);
  return set;
}

/// The name nearest to a word, at most `most` letters away; empty where none is that near.
inline std::string nearest_name(std::string_view word, const std::vector<std::string>& names, size_t most) {
  std::string best;
  const uint64_t own = letters_of(word);
  for (const std::string& name : names) {
    // A letter that the other one lacks is a change: this tells most names apart without counting the others.
    const uint64_t other = letters_of(name);
    if (static_cast<size_t>(std::max(std::popcount(own & ~other), std::popcount(other & ~own))) > most) continue;
    const size_t d = edit_distance(word, name, most);
    if (d > most) continue;
    best = name;
    if (d == 0) break;
    most = d - 1;
  }
  return best;
}

}  // namespace htfm
