#include "htfm/io/npy_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "htfm/base/error.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

constexpr uint32_t kMostNpyHeader = 1 << 20;
constexpr size_t kMostNpyDimensions = 32;

/// Reads the header's Python dictionary: the three keys in any order, each once.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  NpyHeader parse() {
    std::optional<bool> order;
    std::optional<std::vector<int64_t>> shape;
    std::optional<std::string> descr;
    NpyHeader header;
    expect('{');
    while (!accept('}')) {
      const std::string key = word();
      expect(':');
      if (key == "descr" && !descr) {
        header.structured = peek() == '[' || peek() == '(';
        descr = header.structured ? bracketed() : word();
      } else if (key == "fortran_order" && !order) {
        order = boolean();
      } else if (key == "shape" && !shape) {
        shape = tuple();
      } else {
        fail(fmt::format("the keys descr, fortran_order and shape once each, got {}", in_quotes(key)));
      }
      if (!accept(',') && peek() != '}') fail("',' or '}' after a value");
    }
    peek();
    if (at_ < text_.size()) fail("the end of the header after '}'");
    if (!descr || !order || !shape) fail("the keys descr, fortran_order and shape");
    header.descr = *descr;
    header.fortran_order = *order;
    header.shape = *shape;
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    throw InputError("[npy] {}: damaged header: expected {} (at byte {} of the header)", path_, expected, at_);
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}'", c));
  }
  std::string word() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("a quoted word");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a closing quote");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return std::string(inside);
  }
  /// A list or tuple with all that it holds: the description of a structured type, kept for the message.
  std::string bracketed() {
    const size_t begin = at_;
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '[' || c == '(') ++depth;
      if ((c == ']' || c == ')') && --depth == 0) return std::string(text_.substr(begin, ++at_ - begin));
    }
    fail("a closing bracket");
  }
  bool boolean() {
    peek();
    for (const std::string_view value : {"True", "False"}) {
      if (text_.substr(at_).starts_with(value)) {
        at_ += value.size();
        return value == "True";
      }
    }
    fail("True or False");
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> sizes;
    expect('(');
    while (!accept(')')) {
      peek();
      int64_t size = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (error == std::errc::result_out_of_range) fail("sizes of at most 2^63-1 in the shape");
      if (error != std::errc()) fail("a whole number in the shape");
      if (size < 0) fail(fmt::format("sizes of at least 0 in the shape, got {}", size));
      if (sizes.size() == kMostNpyDimensions)
        fail(fmt::format("at most {} dimensions in the shape", kMostNpyDimensions));
      sizes.push_back(size);
      at_ += static_cast<size_t>(end - begin);
      if (!accept(',') && peek() != ')') fail("',' or ')' in the shape");
    }
    return sizes;
  }

  std::string_view text_;
  const std::string& path_;
  size_t at_ = 0;
};

}  // namespace

std::string describe_type(const NpyHeader& header) {
  if (header.structured) return fmt::format("the structured type {}", in_quotes(header.descr));
  std::string_view descr = header.descr;
  std::string words;
  if (descr.starts_with('>')) {
    words = "big-endian ";
    descr.remove_prefix(1);
  } else if (descr.starts_with('<') || descr.starts_with('|') || descr.starts_with('=')) {
    descr.remove_prefix(1);
  }
  int bytes = 0;
  if (descr.size() > 1) std::from_chars(descr.data() + 1, descr.data() + descr.size(), bytes);
  const bool sized = bytes > 0 && bytes <= 32;
  switch (descr.empty() ? '\0' : descr[0]) {
    case 'f': words += sized ? fmt::format("float{}", 8 * bytes) : ""; break;
    case 'i': words += sized ? fmt::format("int{}", 8 * bytes) : ""; break;
    case 'u': words += sized ? fmt::format("uint{}", 8 * bytes) : ""; break;
    case 'c': words += sized ? fmt::format("complex{}", 8 * bytes) : ""; break;
    case 'b': words += "bool"; break;
    case 'O': words += "Python objects"; break;
    case 'U':
    case 'S': words += "text"; break;
    case 'M':
    case 'm': words += "dates or times"; break;
    default: break;
  }
  return words.empty() ? in_quotes(header.descr) : fmt::format("{} ({})", in_quotes(header.descr), words);
}

NpyHeader read_npy_header(const Source& source, uint64_t& data_start) {
  const std::string& path = source.name();
  unsigned char start[12] = {};
  if (source.size() == 0) throw InputError("[npy] {}: expected an .npy file, got an empty file", path);
  const uint64_t start_size = std::min<uint64_t>(source.size(), sizeof start);
  source.read(0, start, start_size);
  if (start_size < 8 || std::string_view(reinterpret_cast<char*>(start), kNpyMagic.size()) != kNpyMagic) {
    throw InputError("[npy] {}: expected an .npy file, got one that does not begin as .npy files do", path);
  }
  const int major = start[6];
  if (major < 1 || major > 3)
    throw InputError("[npy] {}: expected format version 1, 2 or 3, got {}.{}", path, major, int{start[7]});
  const uint64_t begin = major == 1 ? 10 : 12;
  if (start_size < begin) throw InputError("[npy] {}: truncated: the file ends inside its header", path);
  uint32_t length = start[8] | (uint32_t{start[9]} << 8);
  if (major > 1) length |= (uint32_t{start[10]} << 16) | (uint32_t{start[11]} << 24);
  if (length > kMostNpyHeader)
    throw InputError("[npy] {}: expected a header of at most {} bytes, got {}", path, kMostNpyHeader, length);
  if (length > source.size() - begin) throw InputError("[npy] {}: truncated: the file ends inside its header", path);
  std::string text(length, '\0');
  source.read(begin, text.data(), length);
  data_start = begin + length;
  return HeaderParser(text, path).parse();
}

}  // namespace htfm
