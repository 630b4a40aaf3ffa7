// What the columns of a table are taken for, where a file has more than numbers: texts become codes of categories,
// days, or the numbers that they spell.
#pragma once

#include <string>
#include <vector>

#include "htfm/data/table_column.h"
#include "htfm/io/csv.h"

namespace htfm {

struct KindRules {
  std::string kinds = "auto";    ///< FileSpec::kinds
  std::string decimal = "auto";  ///< FileSpec::decimal
  std::string path = {};         ///< for messages
};

/// Takes a table that was read with its texts (ReadRules::texts): afterwards its values are numbers, codes, days, or
/// NaN where one is missing. Identifiers are left out. Returns what the columns are; `notes` gets a sentence for
/// whatever a user should know. InputError, with the line of the file, where a column is neither one thing nor another.
std::vector<TableColumn> recognise_columns(Table& table, const KindRules& rules, std::vector<std::string>& notes);

}  // namespace htfm
