#include "htfm/base/dispatch.h"

#include <cstdlib>
#include <string_view>

namespace htfm {

namespace {

Isa detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  Isa best = Isa::base;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) best = Isa::v3;
  if (best == Isa::v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
    best = Isa::v4;
  if (const char* wish = std::getenv("HTFM_ISA")) {
    if (std::string_view(wish) == "base") best = Isa::base;
    if (std::string_view(wish) == "v3" && best == Isa::v4) best = Isa::v3;
  }
  return best;
#else
  return Isa::base;
#endif
}

}  // namespace

Isa isa() {
  static const Isa value = detect();
  return value;
}

const char* isa_name() {
  switch (isa()) {
    case Isa::v4: return "x86-64-v4 (AVX-512)";
    case Isa::v3: return "x86-64-v3 (AVX2)";
    default: return "baseline";
  }
}

}  // namespace htfm
