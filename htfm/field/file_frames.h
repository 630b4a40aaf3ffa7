// The windows of all frames of one file, before anything is kept of them. Files can be read in several threads.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "htfm/field/prepare.h"

namespace htfm {

/// What the first field decides for all files.
struct FrameLayout {
  std::shared_ptr<const Grid> grid = {};
  Calendar calendar = Calendar::gregorian;
  bool dated = true;  ///< FieldMessage::dated
  std::vector<Window> windows = {};
  std::string file = {};                                        ///< the first one
  int64_t asked = 0;                                            ///< windows before those outside the coverage went
  std::vector<std::string> names = {}, units = {}, texts = {};  ///< of the channels
  std::vector<std::string> own_units = {};                      ///< as the first file has them
};

/// A time, or a member of an ensemble at a time: the windows of each channel one after another, NaN where missing;
/// empty: the channel is not there.
struct Frame {
  std::vector<std::vector<float>> channels = {};
  /// Of each channel and window the wet points outside of it (WetOutside), row and column in turn; empty: not asked
  /// for.
  std::vector<std::vector<std::vector<int32_t>>> outside = {};
};
using FileFrames = std::map<std::pair<int64_t, int64_t>, Frame>;  ///< by time and member (-1: none)

/// Looks at the first field of each channel of a file. InputError as visit_fields, and where no window fits.
FrameLayout look_at_first(const std::string& file, const PrepareSpec& spec);
/// Reads a file. InputError where a field has another grid, calendar or unit, or two are the same.
FileFrames read_frames(const std::string& file, const PrepareSpec& spec, const FrameLayout& layout);

}  // namespace htfm
