// The settings of a prepared set by name: what `htfm prepare` has as options, a TOML file as keys and Python as
// arguments.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/field/prepare.h"

namespace htfm HTFM_PUBLIC {

/// What a setting takes: texts, numbers, whole numbers, or nothing (it is there or not).
enum class SettingKind { text, number, whole, flag };

struct PrepareSetting {
  static constexpr int kAny = 1 << 20;

  std::string name, meaning;
  SettingKind kind = SettingKind::text;
  int fewest = 1, most = 1;  ///< values
  double lowest = -std::numeric_limits<double>::infinity();
  bool above = false;  ///< numbers must be above the lowest, not only at least that
  double highest = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};  ///< of a text; empty: any
  /// The numbers that it takes, in words.
  std::string range() const;
};
const std::vector<PrepareSetting>& prepare_settings();

/// Values in text by the names of their settings; several may stand in one text with commas between. A flag is "true"
/// or "false".
using PrepareValues = std::map<std::string, std::vector<std::string>>;

/// What the values say, on top of the recipe that "recipe" names. InputError names the setting that is wrong.
PrepareSpec make_prepare_spec(const PrepareValues& values);

/// The values in a TOML file; '_' in a key is '-' in the name.
PrepareValues read_prepare_values(const std::string& path);

}  // namespace htfm
