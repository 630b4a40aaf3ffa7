// The data set of a run: rows of a synthetic law, a table, images or prepared fields.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/condition/condition_table.h"
#include "htfm/data/constraint.h"
#include "htfm/data/image_set.h"
#include "htfm/data/synthetic.h"
#include "htfm/data/table_column.h"
#include "htfm/field/transform.h"

namespace htfm HTFM_PUBLIC {

struct Dataset {
  at::Tensor rows = {};                      ///< n x dim: float64, as given; of images float32 in [-1,1]
  bool streamed = false;                     ///< the rows are a mapped file: there are more than fit into memory
  std::vector<std::string> names = {};       ///< of the columns; may be empty
  std::vector<TableColumn> columns = {};     ///< what each column holds; empty: numbers, none of them missing
  std::vector<Constraint> constraints = {};  ///< between columns, which every row keeps
  std::string hash = {};                     ///< XXH64 of the rows' bytes
  std::string origin = {};                   ///< what it is, for reports
  std::vector<std::string> notes = {};       ///< what was left out on reading, a sentence each
  std::optional<ImageShape> image = {};      ///< of a row, where rows are images
  std::optional<FieldTransform> field =
      {};                   ///< how rows became what they are, where they are prepared fields; samples go back by it
  std::string fields = {};  ///< the prepared set that rows are fields of, in its order; empty: none
  bool held_out = false;    ///< of that set: those that are held out
  at::Tensor labels = {};   ///< n whole numbers (int64), where the rows have classes
  std::vector<std::string> classes = {};  ///< their names
  ConditionTable conditions = {};         ///< what is given beside the rows (with_conditions); empty: nothing
};

/// The name of a column, counted from 0: as given, or "column 3".
std::string column_name(const Dataset& data, int64_t column);

Dataset synthetic_dataset(Key key, const SyntheticSpec& spec, int64_t n);

/// A file and how to read it.
struct FileSpec {
  std::string path = {};
  std::string columns = {}, drop = {};  ///< names or numbers, comma-separated: only these, or all but these
  std::string missing = "refuse";       ///< rows with missing values: refuse, drop or keep
  bool log_returns = false;             ///< rows become log(x_i / x_(i-1)), column by column, in the order of time
  std::string python = {};              ///< whose pyarrow reads Parquet; empty: parquet_python()
  std::string kind = "table";           ///< table, fields, a kind of images (ImageSpec), or auto: what the path holds
  std::string subset = "all";           ///< of images: all or long-tail
  double imbalance = 0.01;              ///< of the long tail
  /// What columns may hold. numbers: nothing else; auto: what is recognised; or auto and what overrules it, as in
  /// "auto,zip=category,day=date:D.M.Y,grade=ordered:low|mid|high,n=number,key=identifier"; "grade=ordered:@FILE" for a
  /// file with a category a line.
  std::string kinds = "numbers";
  std::string decimal = "auto";  ///< the mark of decimals in texts: auto, point or comma
  std::string constraints = {};  ///< parse_constraints
};

/// The rows of an .npy, .csv, .tsv (or packed, .csv.gz), .parquet or .xlsx file, or images. A first column that only
/// numbers the rows is left out, unless columns are chosen.
Dataset file_dataset(const FileSpec& spec);

/// Rows that are at hand (n x columns, float32 or float64, on the CPU), read as `spec` says a table is: columns are
/// chosen, missing values (NaN) refused or dropped, log-returns taken. spec.path names the rows in messages and
/// reports. Nothing is copied where float64 rows are taken as they are.
Dataset rows_dataset(const at::Tensor& rows, const std::vector<std::string>& names, const FileSpec& spec);
/// The same with what the columns hold: codes of categories, days, NaN for missing values (Dataset::rows).
Dataset rows_dataset(const at::Tensor& rows, const std::vector<std::string>& names,
                     const std::vector<TableColumn>& columns, const FileSpec& spec);
/// Whether reading a file takes more than a moment, so that a user should be told.
bool takes_long(const std::string& path);

/// The part of a prepared set (htfm/field/field_set.h) to train on, or the one held out, as a network sees it. Values
/// are spread by the set's hash: the same in every run. Rows that are more than may be in memory (the variable
/// HTFM_ROW_MEMORY in MiB; otherwise half of what is free) are put into a file without a name, in TMPDIR or beside the
/// set, and read as they are needed.
Dataset field_dataset(const std::string& path, bool held_out);

/// Images as rows.
Dataset image_dataset(const ImageSet& set);

/// A random share of the rows (at least one, where the share is not 0) set apart: what stays, and what is held out,
/// both in the rows' order.
std::pair<Dataset, Dataset> split_rows(const Dataset& data, double share, Key key);
/// So many rows, drawn at random, in the rows' order; all of them where there are no more.
Dataset some_rows(const Dataset& data, int64_t count, Key key);

}  // namespace htfm
