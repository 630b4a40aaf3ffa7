#include "htfm/condition/condition_table.h"

#include <algorithm>

#include "htfm/base/parse_number.h"

namespace htfm {

bool ConditionColumn::numbered() const {
  return is_category() && std::all_of(categories.begin(), categories.end(),
                                      [](const std::string& own) { return parse_finite(own).has_value(); });
}

}  // namespace htfm
