// Tests that need a CUDA device: their suites have "Device" in their names, which `make test-gpu` runs.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "htfm/base/cuda_library.h"
#include "htfm/base/error.h"

namespace htfm::test {

/// Why there is no device; empty where there is one.
inline std::string missing_device() {
  try {
    cuda_entry("htfm_cuda_clock_backend");
    return "";
  } catch (const InputError& e) {
    return e.what();
  }
}

}  // namespace htfm::test

/// Skips the test where there is no device; fails it where HTFM_REQUIRE_CUDA is set.
#define HTFM_NEEDS_DEVICE()                                                           \
  if (const std::string missing = htfm::test::missing_device(); !missing.empty()) {   \
    if (std::getenv("HTFM_REQUIRE_CUDA")) FAIL() << "HTFM_REQUIRE_CUDA: " << missing; \
    GTEST_SKIP() << missing;                                                          \
  }                                                                                   \
  static_assert(true, "")
