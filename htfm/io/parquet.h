// Parquet through the pyarrow of a Python interpreter, which hands the table over as CSV.
#pragma once

#include <string>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// The environment variable that names the interpreter; python3 on PATH where it is not set. No file names it: a
/// configuration or a checkpoint may come from somebody else.
inline constexpr const char* kParquetPython = "HTFM_PARQUET_PYTHON";
std::string parquet_python();

/// The content of a Parquet file as CSV with a header: numbers as they are, true and false as 1 and 0, missing values
/// empty, everything else as text. `python`: the interpreter, a path or a name on PATH; empty: parquet_python().
/// InputError where it cannot be run, has no pyarrow, or where the file is no Parquet.
std::string parquet_as_csv(const std::string& path, const std::string& python = "");

}  // namespace htfm
