// libFuzzer entry point of what model_entry.h calls checkpoint.
#include "fuzz/model_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  htfm::fuzz::checkpoint({reinterpret_cast<const char*>(data), size});
  return 0;
}
