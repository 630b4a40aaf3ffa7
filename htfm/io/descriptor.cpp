#include "htfm/io/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "htfm/base/error.h"

namespace htfm {

std::string system_reason(int error) { return std::generic_category().message(error); }

void throw_open_failure(const std::string& path, int error) {
  for (const int named : {ENOENT, ENOTDIR, EISDIR, EACCES, EPERM, ELOOP, ENAMETOOLONG, ENXIO})
    if (error == named) throw InputError("[read] {}: {}", path, system_reason(error));
  throw Error("[read] {}: {}", path, system_reason(error));
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

void Descriptor::write(const void* data, size_t size) {
  constexpr size_t kMost = size_t{1} << 30;  // Linux writes at most 2 GiB a call
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(fd_, from, std::min(size, kMost));
    if (written < 0) {
      if (errno == EINTR) continue;
      throw Error("[write] {}: {}", path_, system_reason(errno));
    }
    from += written;
    size -= static_cast<size_t>(written);
  }
}

void Descriptor::write_at(uint64_t offset, const void* data, size_t size) {
  constexpr size_t kMost = size_t{1} << 30;
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::pwrite(fd_, from, std::min(size, kMost), static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      throw Error("[write] {}: {}", path_, system_reason(errno));
    }
    from += written;
    size -= static_cast<size_t>(written);
    offset += static_cast<uint64_t>(written);
  }
}

void Descriptor::truncate(uint64_t size) {
  if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) throw Error("[write] {}: {}", path_, system_reason(errno));
}

void Descriptor::sync() {
  while (::fsync(fd_) != 0) {
    if (errno == EINTR) continue;
    if (errno == EINVAL || errno == ENOTSUP || errno == EROFS) return;
    throw Error("[write] {}: {}", path_, system_reason(errno));
  }
}

void Descriptor::close() {
  const int fd = std::exchange(fd_, -1);
  // After EINTR Linux has released the descriptor: closing again could hit another file.
  if (fd >= 0 && ::close(fd) != 0 && errno != EINTR) throw Error("[write] {}: {}", path_, system_reason(errno));
}

void Appender::append(std::string_view bytes) {
  if (torn_) file_.truncate(size_);
  torn_ = true;
  try {
    file_.write(bytes.data(), bytes.size());
  } catch (...) {
    torn_ = ::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0;
    throw;
  }
  torn_ = false;
  size_ += bytes.size();
}

}  // namespace htfm
