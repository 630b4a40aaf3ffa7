#include "htfm/io/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "htfm/base/error.h"

namespace htfm {
namespace {

constexpr std::string_view kTemporaryEnd = ".htfm-tmp";

Descriptor open_to_read(const std::string& path, struct stat& status) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
  if (!file.is_open()) throw_open_failure(path, errno);
  if (::fstat(file.get(), &status) != 0) throw Error("[read] {}: {}", path, system_reason(errno));
  if (S_ISDIR(status.st_mode)) throw InputError("[read] {}: expected a file, got a folder", path);
  return file;
}

/// Reads up to `size` bytes: fewer only at the end of the file.
size_t read_up_to(const Descriptor& file, char* out, size_t size, std::optional<uint64_t> offset) {
  constexpr size_t kMost = size_t{1} << 30;
  size_t done = 0;
  while (done < size) {
    const size_t want = std::min(size - done, kMost);
    const ssize_t got = offset ? ::pread(file.get(), out + done, want, static_cast<off_t>(*offset + done))
                               : ::read(file.get(), out + done, want);
    if (got < 0) {
      if (errno == EINTR) continue;
      throw Error("[read] {}: {}", file.path(), system_reason(errno));
    }
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

class FileSink : public Sink {
 public:
  explicit FileSink(Descriptor& file) : file_(file) { buffer_.reserve(kBuffer); }
  using Sink::write;
  void write(const void* data, size_t size) override {
    if (buffer_.size() + size > kBuffer) flush();
    if (size >= kBuffer) {
      file_.write(data, size);
    } else {
      buffer_.append(static_cast<const char*>(data), size);
    }
  }
  void flush() {
    file_.write(buffer_.data(), buffer_.size());
    buffer_.clear();
  }

 private:
  static constexpr size_t kBuffer = size_t{256} << 10;
  Descriptor& file_;
  std::string buffer_;
};

struct FilePlace {
  std::string folder;  // ends in a slash, or is empty for the working folder
  std::string name;
};

FilePlace split(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash + 1), path.substr(slash + 1)};
}

/// A folder that is not there, or one of the system's in which nothing can be made.
[[noreturn]] void throw_no_place(const std::string& path, const std::string& folder) {
  struct stat status;
  if (::stat(folder.empty() ? "." : folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
    throw InputError("[write] {}: nothing can be made in {}: give another place", path, folder);
  throw InputError("[write] {}: the folder {} does not exist: make it, or give another place", path, folder);
}

/// Makes an empty file beside the target. Its lock tells remove_temporaries that somebody still writes it.
Descriptor open_temporary(const FilePlace& place, const std::string& path, std::string& temporary) {
  static std::atomic<uint64_t> counter{0};
  for (;;) {
    temporary =
        fmt::format("{}.{}.{}.{}{}", place.folder, place.name.substr(0, 190), ::getpid(), counter++, kTemporaryEnd);
    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), path);
    if (file.is_open()) {
      ::flock(file.get(), LOCK_EX | LOCK_NB);
      return file;
    }
    if (errno == EEXIST) continue;
    if (errno == ENOENT || errno == ENOTDIR) throw_no_place(path, place.folder);
    throw Error("[write] {}: {}", path, system_reason(errno));
  }
}

/// Makes and removes an empty file: permissions do not tell whether a folder takes files (/proc, a full disk).
void try_file(const FilePlace& place, const std::string& path) {
  std::string temporary;
  open_temporary(place, path, temporary);
  ::unlink(temporary.c_str());
}

/// The same of a folder, under a name of its own: several processes may look at the same time.
void try_folder(const std::string& parent, const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  const std::string tried = fmt::format("{}/.folder.{}.{}{}", parent, ::getpid(), counter++, kTemporaryEnd);
  if (::mkdir(tried.c_str(), 0777) != 0) {
    if (errno == ENOENT) throw_no_place(path, parent);
    throw Error("[write] {}: cannot make the folder: {}", path, system_reason(errno));
  }
  try {
    try_file({tried + "/", "file"}, path);
  } catch (...) {
    ::rmdir(tried.c_str());
    throw;
  }
  ::rmdir(tried.c_str());
}

/// The file that a write replaces: a link stays, and what it names is written.
std::string target_of(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), &std::free);
  return resolved ? resolved.get() : path;
}

void sync_folder(const std::string& folder, const std::string& path) {
  Descriptor descriptor(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), path);
  // A folder that may be written but not read cannot be synced; the rename itself has happened.
  if (descriptor.is_open()) descriptor.sync();
}

void write_through(const std::string& path, const std::function<void(Sink&)>& writer) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC), path);
  if (!file.is_open()) throw Error("[write] {}: {}", path, system_reason(errno));
  FileSink sink(file);
  writer(sink);
  sink.flush();
  file.close();
}

}  // namespace

std::string read_file(const std::string& path) {
  struct stat status;
  const Descriptor file = open_to_read(path, status);
  // One byte more than promised: at the end of a regular file the first call then reads short and the loop is over.
  // Pipes and /proc promise nothing.
  size_t step = S_ISREG(status.st_mode) ? static_cast<size_t>(status.st_size) + 1 : 0;
  step = std::max(step, size_t{64} << 10);
  std::string bytes;
  for (;;) {
    const size_t before = bytes.size();
    bytes.resize(before + step);
    const size_t got = read_up_to(file, bytes.data() + before, step, std::nullopt);
    bytes.resize(before + got);
    if (got < step) return bytes;
    step = bytes.size();
  }
}

void Source::read(uint64_t offset, void* out, uint64_t size) const {
  if (offset > size_ || size > size_ - offset) {
    throw InputError("[read] {}: expected {} bytes from byte {}, got the end of the file at {}", name_, size, offset,
                     size_);
  }
  if (size > 0) copy(offset, out, size);
}

FileSource::FileSource(const std::string& path) : Source(path, 0) {
  struct stat status;
  file_ = open_to_read(path, status);
  if (!S_ISREG(status.st_mode)) throw InputError("[read] {}: expected a regular file, got a device or a pipe", path);
  size_ = static_cast<uint64_t>(status.st_size);
}

void FileSource::copy(uint64_t offset, void* out, uint64_t size) const {
  const size_t got = read_up_to(file_, static_cast<char*>(out), size, offset);
  if (got < size)
    throw InputError("[read] {}: expected {} bytes from byte {}, got {}: the file has shrunk", name_, size, offset,
                     got);
}

SequentialFile::SequentialFile(const std::string& path) {
  struct stat status;
  file_ = open_to_read(path, status);
}

bool SequentialFile::append_to(std::string& buffer, size_t size) const {
  const size_t before = buffer.size();
  buffer.resize(before + size);
  const size_t got = read_up_to(file_, buffer.data() + before, size, std::nullopt);
  buffer.resize(before + got);
  return got > 0;
}

void MemorySource::copy(uint64_t offset, void* out, uint64_t size) const {
  std::memcpy(out, bytes_.data() + offset, size);
}

void atomic_write(const std::string& path, const std::function<void(Sink&)>& writer) {
  struct stat status;
  const bool exists = ::stat(path.c_str(), &status) == 0;
  std::string target = path;
  if (exists) {
    if (S_ISDIR(status.st_mode)) throw InputError("[write] {}: expected a file, got a folder", path);
    if (!S_ISREG(status.st_mode)) return write_through(path, writer);
    // Renaming would succeed on a file that its owner has made read-only.
    if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0)
      throw Error("[write] {}: {}", path, system_reason(errno));
    target = target_of(path);
  }
  const FilePlace place = split(target);
  if (place.name.empty()) throw InputError("[write] '{}': expected the name of a file", path);

  std::string temporary;
  Descriptor file = open_temporary(place, path, temporary);
  try {
    if (exists) ::fchmod(file.get(), status.st_mode & 07777);
    FileSink sink(file);
    writer(sink);
    sink.flush();
    file.sync();
    file.close();
    if (::rename(temporary.c_str(), target.c_str()) != 0) throw Error("[write] {}: {}", path, system_reason(errno));
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_folder(place.folder, path);
}

void atomic_write(const std::string& path, std::string_view bytes) {
  atomic_write(path, [&](Sink& sink) { sink.write(bytes); });
}

void check_can_write(const std::string& path) {
  struct stat status;
  if (split(path).name.empty()) throw InputError("[write] '{}': expected the name of a file", path);
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (!exists && (errno == ENAMETOOLONG || errno == ELOOP))
    throw InputError("[write] {}: {}", path, system_reason(errno));
  if (exists && S_ISDIR(status.st_mode)) throw InputError("[write] {}: expected a file, got a folder", path);
  if (exists && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0)
    throw Error("[write] {}: {}", path, system_reason(errno));
  if (exists && !S_ISREG(status.st_mode)) return;
  try_file(split(exists ? target_of(path) : path), path);
}

void check_can_make_folder(const std::string& path) {
  if (path.empty()) throw InputError("[write] expected the name of a folder, got none");
  struct stat status;
  std::string there = path;
  while (::stat(there.c_str(), &status) != 0 && errno == ENOENT) {
    there = there.substr(0, there.find_last_not_of('/') + 1);
    const std::string parent = split(there).folder;
    there = parent.empty() ? "." : parent;
  }
  if (::stat(there.c_str(), &status) != 0) throw InputError("[write] {}: {}", path, system_reason(errno));
  if (!S_ISDIR(status.st_mode)) throw InputError("[write] {}: expected a folder, got a file at {}", path, there);
  if (there == path)
    try_file({there + "/", "file"}, path);
  else
    try_folder(there, path);
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw Error("[write] {}: cannot make the folder: {}", path, error.message());
}

int remove_temporaries(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(folder.c_str()), &::closedir);
  if (!listing) throw_open_failure(folder, errno);
  int removed = 0;
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with('.') || !name.ends_with(kTemporaryEnd)) continue;
    const std::string path = fmt::format("{}/{}", folder, name);
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC), path);
    if (file.is_open() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && ::unlink(path.c_str()) == 0) ++removed;
  }
  return removed;
}

}  // namespace htfm
