#include "htfm/signature/lyndon.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "htfm/base/error.h"

namespace htfm {

namespace {

void check(const char* where, int channels, int depth) {
  if (channels < 1 || channels > kMaxChannels)
    throw InputError("[{}] expected 1 to {} channels, got {}", where, kMaxChannels, channels);
  if (depth < 1 || depth > kMaxDepth)
    throw InputError("[{}] expected a depth of 1 to {}, got {}", where, kMaxDepth, depth);
}

int64_t power(int64_t base, int exponent) {
  int64_t result = 1;
  while (exponent-- > 0) result *= base;
  return result;
}

// A homogeneous polynomial: place of the word -> coefficient.
using Polynomial = std::map<int32_t, int32_t>;

// a b - b a for polynomials of degree da and db.
Polynomial bracket(const Polynomial& a, int da, const Polynomial& b, int db, int channels) {
  const auto shift_a = static_cast<int32_t>(power(channels, da)), shift_b = static_cast<int32_t>(power(channels, db));
  Polynomial result;
  for (const auto& [wa, ca] : a) {
    for (const auto& [wb, cb] : b) {
      result[wa * shift_b + wb] += ca * cb;
      result[wb * shift_a + wa] -= ca * cb;
    }
  }
  return result;
}

}  // namespace

int64_t signature_size(int channels, int depth) {
  check("signature_size", channels, depth);
  int64_t size = 0;
  for (int k = 1; k <= depth; ++k) size += power(channels, k);
  return size;
}

int64_t logsignature_size(int channels, int depth) {
  check("logsignature_size", channels, depth);
  static constexpr std::array<int, kMaxDepth + 1> moebius = {0, 1, -1, -1, 0, -1, 1};
  int64_t size = 0;
  for (int k = 1; k <= depth; ++k) {
    int64_t sum = 0;
    for (int r = 1; r <= k; ++r) {
      if (k % r == 0) sum += moebius[static_cast<size_t>(r)] * power(channels, k / r);
    }
    size += sum / k;
  }
  return size;
}

const LyndonBasis& LyndonBasis::get(int channels, int depth) {
  check("LyndonBasis", channels, depth);
  static std::mutex mutex;
  static std::array<std::unique_ptr<const LyndonBasis>, kMaxChannels * kMaxDepth> made;
  std::lock_guard lock(mutex);
  auto& basis = made[static_cast<size_t>((channels - 1) * kMaxDepth + depth - 1)];
  if (!basis) basis.reset(new LyndonBasis(channels, depth));
  return *basis;
}

LyndonBasis::LyndonBasis(int channels, int depth) : channels_(channels), depth_(depth) {
  // Duval's algorithm gives the words alphabetically; collecting them by length gives the order that is wanted.
  std::array<std::vector<int32_t>, kMaxDepth + 1> places;
  std::vector<int> word(1, 0);
  while (!word.empty()) {
    int32_t place = 0;
    for (int letter : word) place = place * channels + letter;
    places[word.size()].push_back(place);
    const size_t period = word.size();
    while (word.size() < static_cast<size_t>(depth)) word.push_back(word[word.size() - period]);
    while (!word.empty() && word.back() == channels - 1) word.pop_back();
    if (!word.empty()) ++word.back();
  }
  for (int32_t k = 1; k <= depth; ++k) {
    for (int32_t place : places[static_cast<size_t>(k)]) {
      length_.push_back(k);
      place_.push_back(place);
    }
  }
  left_.assign(length_.size(), -1);
  right_.assign(length_.size(), -1);
  for (int64_t w = channels; w < size(); ++w) {
    for (int32_t k = length_[w] - 1; right_[w] < 0; --k) {
      const auto tail = static_cast<int32_t>(power(channels, k));
      if (const int64_t suffix = find(k, place_[w] % tail); suffix >= 0) {
        right_[w] = suffix;
        left_[w] = find(length_[w] - k, place_[w] / tail);
      }
    }
  }
}

int64_t LyndonBasis::find(int32_t length, int32_t place) const {
  const auto [first, last] = std::equal_range(length_.begin(), length_.end(), length);
  const auto begin = place_.begin() + (first - length_.begin()), end = place_.begin() + (last - length_.begin());
  const auto found = std::lower_bound(begin, end, place);
  return found != end && *found == place ? found - place_.begin() : -1;
}

const LyndonBasis::Rows& LyndonBasis::bracket_rows() const {
  std::call_once(rows_made_, [this] { make_rows(); });
  return rows_;
}

void LyndonBasis::make_rows() const {
  std::vector<Polynomial> expanded(length_.size());
  std::vector<std::vector<std::pair<int32_t, int32_t>>> rows(length_.size());
  for (int64_t l = 0; l < size(); ++l) {
    const int64_t u = left_[l], v = right_[l];
    if (u < 0) {
      expanded[l] = {{place_[l], 1}};
      continue;
    }
    expanded[l] = bracket(expanded[u], length_[u], expanded[v], length_[v], channels_);
    for (const auto& [place, coefficient] : expanded[l]) {
      const int64_t w = find(length_[l], place);
      if (w > l && coefficient != 0) rows[w].emplace_back(static_cast<int32_t>(l), coefficient);
    }
  }
  rows_.begin.push_back(0);
  for (const auto& row : rows) {
    for (const auto& [column, value] : row) {
      rows_.column.push_back(column);
      rows_.value.push_back(value);
    }
    rows_.begin.push_back(static_cast<int32_t>(rows_.column.size()));
  }
}

std::vector<uint8_t> LyndonBasis::letters(int64_t word) const {
  std::vector<uint8_t> result(static_cast<size_t>(length_[word]));
  int32_t rest = place_[word];
  for (size_t i = result.size(); i-- > 0;) {
    result[i] = static_cast<uint8_t>(rest % channels_);
    rest /= channels_;
  }
  return result;
}

std::vector<std::string> LyndonBasis::words() const {
  std::vector<std::string> names(length_.size());
  for (int64_t w = 0; w < size(); ++w) {
    for (uint8_t letter : letters(w)) names[w] += static_cast<char>('1' + letter);
  }
  return names;
}

std::vector<std::string> LyndonBasis::brackets() const {
  std::vector<std::string> names = words();
  for (int64_t w = channels_; w < size(); ++w) names[w] = fmt::format("[{},{}]", names[left_[w]], names[right_[w]]);
  return names;
}

std::vector<int64_t> LyndonBasis::coordinates_with(const std::vector<int>& channels) const {
  for (int channel : channels) {
    if (channel < 0 || channel >= channels_) {
      throw InputError("[coordinates_with] expected a channel of 0 to {}, got {}", channels_ - 1, channel);
    }
  }
  std::vector<int64_t> result;
  for (int64_t w = 0; w < size(); ++w) {
    const auto word = letters(w);
    const bool contains = std::any_of(channels.begin(), channels.end(), [&](int channel) {
      return std::find(word.begin(), word.end(), static_cast<uint8_t>(channel)) != word.end();
    });
    if (contains) result.push_back(w);
  }
  return result;
}

}  // namespace htfm
