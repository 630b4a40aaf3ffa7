// The families by name. A new family of the library is one file that defines <name>_family() and one entry here; a
// program adds its own with register_clock.
#include "htfm/base/registry.h"

#include "htfm/clock/check_clock.h"
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

namespace {

Registry<ClockFamily>& families() {
#define X(family) family(),
  static Registry<ClockFamily> registry({HTFM_CLOCK_FAMILIES(X)});
#undef X
  return registry;
}

std::string range_text(const ClockParameter& p) {
  return std::isfinite(p.upper) ? fmt::format("between {} and {}", p.lower, p.upper) : fmt::format("above {}", p.lower);
}

}  // namespace

EntryList<ClockFamily> clock_families() { return families().list(); }

void register_clock(ClockFamily family) {
  if (!family.make)
    throw InputError("[register_clock] {}: expected a function that makes the clock, got none", family.name);
  if (family.from_data)
    throw InputError("[register_clock] {}: expected a family with a distribution of its own, got one from data",
                     family.name);
  for (const ClockParameter& p : family.parameters)
    if (!is_part_name(p.name) || p.name == "family" || p.name == "grid" || p.name == "scale")
      throw InputError("[register_clock] {}: expected a parameter whose key clock.<name> is free, got '{}'",
                       family.name, p.name);
  families().add(std::move(family), "clock");
}

void check_clock(const ClockSpec& spec) {
  const ClockFamily& family = find_named(clock_families(), spec.family, "clock.family");
  if (spec.grid < 1 || spec.grid > 1'000'000)
    throw InputError("[clock.grid] expected a number of steps from 1 to 1000000, got {}", spec.grid);
  if (!(spec.scale > 0 && std::isfinite(spec.scale * spec.scale)))
    throw InputError("[clock.scale] expected a positive scale, got {}", spec.scale);
  for (const auto& given : spec.parameters)
    if (std::none_of(family.parameters.begin(), family.parameters.end(),
                     [&](const ClockParameter& p) { return p.name == given.first; }))
      throw InputError("[clock.{}] expected no such parameter for the family {}, got {}", given.first, family.name,
                       given.second);
  for (const ClockParameter& p : family.parameters) {
    const auto found = spec.parameters.find(p.name);
    if (found == spec.parameters.end())
      throw InputError("[clock.{}] expected a number {} ({}) for the family {}, got none", p.name, range_text(p),
                       p.meaning, family.name);
    if (!(found->second > p.lower && found->second < p.upper))
      throw InputError("[clock.{}] expected a number {} ({}), got {}", p.name, range_text(p), p.meaning, found->second);
  }
}

std::unique_ptr<Clock> make_clock(const ClockSpec& spec) {
  check_clock(spec);
  const ClockFamily& family = find_named(clock_families(), spec.family, "clock.family");
  std::unique_ptr<Clock> clock = family.make(spec);
  if (!clock) throw Error("[clock.family] expected {} to make a clock, got none", family.name);
  return clock;
}

}  // namespace htfm
