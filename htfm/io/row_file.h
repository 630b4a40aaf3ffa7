// A file of many rows that is written part by part, is there wholly or not at all, and is taken up again where a
// process that wrote it was stopped.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/io/csv.h"

namespace htfm HTFM_PUBLIC {

/// What stands in the rows of a file, and how.
struct RowFormat {
  std::vector<int64_t> shape;           ///< of a row: {} for a number, {3} for three, {1, 64, 64} for a field
  at::ScalarType type = at::kDouble;    ///< float32, float64 or int64
  bool csv = false;                     ///< text with commas, or .npy
  std::vector<std::string> names = {};  ///< .csv: a header
  std::vector<int> digits = {};         ///< .csv: significant digits of each column (write_csv)
  CellText text = {};                   ///< .csv: cells that are no plain numbers

  /// Whether a file named so is .csv.
  static bool is_csv(const std::string& path) { return path.ends_with(".csv"); }
};

/// Writes rows first to last of a file of `total` rows: what stands before the first row is written with it.
class RowWriter {
 public:
  /// `first`: the number of the first row, from 0.
  RowWriter(Sink& sink, RowFormat format, int64_t first, int64_t total);
  /// Appends rows: a tensor of n rows with as many numbers as the format's shape, converted to its type.
  void append(const at::Tensor& rows);
  /// The number of the row that comes next.
  int64_t next() const { return next_; }

 private:
  Sink& sink_;
  RowFormat format_;
  int64_t next_, total_;
};

/// A whole file. Until finish() its rows stand in `.<name>.htfm-part` beside it, and how many these are in
/// `.<name>.htfm-part.json`.
class RowFile {
 public:
  /// `key` says what the rows are: those of another process are taken up only where it had the same one and `resume` is
  /// asked for. InputError where `resume` is asked for and what is there has another key.
  RowFile(std::string path, RowFormat format, int64_t total, std::string key, bool resume);
  /// Takes the part away, unless finish() or keep() was called.
  ~RowFile();
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;

  /// Rows that are there: the number of the one that comes next.
  int64_t rows() const;
  void append(const at::Tensor& rows);
  /// Puts the file in its place. Error unless all rows are there.
  void finish();
  /// Leaves the part where it is, to be taken up by another process.
  void keep() { kept_ = true; }

 private:
  struct State;
  std::string path_, part_, note_;
  int64_t total_;
  std::string key_;
  bool kept_ = false;
  std::unique_ptr<State> state_;
};

}  // namespace htfm
