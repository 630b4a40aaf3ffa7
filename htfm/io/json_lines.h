// A log of one JSON object a line that only grows, and that a killed run can take up again.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "htfm/io/descriptor.h"

namespace htfm {

class JsonLines {
 public:
  /// Opens a log to append to, made where missing. A last line torn by a crash is cut off.
  explicit JsonLines(const std::string& path);
  /// Appends one whole line; a line that cannot be written wholly (full disk) is taken back before Error is thrown.
  void append(const nlohmann::json& line);
  /// Waits until everything appended is on the device.
  void sync();

  /// All lines of a log; a torn last line is left out, any other line that is no JSON object is an InputError
  /// with its number.
  static std::vector<nlohmann::json> read(const std::string& path);
  /// Keeps only the lines that `accept` accepts, atomically, and returns how many went. A missing log has none.
  static int64_t keep(const std::string& path, const std::function<bool(const nlohmann::json&)>& accept);

 private:
  Appender file_;
};

}  // namespace htfm
