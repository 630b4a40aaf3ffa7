// The library with the CUDA parts, loaded when a device is first asked for, so that the program starts fast and runs
// where there is no CUDA.
#pragma once

namespace htfm {

/// Calls an entry point of the library, `const void* entry(const char** reason)`. InputError where the library, a
/// device or the entry is missing.
const void* cuda_entry(const char* name);

template <class T>
const T& cuda_object(const char* entry) {
  static const T* object = static_cast<const T*>(cuda_entry(entry));
  return *object;
}

}  // namespace htfm
