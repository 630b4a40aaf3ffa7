#include "htfm/field/field_pieces.h"

#include <sys/socket.h>

#include <cerrno>

namespace htfm {

// Every member, by name: one that is added does not compile until it is sent too.
PieceWriter& operator<<(PieceWriter& to, const FieldChoice& choice) {
  const auto& [name, code, level_type, level, step, step_from, step_type, member, expand_reduced, keys, everything] =
      choice;
  return to << name << code << level_type << level << step << step_from << step_type << member << expand_reduced << keys
            << everything;
}
PieceReader& operator>>(PieceReader& from, FieldChoice& choice) {
  auto& [name, code, level_type, level, step, step_from, step_type, member, expand_reduced, keys, everything] = choice;
  return from >> name >> code >> level_type >> level >> step >> step_from >> step_type >> member >> expand_reduced >>
         keys >> everything;
}
PieceWriter& operator<<(PieceWriter& to, const Grid& grid) {
  const auto& [height, width, kind, key, south_first, latitude, longitude] = grid;
  return to << height << width << kind << key << south_first << latitude << longitude;
}
PieceReader& operator>>(PieceReader& from, Grid& grid) {
  auto& [height, width, kind, key, south_first, latitude, longitude] = grid;
  return from >> height >> width >> kind >> key >> south_first >> latitude >> longitude;
}
PieceWriter& operator<<(PieceWriter& to, const FieldMessage& message) {
  const auto& [name, text, units, title, level, step, time, dated, calendar, member, grid, keys, problem] = message;
  static_cast<void>(grid);  // sent where it is another than the last one
  return to << name << text << units << title << level << step << time << dated << calendar << member << keys
            << problem;
}
PieceReader& operator>>(PieceReader& from, FieldMessage& message) {
  auto& [name, text, units, title, level, step, time, dated, calendar, member, grid, keys, problem] = message;
  static_cast<void>(grid);
  return from >> name >> text >> units >> title >> level >> step >> time >> dated >> calendar >> member >> keys >>
         problem;
}

namespace {

bool send_all(int socket, const void* data, size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::send(socket, from, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    from += n, size -= static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

bool send_piece(int socket, Piece kind, const PieceWriter& content) {
  const PieceHead head{kind, content.bytes().size()};
  return send_all(socket, &head, sizeof head) && send_all(socket, content.bytes().data(), head.size);
}

bool receive_all(int socket, void* data, size_t size) {
  char* to = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = ::recv(socket, to, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to += n, size -= static_cast<size_t>(n);
  }
  return true;
}

}  // namespace htfm
