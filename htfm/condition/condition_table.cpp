#include "htfm/condition/condition_table.h"

#include <algorithm>

#include "htfm/condition/number_text.h"

namespace htfm {

bool ConditionColumn::numbered() const {
  return is_category() && std::all_of(categories.begin(), categories.end(),
                                      [](const std::string& name) { return number_in(name).has_value(); });
}

}  // namespace htfm
