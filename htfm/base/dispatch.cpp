#include "htfm/base/dispatch.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "htfm/base/error.h"

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
  const char* wish = std::getenv("HTFM_ISA");
  if (!wish || !*wish) return best;
  for (const auto& [name, isa] : {std::pair{"base", Isa::base}, {"v3", Isa::v3}, {"v4", Isa::v4}})
    if (std::string_view(wish) == name) return std::min(isa, best);
  throw InputError("[HTFM_ISA] expected base, v3 or v4, got '{}'", wish);
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
