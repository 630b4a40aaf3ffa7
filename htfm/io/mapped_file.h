// Memory-mapped files: an existing file, read only, and an unnamed temporary file that grows.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <string_view>

#include "htfm/io/descriptor.h"

namespace htfm {

/// The bytes of a file, read by the system as they are touched. The file must not be cut meanwhile.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  /// Of an open file, `size` bytes.
  MappedFile(int descriptor, uint64_t size, const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void map(int descriptor, const std::string& path);
  void* data_ = nullptr;
  size_t size_ = 0;
};

/// A tensor over bytes of a mapped file, which stays mapped as long as the tensor lives. Not to be written to.
at::Tensor mapped_tensor(const std::shared_ptr<const MappedFile>& file, uint64_t offset, at::IntArrayRef shape,
                         at::ScalarType type);

/// A file without a name in a folder: it grows, is looked at, and is gone with the object or the process.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& folder);
  void append(const void* data, size_t size);
  uint64_t size() const { return size_; }
  const std::string& path() const { return file_.path(); }  ///< the name that it had
  /// What was written so far.
  std::shared_ptr<const MappedFile> map() const;

 private:
  Descriptor file_;
  uint64_t size_ = 0;
};

}  // namespace htfm
