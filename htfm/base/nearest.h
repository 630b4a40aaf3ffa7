// The name that somebody may have meant.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// How many letters must be changed, put in or left out to make one word of another.
inline size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

/// The name nearest to a word, at most `most` letters away; empty where none is that near.
inline std::string nearest_name(std::string_view word, const std::vector<std::string>& names, size_t most) {
  std::string best;
  for (const std::string& name : names)
    if (const size_t d = edit_distance(word, name); d <= most) best = name, most = d - (d > 0);
  return best;
}

}  // namespace htfm
