// A field of a file, and which of them are wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/field/calendar.h"
#include "htfm/field/grid.h"

namespace htfm HTFM_PUBLIC {

/// Discipline, category and number: what GRIB calls a parameter.
struct ParameterCode {
  int64_t discipline = 0, category = 0, number = 0;
  bool operator==(const ParameterCode&) const = default;
};

/// From discipline/category/number, such as 0/15/3.
ParameterCode parse_parameter_code(const std::string& text);

/// Which fields of a file are wanted; what is left open matches everything.
struct FieldChoice {
  std::string name = {};                   ///< ecCodes' short name or its number of the parameter, or NetCDF's variable
  std::optional<ParameterCode> code = {};  ///< GRIB edition 2 alone
  std::string level_type = {};       ///< GRIB: ecCodes' name (atmosphere, surface, ...) or the number of code table 4.5
  std::optional<double> level = {};  ///< the level's value; NetCDF: of the coordinate that is neither time nor place
  std::optional<int64_t> step = {};  ///< hours from the analysis; of an interval its end
  std::optional<int64_t> step_from = {};  ///< of an interval (an accumulation, a mean) its beginning
  std::string step_type = {};             ///< GRIB: instant, accum, avg, max, ...
  std::optional<int64_t> member = {};     ///< of an ensemble
  bool expand_reduced = false;            ///< GRIB: reduced grids are interpolated along their rows to regular ones
  bool keys = false;                      ///< GRIB: with FieldMessage::keys
  bool everything = false;  ///< also fields of several variables and levels, and those that cannot be read: a list

  /// Step and step_from of hours (6), or of an interval of them (0-6). InputError for anything else.
  void set_step(const std::string& text);
  std::string text() const;  ///< "veril, 0/15/3, level type 10, step 0"
};

using RowVisitor = std::function<void(int64_t row, const double* values)>;

/// One field of a file. Values are those that ecCodes or NetCDF's packing give, in double precision.
class FieldMessage {
 public:
  virtual ~FieldMessage() = default;

  std::string name = {};   ///< of the variable
  std::string text = {};   ///< what it is, for messages and provenance
  std::string units = {};  ///< where the file says them
  std::string title = {};  ///< long name
  std::string level = {};  ///< "isobaricInhPa 500"; empty: it has none
  std::string step = {};   ///< "0", "0-6 (accum)"; empty: it has none
  int64_t time = 0;        ///< of validity, in seconds since 1970 of the calendar; without dates a number in the file
  bool dated = true;       ///< whether the file says a time
  Calendar calendar = Calendar::gregorian;
  std::optional<int64_t> member = {};     ///< of an ensemble
  std::shared_ptr<const Grid> grid = {};  ///< none where there is a problem
  /// GRIB (FieldChoice::keys): "key=value" of what the message says about itself, but for its grid and its packing.
  std::vector<std::string> keys = {};
  std::string problem = {};  ///< why its values cannot be read, and what to do (FieldChoice::everything)

  /// Visits the rows of a window that ends before the last column (row 0 is the window's first); values that the file
  /// marks as missing are NaN. A whole radar mosaic need not be in memory.
  virtual void visit_rows(const Window& window, const RowVisitor& visitor) const = 0;
  /// The same of any window, also of one that goes on with the first column behind the last.
  void visit_window(const Window& window, const RowVisitor& visitor) const;
  /// The same into an array, row by row.
  void read(const Window& window, double* out) const;
};

using FieldVisitor = std::function<void(const FieldMessage&)>;

/// What a file holds, a few of them by name: the end of a message.
std::string found_text(const std::vector<std::string>& found);

}  // namespace htfm
