// An owned POSIX file descriptor whose failures are exceptions that name the file and the system's reason.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// The system's words for an error number.
std::string system_reason(int error);

/// A file that could not be opened to be read: InputError where its name or its permissions are why, Error otherwise.
[[noreturn]] void throw_open_failure(const std::string& path, int error);

class Descriptor {
 public:
  Descriptor() = default;
  /// Takes over an open descriptor; `path` is for messages.
  Descriptor(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  const std::string& path() const { return path_; }

  /// Writes all bytes or throws Error.
  void write(const void* data, size_t size);
  /// Writes all bytes at a place of the file or throws Error.
  void write_at(uint64_t offset, const void* data, size_t size);
  /// Cuts or extends the file.
  void truncate(uint64_t size);
  /// Waits until the bytes are on the device. A file that cannot be synced (a pipe) is left as it is.
  void sync();
  /// Closes and reports what the system kept back until now (network file systems report a full disk here).
  void close();

 private:
  int fd_ = -1;
  std::string path_;
};

/// A file that grows by whole pieces.
class Appender {
 public:
  Appender() = default;
  /// Takes over a descriptor opened with O_APPEND; `size` is that of the file.
  Appender(Descriptor file, uint64_t size) : file_(std::move(file)), size_(size) {}
  const std::string& path() const { return file_.path(); }

  /// Writes all bytes, or throws Error and takes back those that were written.
  void append(std::string_view bytes);
  void sync() { file_.sync(); }

 private:
  Descriptor file_;
  uint64_t size_ = 0;  // of the whole pieces
  bool torn_ = false;  // part of a piece stands after them
};

}  // namespace htfm
