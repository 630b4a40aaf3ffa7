// Files as the rest of the library sees them: bytes read within bounds, and writes that happen wholly or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "htfm/base/api.h"
#include "htfm/io/descriptor.h"

namespace htfm HTFM_PUBLIC {

/// The whole content of a file. InputError when it does not exist, is a folder or cannot be read.
std::string read_file(const std::string& path);

/// Bytes with a known size that a parser reads from; no read leaves them.
class Source {
 public:
  virtual ~Source() = default;
  /// What messages call it: the path.
  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }
  /// Copies `size` bytes from `offset`; InputError where the source is shorter.
  void read(uint64_t offset, void* out, uint64_t size) const;

 protected:
  Source(std::string name, uint64_t size) : name_(std::move(name)), size_(size) {}
  virtual void copy(uint64_t offset, void* out, uint64_t size) const = 0;

  std::string name_;
  uint64_t size_;
};

/// A regular file as a source.
class FileSource : public Source {
 public:
  explicit FileSource(const std::string& path);

 private:
  void copy(uint64_t offset, void* out, uint64_t size) const override;
  Descriptor file_;
};

/// A file or a pipe that is read from its beginning to its end.
class SequentialFile {
 public:
  explicit SequentialFile(const std::string& path);
  /// Appends up to `size` bytes to a buffer; false at the end.
  bool append_to(std::string& buffer, size_t size) const;

 private:
  Descriptor file_;
};

/// Bytes in memory as a source; they must outlive it.
class MemorySource : public Source {
 public:
  MemorySource(std::string_view bytes, std::string name) : Source(std::move(name), bytes.size()), bytes_(bytes) {}

 private:
  void copy(uint64_t offset, void* out, uint64_t size) const override;
  std::string_view bytes_;
};

/// Where a writer puts its bytes, in order.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(const void* data, size_t size) = 0;
  void write(std::string_view text) { write(text.data(), text.size()); }
};

/// A sink in memory.
class StringSink : public Sink {
 public:
  using Sink::write;
  void write(const void* data, size_t size) override { bytes_.append(static_cast<const char*>(data), size); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Writes a file so that `path` holds either what it held before or all of the new bytes, also across a crash. Throws
/// Error with the system's reason, and leaves no temporary behind, where anything fails (`writer` included). Devices
/// and pipes are written straight through; a symbolic link stays and its target is replaced.
void atomic_write(const std::string& path, const std::function<void(Sink&)>& writer);
void atomic_write(const std::string& path, std::string_view bytes);

/// Before long work: throws what writing `path` at its end would throw, as far as can be told now (no such folder, a
/// folder in its place, no permission, a full disk): an empty file is made beside it and removed.
void check_can_write(const std::string& path);
/// The same of a folder that is to be made, with its parents.
void check_can_make_folder(const std::string& path);
/// Makes a folder and its parents where they are not there.
void make_folder(const std::string& path);

/// Removes the temporaries that killed processes left in a folder; those still being written stay. Returns their
/// number.
int remove_temporaries(const std::string& folder);

}  // namespace htfm
