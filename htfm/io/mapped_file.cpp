#include "htfm/io/mapped_file.h"

#include <ATen/ops/from_blob.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "htfm/base/error.h"

namespace htfm {

void MappedFile::map(int descriptor, const std::string& path) {
  if (size_ == 0) return;
  data_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
  if (data_ == MAP_FAILED) {
    data_ = nullptr;
    throw Error("[map] {}: {}", path, system_reason(errno));
  }
}

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
  struct stat status;
  if (!file.is_open()) throw_open_failure(path, errno);
  if (::fstat(file.get(), &status) != 0) throw Error("[read] {}: {}", path, system_reason(errno));
  if (!S_ISREG(status.st_mode)) throw InputError("[read] {}: expected a file, got a folder, a device or a pipe", path);
  size_ = static_cast<size_t>(status.st_size);
  map(file.get(), path);
}

MappedFile::MappedFile(int descriptor, uint64_t size, const std::string& path) : size_(size) { map(descriptor, path); }

MappedFile::~MappedFile() {
  if (data_) ::munmap(data_, size_);
}

at::Tensor mapped_tensor(const std::shared_ptr<const MappedFile>& file, uint64_t offset, at::IntArrayRef shape,
                         at::ScalarType type) {
  // from_blob asks for a pointer to what it might change; nothing does.
  void* data = const_cast<char*>(file->bytes().data() + offset);
  return at::from_blob(
      data, shape, [file](void*) {}, at::TensorOptions().dtype(type));
}

ScratchFile::ScratchFile(const std::string& folder) {
  std::string name = (folder.empty() ? "." : folder) + "/.htfm-scratch-XXXXXX";
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) throw InputError("[write] {}: {}", folder.empty() ? "." : folder, system_reason(errno));
  file_ = Descriptor(fd, name);
  ::unlink(name.c_str());
}

void ScratchFile::append(const void* data, size_t size) {
  file_.write(data, size);
  size_ += size;
}

std::shared_ptr<const MappedFile> ScratchFile::map() const {
  return std::make_shared<MappedFile>(file_.get(), size_, file_.path());
}

}  // namespace htfm
