// What the process that decodes fields and the one that asks say to each other, over a socket.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "htfm/base/error.h"
#include "htfm/field/field_message.h"

namespace htfm {

/// Each piece is its kind, the size of its bytes, and these.
enum class Piece : uint64_t {
  file,
  window,
  rows_read,
  next,
  message,
  rows,
  rows_end,
  end,
  input_error,
  error,
  no_memory
};

struct PieceHead {
  Piece kind;
  uint64_t size;
};

/// Values of a row that lie in shared memory, after those of the segments before.
struct RowSegment {
  int64_t row, from, count;
};

/// The bytes of a piece.
class PieceWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T> PieceWriter& operator<<(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  PieceWriter& operator<<(const std::string& text) {
    *this << uint64_t{text.size()};
    bytes_ += text;
    return *this;
  }
  PieceWriter& operator<<(const std::vector<std::string>& texts) {
    *this << uint64_t{texts.size()};
    for (const std::string& text : texts) *this << text;
    return *this;
  }
  template <class T>
  PieceWriter& operator<<(const std::vector<T>& values) {
    *this << uint64_t{values.size()};
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    return *this;
  }
  template <class T>
  PieceWriter& operator<<(const std::optional<T>& value) {
    *this << value.has_value();
    return value ? *this << *value : *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads them. The other process may have been led astray by its file: nothing that it says is taken on trust.
class PieceReader {
 public:
  PieceReader(std::string_view bytes, const std::string& path) : rest_(bytes), path_(path) {}
  template <class T>
  requires std::is_trivially_copyable_v<T> PieceReader& operator>>(T& value) {
    std::memcpy(&value, take(sizeof value), sizeof value);
    return *this;
  }
  PieceReader& operator>>(bool& value) {
    uint8_t byte = 0;
    *this >> byte;
    value = byte != 0;
    return *this;
  }
  PieceReader& operator>>(std::string& text) {
    uint64_t size = 0;
    *this >> size;
    text.assign(take(size), size);
    return *this;
  }
  PieceReader& operator>>(std::vector<std::string>& texts) {
    uint64_t count = 0;
    *this >> count;
    if (count > rest_.size() / sizeof(uint64_t)) take(rest_.size() + 1);
    texts.resize(count);
    for (std::string& text : texts) *this >> text;
    return *this;
  }
  template <class T>
  PieceReader& operator>>(std::vector<T>& values) {
    uint64_t count = 0;
    *this >> count;
    if (count > rest_.size() / sizeof(T)) take(rest_.size() + 1);
    values.resize(count);
    if (count > 0) std::memcpy(values.data(), take(count * sizeof(T)), count * sizeof(T));
    return *this;
  }
  template <class T>
  PieceReader& operator>>(std::optional<T>& value) {
    bool there = false;
    *this >> there;
    value.reset();
    return there ? *this >> value.emplace() : *this;
  }

 private:
  const char* take(size_t size) {
    if (size > rest_.size())
      throw InputError("[fields] {}: expected a whole answer of the process that decodes it, got a part", path_);
    const char* at = rest_.data();
    rest_.remove_prefix(size);
    return at;
  }
  std::string_view rest_;
  const std::string& path_;
};

PieceWriter& operator<<(PieceWriter& to, const FieldChoice& choice);
PieceReader& operator>>(PieceReader& from, FieldChoice& choice);
PieceWriter& operator<<(PieceWriter& to, const Grid& grid);
PieceReader& operator>>(PieceReader& from, Grid& grid);
/// Without its grid.
PieceWriter& operator<<(PieceWriter& to, const FieldMessage& message);
PieceReader& operator>>(PieceReader& from, FieldMessage& message);

/// False where the other end is gone.
bool send_piece(int socket, Piece kind, const PieceWriter& content = {});
bool receive_all(int socket, void* data, size_t size);

}  // namespace htfm
