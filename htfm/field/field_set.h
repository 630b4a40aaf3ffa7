// A prepared set of fields: one file (safetensors) with the physical values, their times and places, which of them are
// held out, how a network sees them, and where they come from. It is mapped, not read.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/field/calendar.h"
#include "htfm/field/transform.h"

namespace htfm HTFM_PUBLIC {

struct FieldSet {
  at::Tensor fields = {};    ///< n x c x h x w float32, in the variables' own units
  at::Tensor time = {};      ///< n: seconds since 1970; without dates numbers from 0, the same for members of a time
  bool dated = true;         ///< whether the times are dates
  at::Tensor held_out = {};  ///< n of uint8: 1 where a field is not to be trained on
  at::Tensor place = {};     ///< n x 2: row and column of the grid where the window begins
  at::Tensor corners =
      {};                  ///< n x 4 float64: latitude and longitude of the first and of the last point; NaN: not known
  at::Tensor member = {};  ///< n: number in an ensemble; undefined where there is none
  /// Of the rows and columns of the whole grid, or, where these do not depend on each other, of all points of the only
  /// window; undefined: not known.
  at::Tensor latitude = {}, longitude = {};
  WetOutside outside = {};                  ///< the rain beyond the edges; undefined: not known, or not asked for
  int64_t period = 0;                       ///< columns after which the grid comes back to its first (Grid::period)
  Calendar calendar = Calendar::gregorian;  ///< of the times
  FieldTransform transform = {};            ///< fitted to the training part
  std::vector<std::string> channels = {};   ///< names of the variables
  std::vector<std::string> units = {};      ///< their units, as far as they are known
  bool south_first = false;                 ///< the first row is the southern one
  std::string provenance = "{}";            ///< settings, files, what was dropped: a JSON object
  std::string hash = {};                    ///< XXH64 of the data; set on reading

  int64_t size() const { return fields.size(0); }
  /// Latitudes and longitudes of a field's rows and columns, or of all its points row by row; empty: not known.
  std::pair<std::vector<double>, std::vector<double>> places(int64_t field) const;
  /// Whether all fields lie at one place.
  bool one_place() const;
  /// The numbers of the fields of a part, in the set's order.
  std::vector<int64_t> part(bool held_out) const;
  /// Physical values of some fields, copied: n x c x h x w.
  at::Tensor take(const std::vector<int64_t>& index) const;
  /// How far their points lie from the rain (dry_distance); undefined where the transform does not ask.
  at::Tensor distance(const std::vector<int64_t>& index) const;
};

/// Writes a set, atomically.
void write_field_set(const std::string& path, const FieldSet& set);
/// Maps a set; header and data are checked against their hashes. InputError for anything else than a whole set.
FieldSet open_field_set(const std::string& path);
/// Whether a file says that it is one.
bool is_field_set(const std::string& path);

}  // namespace htfm
