// The data set of a run: rows in memory, from a synthetic law or a file.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "htfm/data/synthetic.h"

namespace htfm {

struct Dataset {
  at::Tensor rows = {};                 ///< n x dim, float64, as given
  std::vector<std::string> names = {};  ///< of the columns; may be empty
  std::string hash = {};                ///< XXH64 of the rows' bytes
  std::string origin = {};              ///< what it is, for reports
  std::vector<std::string> notes = {};  ///< what was left out on reading, a sentence each
};

Dataset synthetic_dataset(Key key, const SyntheticSpec& spec, int64_t n);

/// A file and how to read it.
struct FileSpec {
  std::string path = {};
  std::string columns = {}, drop = {};  ///< names or numbers, comma-separated: only these, or all but these
  std::string missing = "refuse";       ///< rows with missing values: refuse or drop
  bool log_returns = false;             ///< rows become log(x_i / x_(i-1)), column by column
  std::string python = "python3";       ///< whose pyarrow reads Parquet
};

/// The rows of an .npy, .csv, .tsv or .parquet file. A first column that only numbers the rows is left out, unless columns are chosen.
Dataset file_dataset(const FileSpec& spec);

/// A random share of the rows (at least one, where the share is not 0) set apart: what stays, and what is held out, both in the rows'
/// order.
std::pair<Dataset, Dataset> split_rows(const Dataset& data, double share, Key key);

}  // namespace htfm
