#include "htfm/io/gzip.h"

#include <zlib.h>

#include "htfm/base/error.h"
#include "htfm/io/file.h"

namespace htfm {

struct GzipFile::State {
  explicit State(const std::string& name) : path(name), file(name) {}
  std::string path;
  SequentialFile file;
  z_stream stream = {};
  std::string packed = {};
  bool begun = false, file_ended = false, inside = false;  // inside: in the middle of what was packed as one

  /// Packed bytes for the stream; false where the file has no more.
  bool refill() {
    if (stream.avail_in > 0) return true;
    if (file_ended) return false;
    packed.clear();
    file_ended = !file.append_to(packed, size_t{1} << 16);
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(packed.size());
    return !packed.empty();
  }
  [[noreturn]] void refuse(const char* found) const {
    throw InputError("[gz] {}: expected a whole file that gzip has packed, got {}", path, found);
  }
};

GzipFile::GzipFile(const std::string& path) : state_(std::make_unique<State>(path)) {
  if (::inflateInit2(&state_->stream, 15 + 16) != Z_OK) throw Error("[gz] {}: zlib cannot be started", path);
}

GzipFile::~GzipFile() { ::inflateEnd(&state_->stream); }

bool GzipFile::append_to(std::string& buffer, size_t size) {
  State& s = *state_;
  const size_t before = buffer.size();
  buffer.resize(before + size);
  size_t done = 0;
  while (done == 0) {
    if (!s.refill()) {
      if (s.inside || !s.begun) s.refuse(s.begun ? "one that ends too early" : "an empty one");
      break;
    }
    s.begun = s.inside = true;
    s.stream.next_out = reinterpret_cast<Bytef*>(buffer.data() + before);
    s.stream.avail_out = static_cast<uInt>(size);
    const int code = ::inflate(&s.stream, Z_NO_FLUSH);
    done = size - s.stream.avail_out;
    if (code == Z_STREAM_END) {
      s.inside = false;  // another one may follow
      ::inflateReset(&s.stream);
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      s.refuse(s.stream.msg ? s.stream.msg : "damage");
    }
  }
  buffer.resize(before + done);
  return done > 0;
}

}  // namespace htfm
