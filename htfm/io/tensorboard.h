// Event files that TensorBoard reads: scalar curves, one record each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "htfm/io/descriptor.h"

namespace htfm {

class EventWriter {
 public:
  /// Starts a new event file in a folder, which is made where missing. A resumed run names the first step that it will
  /// write again: TensorBoard then forgets what older files say of that step and later ones.
  explicit EventWriter(const std::string& folder, int64_t first_step = -1);
  /// Flushes; a failure here is lost, so flush() beforehand.
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  /// Adds one point of a curve.
  void scalar(std::string_view tag, int64_t step, double value);
  /// Hands everything so far to the system. Error where that fails: the file then ends with a whole record, and the
  /// next flush tries again.
  void flush();
  /// The file that is being written.
  const std::string& path() const { return file_.path(); }

 private:
  void record(const std::string& event);

  Appender file_;
  std::string pending_;
};

}  // namespace htfm
