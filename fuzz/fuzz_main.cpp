// A fuzzer of libFuzzer: feeds bytes to the function that HTFM_FUZZ_ENTRY names, of the header HTFM_FUZZ_HEADER
// (cmake/Fuzz.cmake).
#include HTFM_FUZZ_HEADER

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  htfm::fuzz::HTFM_FUZZ_ENTRY({reinterpret_cast<const char*>(data), size});
  return 0;
}
