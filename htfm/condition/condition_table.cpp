#include "htfm/condition/condition_table.h"

#include <algorithm>

#include "htfm/base/error.h"
#include "htfm/base/parse_number.h"
#include "htfm/base/split.h"

namespace htfm {

std::vector<std::string> ConditionSpec::ways() const {
  std::vector<std::string> out;
  if (!columns.empty()) out.push_back("condition.columns = " + columns);
  if (!file.empty()) out.push_back("condition.file = " + file);
  if (label) out.emplace_back("condition.label = true");
  if (!field.empty()) out.push_back("condition.field = " + field);
  return out;
}

bool ConditionColumn::numbered() const {
  return is_category() && std::all_of(categories.begin(), categories.end(),
                                      [](const std::string& own) { return parse_finite(own).has_value(); });
}

ConditionTable with_untold(ConditionTable table, const std::string& names) {
  if (names.empty()) return table;
  for (const std::string& name : split(names)) {
    const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                    [&](const ConditionColumn& c) { return c.name == name && !c.is_category(); });
    if (found == table.columns.end())
      throw InputError("[condition.untold] expected the name of a given column of numbers, got '{}'", name);
    found->told = false;
  }
  return table;
}

}  // namespace htfm
