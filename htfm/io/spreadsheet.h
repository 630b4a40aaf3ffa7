// Excel files through the openpyxl of a Python interpreter, which hands the first sheet over as CSV.
#pragma once

#include <string>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// The first sheet of an .xlsx file as CSV: numbers as they are, dates as ISO, empty cells empty, rows without any cell
/// left out. `python`: as for parquet_as_csv(). InputError where it cannot be run, has no openpyxl, or where the file
/// is no workbook.
std::string xlsx_as_csv(const std::string& path, const std::string& python = "");

}  // namespace htfm
