// Preloaded into the program by inject_test.cpp: makes one call of the system fail. Only files under a folder count, so
// that libraries and /proc are left alone.
//   HTFM_INJECT="write:3:28"    the third write fails with error 28 (ENOSPC)
//   HTFM_INJECT="write:-3:28"   the third and all after it
//   HTFM_INJECT="write:3:-9"    at the third write the process is killed (signal 9)
//   HTFM_INJECT_UNDER=FOLDER    whose files count
//   HTFM_INJECT_COUNT=FILE      where the numbers of calls are written to at the end
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

enum Call { kOpen, kRead, kWrite, kSync, kRename, kTruncate, kLock, kNew, kMemory, kCalls };
constexpr const char* kNames[kCalls] = {"open",     "read", "write", "fsync", "rename",
                                        "truncate", "lock", "new",   "memory"};

std::atomic<long> counts[kCalls];
std::atomic<bool> ours[4096];  // descriptors of files under the folder
int failing = -1, error_number = 0;
long at = 0;
bool all_from_there = false;

__attribute__((constructor)) void set_up() {
  const char* wish = std::getenv("HTFM_INJECT");
  if (!wish) return;
  char name[32] = {};
  if (std::sscanf(wish, "%31[a-z]:%ld:%d", name, &at, &error_number) != 3) return;
  if (at < 0) at = -at, all_from_there = true;
  for (int k = 0; k < kCalls; ++k)
    if (std::strcmp(name, kNames[k]) == 0) failing = k;
}

bool counted(const char* path) {
  static const char* under = std::getenv("HTFM_INJECT_UNDER");
  if (!under || !path) return false;
  // Names are relative where the program runs in the folder.
  return path[0] != '/' || std::strncmp(path, under, std::strlen(under)) == 0;
}

bool fails(Call call) {
  const long n = ++counts[call];
  if (failing != call || (all_from_there ? n < at : n != at)) return false;
  if (error_number < 0) ::raise(-error_number);
  errno = error_number;
  return true;
}

bool is_ours(int fd) { return fd >= 0 && fd < 4096 && ours[fd]; }

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

int open_file(const char* name, const char* path, int flags, mode_t mode) {
  const bool own = counted(path);
  if (own && fails(kOpen)) return -1;
  const int fd = next<int (*)(const char*, int, mode_t)>(name)(path, flags, mode);
  if (fd >= 0 && fd < 4096) ours[fd] = own;
  return fd;
}

void tell() {
  const char* path = std::getenv("HTFM_INJECT_COUNT");
  std::FILE* file = path ? std::fopen(path, "w") : nullptr;
  if (!file) return;
  for (int k = 0; k < kCalls; ++k) std::fprintf(file, "%s %ld\n", kNames[k], counts[k].load());
  std::fclose(file);
}

__attribute__((constructor)) void tell_at_the_end() {
  std::atexit(tell);
  std::at_quick_exit(tell);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
  va_end(list);
  return open_file("open", path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
  va_end(list);
  return open_file("open64", path, flags, mode);
}
ssize_t read(int fd, void* data, size_t size) {
  if (is_ours(fd) && fails(kRead)) return -1;
  return next<ssize_t (*)(int, void*, size_t)>("read")(fd, data, size);
}
ssize_t pread(int fd, void* data, size_t size, off_t offset) {
  if (is_ours(fd) && fails(kRead)) return -1;
  return next<ssize_t (*)(int, void*, size_t, off_t)>("pread")(fd, data, size, offset);
}
ssize_t write(int fd, const void* data, size_t size) {
  if (is_ours(fd) && fails(kWrite)) return -1;
  return next<ssize_t (*)(int, const void*, size_t)>("write")(fd, data, size);
}
int fsync(int fd) {
  if (is_ours(fd) && fails(kSync)) return -1;
  return next<int (*)(int)>("fsync")(fd);
}
int rename(const char* from, const char* to) noexcept {
  if (counted(to) && fails(kRename)) return -1;
  return next<int (*)(const char*, const char*)>("rename")(from, to);
}
int ftruncate(int fd, off_t size) noexcept {
  if (is_ours(fd) && fails(kTruncate)) return -1;
  return next<int (*)(int, off_t)>("ftruncate")(fd, size);
}
int flock(int fd, int operation) noexcept {
  if (is_ours(fd) && fails(kLock)) return -1;
  return next<int (*)(int, int)>("flock")(fd, operation);
}
int posix_memalign(void** out, size_t alignment, size_t size) noexcept {  // tensors
  if (size >= 4096 && fails(kMemory)) return ENOMEM;
  return next<int (*)(void**, size_t, size_t)>("posix_memalign")(out, alignment, size);
}

}  // extern "C"

// Large ones alone: what a program asks for by what it was given.
void* operator new(size_t size) {
  if (size >= 16384 && fails(kNew)) throw std::bad_alloc();
  if (void* data = std::malloc(size ? size : 1)) return data;
  throw std::bad_alloc();
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, size_t) noexcept { std::free(data); }
