// Options of a part that a program registers: keys of a config that belong to that part alone.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// A number or a text.
using OptionValue = std::variant<double, std::string>;

/// One option with its default, which also says whether it is a number or a text. Its key is <section>.<name of the
/// part>.<name>.
struct PartOption {
  std::string name;
  OptionValue value;
  std::string meaning;
  double lowest = -std::numeric_limits<double>::infinity(),
         highest = std::numeric_limits<double>::infinity();  ///< of a number
};

/// Values of options, by name. A config holds those of all parts, as <part>.<option>; a part is made with its own, as
/// <option>.
class PartOptions {
 public:
  double number(std::string_view name) const;
  /// A number without a fraction.
  int64_t whole(std::string_view name) const;
  const std::string& text(std::string_view name) const;

  /// Null where it has no value.
  const OptionValue* find(std::string_view name) const;
  void set(const std::string& name, OptionValue value) { values_[name] = std::move(value); }
  bool empty() const { return values_.empty(); }

 private:
  std::map<std::string, OptionValue, std::less<>> values_;
};

/// A part's own values out of a config's: those given, checked, and the defaults of the others. `section`: of the
/// config, for messages.
PartOptions own_options(const std::vector<PartOption>& known, const PartOptions& config, std::string_view section,
                        const std::string& part);

/// InputError where a name is no name, or stands there twice. `what`: the kind of part.
void check_options(const std::vector<PartOption>& options, std::string_view what, std::string_view part);

}  // namespace htfm
