// A data set of rows, from whichever of the formats holds it.
#pragma once

#include <string>

#include "htfm/base/api.h"
#include "htfm/io/csv.h"

namespace htfm HTFM_PUBLIC {

/// Reads a matrix n x d of finite numbers from an .npy (whole numbers or floats of any width, a vector as one column),
/// a .csv or .tsv (packed too: .csv.gz), a .parquet or an .xlsx file (float64), with its column names where the file
/// has them. InputError for any other extension, shape or content.
Table read_table(const std::string& path, const ColumnChoice& choice = {}, const ReadRules& rules = {});

/// Samples that a command wrote (.npy, or what read_table takes): rows that diverged may stand in an .npy file.
at::Tensor read_sample_rows(const std::string& path);

}  // namespace htfm
