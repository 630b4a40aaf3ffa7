// Tables of numbers as text, read strictly unless told otherwise: a cell that is not a finite number is an error that
// says where it stands.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/io/file.h"
#include "htfm/io/text_cells.h"

namespace htfm HTFM_PUBLIC {

/// Which columns of a table to read: names from its header, or numbers counted from 1.
struct ColumnChoice {
  std::vector<std::string> columns;  // these, in this order; empty means all
  std::vector<std::string> drop;     // all but these; not together with `columns`
};

/// How the rows of a table follow each other in time, by a column of dates.
enum class RowOrder { unknown, forwards, backwards, mixed };

/// A matrix n x d with the names of its columns (empty where the file has none).
struct Table {
  at::Tensor values;
  std::vector<std::string> names;
  RowOrder order = RowOrder::unknown;             ///< where ReadRules asked for it
  std::string order_column = {};                  ///< whose dates told
  std::vector<std::vector<TextCell>> texts = {};  ///< of each column, where ReadRules let them pass: text_place()
  char separator = ',';                           ///< between the cells of its file
};

/// What a reading may let pass.
struct ReadRules {
  bool lenient = false;     // a missing value becomes nan, an empty line a row of them
  bool header = false;      // the first row is a header, whatever stands in it
  std::string advice = {};  // what a message about text or a date adds: "leave the column out with --drop"
  std::string python = {};  // whose pyarrow reads Parquet; empty: parquet_python()
  bool find_order = false;  // look for a column of dates among those that are not read (Table::order)
  bool texts = false;       // texts pass, and whole numbers that begin with a zero are texts; with `lenient`
};

/// More of a text, appended to a buffer; false at its end.
using TextSource = std::function<bool(std::string&)>;

/// Reads a table as float64. The separator is a tab, else a semicolon, else a comma, else a bar, whichever the first
/// line has, or what a line "sep=;" before it names; cells may stand in double quotes, over several lines too; the
/// first row is a header when a cell to be read is text. Columns not chosen may hold anything. The file is read in
/// parts: in memory are little more than the values. InputError with the file's line (from 1) and column for text,
/// missing values, nan, inf and ragged rows.
Table read_csv(const std::string& path, const ColumnChoice& choice = {}, const ReadRules& rules = {});
/// The same from wherever the text comes; `path` is for messages.
Table read_csv(const TextSource& source, const std::string& path, const ColumnChoice& choice = {},
               const ReadRules& rules = {});
/// The same from memory.
Table parse_csv(std::string_view text, const std::string& path, const ColumnChoice& choice = {},
                const ReadRules& rules = {});

/// The text of a cell in a column that does not hold plain numbers, and of missing values: appended to `cell`, true;
/// false leaves the cell to be written as a number.
using CellText = std::function<bool(int64_t column, double value, std::string& cell)>;

/// Writes a matrix (float32, float64 or int64) with commas; `names` makes a header. Each number in its shortest form
/// that reads back equal, or, with `digits` (one for each column), whole numbers exactly and others to so many
/// significant digits (17 or more: as many as it takes).
void write_csv(const std::string& path, const at::Tensor& values, const std::vector<std::string>& names = {},
               const std::vector<int>& digits = {}, const CellText& text = {});
/// The header alone, empty without names, and rows alone, part by part.
void write_csv_header(Sink& sink, const std::vector<std::string>& names);
void write_csv_rows(Sink& sink, const at::Tensor& values, const std::vector<int>& digits = {},
                    const CellText& text = {});
/// The same as text.
std::string format_csv(const at::Tensor& values, const std::vector<std::string>& names = {},
                       const std::vector<int>& digits = {});

/// The positions (from 0) of the chosen columns in a table with `count` columns; `names` may be empty.
std::vector<int64_t> choose_columns(const ColumnChoice& choice, const std::vector<std::string>& names, int64_t count,
                                    const std::string& path);

}  // namespace htfm
