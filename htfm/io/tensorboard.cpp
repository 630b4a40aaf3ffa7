#include "htfm/io/tensorboard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/io/file.h"
#include "htfm/io/hash.h"

namespace htfm {
namespace {

// The few pieces of the protocol buffer encoding that an event needs: tag and type, then the value.
template <class T>
void append_raw(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void append_number(std::string& out, uint32_t field, int64_t value) {
  append_varint(out, field << 3);
  append_varint(out, static_cast<uint64_t>(value));
}

void append_double(std::string& out, uint32_t field, double value) {
  append_varint(out, field << 3 | 1);
  append_raw(out, value);
}

void append_bytes(std::string& out, uint32_t field, std::string_view value) {
  append_varint(out, field << 3 | 2);
  append_varint(out, value.size());
  out.append(value);
}

void append_float(std::string& out, uint32_t field, float value) {
  append_varint(out, field << 3 | 5);
  append_raw(out, value);
}

/// message Event { double wall_time = 1; int64 step = 2;
///                 oneof what { string file_version = 3; Summary summary = 5; SessionLog session_log = 7; } }
std::string event_at(int64_t step) {
  std::string event;
  append_double(event, 1, std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  append_number(event, 2, step);
  return event;
}

/// TFRecord masks its checksums, so that a record of records does not check itself.
uint32_t masked_crc(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace

EventWriter::EventWriter(const std::string& folder, int64_t first_step) {
  make_folder(folder);
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  const int64_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  Descriptor file;
  for (int number = 0; !file.is_open(); ++number) {
    // TensorBoard knows event files by "tfevents" in the name and reads a folder's files in the order of their names.
    const std::string path =
        fmt::format("{}/events.out.tfevents.{:010}.{}.{}.{}", folder, seconds, host, ::getpid(), number);
    file = Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666), path);
    if (!file.is_open() && errno != EEXIST) throw Error("[write] {}: {}", path, system_reason(errno));
  }
  file_ = Appender(std::move(file), 0);
  std::string version = event_at(0);
  append_bytes(version, 3, "brain.Event:2");
  record(version);
  if (first_step >= 0) {
    constexpr int64_t kStart = 1;  // enum SessionStatus of message SessionLog
    std::string log;
    append_number(log, 1, kStart);
    std::string start = event_at(first_step);
    append_bytes(start, 7, log);
    record(start);
  }
  flush();
}

EventWriter::~EventWriter() {
  try {
    flush();
  } catch (...) {
  }
}

void EventWriter::scalar(std::string_view tag, int64_t step, double value) {
  // message Summary { message Value { string tag = 1; float simple_value = 2; } repeated Value value = 1; }
  std::string point;
  append_bytes(point, 1, tag);
  append_float(point, 2, static_cast<float>(value));
  std::string summary;
  append_bytes(summary, 1, point);
  std::string event = event_at(step);
  append_bytes(event, 5, summary);
  record(event);
}

void EventWriter::record(const std::string& event) {
  std::string length;
  append_raw(length, static_cast<uint64_t>(event.size()));
  pending_ += length;
  append_raw(pending_, masked_crc(length));
  pending_ += event;
  append_raw(pending_, masked_crc(event));
}

void EventWriter::flush() {
  if (pending_.empty()) return;
  file_.append(pending_);
  pending_.clear();
}

}  // namespace htfm
