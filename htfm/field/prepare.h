// From files of fields to a prepared set: which fields, which windows of them, which times, and how a network is to see
// them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/field/field_file.h"
#include "htfm/field/field_set.h"

namespace htfm HTFM_PUBLIC {

struct PrepareSpec {
  std::string recipe = {};                 ///< the one that it began as
  std::vector<FieldChoice> channels = {};  ///< one each
  std::vector<std::string> names = {},
                           units =
                               {};  ///< of the channels, where the file's are not to be used: local tables have none
  int64_t height = 0, width = 0;    ///< of the windows; 0: the whole grid, or what `box` holds
  std::optional<std::pair<int64_t, int64_t>> offset = {};  ///< one window: its first row and column
  std::optional<Place> centre = {};                        ///< or the place of its middle
  std::optional<std::pair<Place, Place>> box = {};         ///< or its south-western and north-eastern corner
  int64_t tiles = 0;        ///< or windows so many rows and columns apart, those inside the coverage of the first frame
  int64_t train_tiles = 0;  ///< those to train on so many apart instead; 0: as all others
  std::optional<double> mask_below = {};  ///< smaller values are codes: missing
  std::string train = {}, test = {};      ///< TimePart: those to train on (empty: all others), those held out
  FieldTransform transform = {};
  std::vector<std::string> plain = {};  ///< names of channels that take neither logarithm nor threshold: a temperature
  int64_t sequence = 1;                 ///< so many times after each other as channels of one field
  int64_t interval = 0;                 ///< seconds between them; 0: the shortest between two times
  bool skip_damaged = false;            ///< files that cannot be read are left out and named
  bool resume = false;  ///< what is read is kept in a folder beside the set, and taken up again after a stop
};

struct Recipe {
  std::string_view name, summary;
  PrepareSpec (*make)();
};
const std::vector<Recipe>& recipes();

/// What became of the fields.
struct PrepareSummary {
  int64_t files = 0, frames = 0;     ///< frames: times with all channels
  int64_t windows = 0, covered = 0;  ///< windows of the grid, and those inside the coverage
  int64_t train = 0, test = 0;       ///< fields kept
  int64_t missing = 0;               ///< fields dropped for a missing value
  int64_t incomplete = 0;            ///< frames dropped, since a channel was not there
  int64_t neither = 0;               ///< fields of times that neither part has
  double lowest = 0, highest = 0,
         dry = 0;  ///< over the fields kept: extremes, and share of values that are exactly 0 (or below the threshold)
  std::vector<std::string> skipped = {};  ///< why files were left out, one line each
};

/// Reads files, as many at a time as there are threads, and writes a set, wholly or not at all. InputError, one line
/// that names file and cause, for anything that does not fit. `report` hears how many files are done.
PrepareSummary prepare_fields(const std::vector<std::string>& files, const PrepareSpec& spec, const std::string& output,
                              const std::function<void(int64_t done)>& report = {});

}  // namespace htfm
