#include "htfm/base/cuda_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <string>

#include "htfm/base/error.h"

namespace htfm {

namespace {

// Beside the program, or wherever the loader looks.
void* open_library() {
  char self[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", self, sizeof self - 1);
  if (n > 0) {
    const std::string path(self, static_cast<size_t>(n));
    const std::string beside = path.substr(0, path.rfind('/') + 1) + "libhtfm_cuda.so";
    if (::access(beside.c_str(), R_OK) == 0) return ::dlopen(beside.c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
  return ::dlopen("libhtfm_cuda.so", RTLD_NOW | RTLD_GLOBAL);
}

}  // namespace

const void* cuda_entry(const char* name) {
  static void* library = open_library();
  if (!library) {
    const char* why = ::dlerror();
    throw InputError("[--device] expected cpu: the CUDA parts are not there ({})", why ? why : "libhtfm_cuda.so could not be loaded");
  }
  using Entry = const void* (*)(const char** reason);
  const auto entry = reinterpret_cast<Entry>(::dlsym(library, name));
  const char* reason = "an older libhtfm_cuda.so";
  const void* found = entry ? entry(&reason) : nullptr;
  if (!found) throw InputError("[--device] expected cpu: no usable CUDA device ({})", reason);
  return found;
}

}  // namespace htfm
