#include "htfm/condition/condition_table.h"

#include <algorithm>

#include "htfm/condition/number_text.h"

namespace htfm {

bool ConditionColumn::numbered() const {
  return is_category() && std::all_of(categories.begin(), categories.end(),
                                      [](const std::string& own) { return number_in(own).has_value(); });
}

}  // namespace htfm
