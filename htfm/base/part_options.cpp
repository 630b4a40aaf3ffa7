#include "htfm/base/part_options.h"

#include <cmath>
#include <set>

#include "htfm/base/registry.h"

namespace htfm {

bool is_part_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), allowed);
}

const OptionValue* PartOptions::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

double PartOptions::number(std::string_view name) const {
  const OptionValue* found = find(name);
  if (!found || !std::holds_alternative<double>(*found))
    throw Error("[options] expected a number named '{}', got none", name);
  return std::get<double>(*found);
}

int64_t PartOptions::whole(std::string_view name) const {
  const double v = number(name);
  if (!(std::abs(v) <= 9e15) || v != std::floor(v)) throw InputError("[{}] expected a whole number, got {}", name, v);
  return static_cast<int64_t>(v);
}

const std::string& PartOptions::text(std::string_view name) const {
  const OptionValue* found = find(name);
  if (!found || !std::holds_alternative<std::string>(*found))
    throw Error("[options] expected a text named '{}', got none", name);
  return std::get<std::string>(*found);
}

PartOptions own_options(const std::vector<PartOption>& known, const PartOptions& config, std::string_view section,
                        const std::string& part) {
  PartOptions out;
  for (const PartOption& option : known) {
    const OptionValue* own = config.find(part + "." + option.name);
    const OptionValue& value = own ? *own : option.value;
    if (value.index() != option.value.index())
      throw InputError("[{}.{}.{}] expected a {}, got a {}", section, part, option.name,
                       option.value.index() == 0 ? "number" : "text", value.index() == 0 ? "number" : "text");
    if (const double* v = std::get_if<double>(&value); v && !(*v >= option.lowest && *v <= option.highest))
      throw InputError("[{}.{}.{}] expected a number from {} to {}, got {}", section, part, option.name, option.lowest,
                       option.highest, *v);
    out.set(option.name, value);
  }
  return out;
}

void check_options(const std::vector<PartOption>& options, std::string_view what, std::string_view part) {
  std::set<std::string> seen;
  for (const PartOption& option : options) {
    if (!is_part_name(option.name))
      throw InputError("[register_{}] {}: expected names of options of letters, digits, '-' and '_', got '{}'", what,
                       part, option.name);
    if (!seen.insert(option.name).second)
      throw InputError("[register_{}] {}: expected each option once, got '{}' twice", what, part, option.name);
  }
}

}  // namespace htfm
