// libFuzzer entry point of the png parser.
#include "fuzz/entry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  htfm::fuzz::png({reinterpret_cast<const char*>(data), size});
  return 0;
}
