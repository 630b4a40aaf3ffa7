// libFuzzer entry point of what model_entry.h calls expression.
#include "fuzz/model_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  htfm::fuzz::expression({reinterpret_cast<const char*>(data), size});
  return 0;
}
