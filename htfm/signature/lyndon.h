// Lyndon words and their brackets: the coordinates of a logsignature, and how many there are.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/signature/limits.h"

namespace htfm HTFM_PUBLIC {

/// Coordinates of a signature truncated at `depth`, the leading 1 not counted: q + q^2 + ... + q^m.
int64_t signature_size(int channels, int depth);
/// Coordinates of a logsignature: sum over k of (1/k) sum_{r|k} mu(r) q^(k/r), the Moebius formula.
int64_t logsignature_size(int channels, int depth);

/// The Lyndon words up to a length, in the order of the logsignature: by length, then alphabetically.
class LyndonBasis {
 public:
  /// The basis for that many letters and that length; made once and kept.
  static const LyndonBasis& get(int channels, int depth);

  int channels() const { return channels_; }
  int depth() const { return depth_; }
  int64_t size() const { return static_cast<int64_t>(length_.size()); }
  /// Length of each word, and its place among all words of that length in alphabetical order.
  const std::vector<int32_t>& lengths() const { return length_; }
  const std::vector<int32_t>& places() const { return place_; }

  /// The coefficient of a Lyndon word w in a Lie polynomial is c_w + sum over Lyndon words l < w of (w in bracket of l)
  /// c_l, where c are its coordinates in the bracket basis. One sparse row for each w.
  struct Rows {
    std::vector<int32_t> begin, column, value;
  };
  const Rows& bracket_rows() const;

  /// "1", "2", "12", "112", ...: letter i stands for channel i-1.
  std::vector<std::string> words() const;
  /// "1", "2", "[1,2]", "[1,[1,2]]", ...: standard bracketing, the right factor being the longest proper Lyndon suffix.
  std::vector<std::string> brackets() const;
  /// Coordinates whose word contains any of these channels (counted from 0).
  std::vector<int64_t> coordinates_with(const std::vector<int>& channels) const;

 private:
  LyndonBasis(int channels, int depth);
  std::vector<uint8_t> letters(int64_t word) const;
  int64_t find(int32_t length, int32_t place) const;
  void make_rows() const;

  int channels_, depth_;
  std::vector<int32_t> length_, place_;
  std::vector<int64_t> left_, right_;  // standard factorisation, by index; -1 for single letters
  mutable std::once_flag rows_made_;
  mutable Rows rows_;
};

}  // namespace htfm
