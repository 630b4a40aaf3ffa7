// The families by name. A new family is one file that defines <name>_family() and one entry here.
#include "htfm/base/registry.h"

#include "htfm/clock/clock.h"

#define HTFM_CLOCK_FAMILIES(X)           \
  X(deterministic_family)                \
  X(stable_family)                       \
  X(inverse_gamma_family)                \
  X(gamma_family)                        \
  X(inverse_gaussian_family)             \
  X(generalised_inverse_gaussian_family) \
  X(tempered_stable_family)              \
  X(compound_poisson_family)             \
  X(fitted_family)                       \
  X(auto_family)

namespace htfm {

#define X(family) ClockFamily family();
HTFM_CLOCK_FAMILIES(X)
#undef X

std::span<const ClockFamily> clock_families() {
#define X(family) family(),
  static const std::vector<ClockFamily> families{HTFM_CLOCK_FAMILIES(X)};
#undef X
  return families;
}

std::unique_ptr<Clock> make_clock(const ClockSpec& spec) {
  const ClockFamily& family = find_named(clock_families(), spec.family, "clock.family");
  if (spec.grid < 1 || spec.grid > 1'000'000)
    throw InputError("[clock.grid] expected a number of steps from 1 to 1000000, got {}", spec.grid);
  if (!(spec.scale > 0 && std::isfinite(spec.scale * spec.scale)))
    throw InputError("[clock.scale] expected a positive scale, got {}", spec.scale);
  for (const auto& given : spec.parameters)
    if (std::none_of(family.parameters.begin(), family.parameters.end(), [&](const ClockParameter& p) { return p.name == given.first; }))
      throw InputError("[clock.{}] expected no such parameter for the family {}, got {}", given.first, family.name, given.second);
  for (const ClockParameter& p : family.parameters) {
    const auto found = spec.parameters.find(p.name);
    if (found == spec.parameters.end())
      throw InputError("[clock.{}] expected a value ({}) for the family {}, got none", p.name, p.meaning, family.name);
    if (!(found->second > p.lower && found->second < p.upper))
      throw InputError("[clock.{}] expected {} in ({}, {}), got {}", p.name, p.meaning, p.lower, p.upper, found->second);
  }
  return family.make(spec);
}

}  // namespace htfm
