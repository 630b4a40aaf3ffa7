// The fields of a set while it is made: values one after another in a file, and what each of them is. A store with a
// name outlives a process that is killed, and is taken up again.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "htfm/io/json_lines.h"
#include "htfm/io/mapped_file.h"

namespace htfm {

/// A field that is kept.
struct StoredField {
  int64_t time = 0, window = 0, member = -1;
  std::vector<std::vector<int32_t>> outside = {};  ///< of each channel (Frame::outside); empty: not asked for
};

class FrameStore {
 public:
  /// Without a name, beside `output`.
  explicit FrameStore(const std::string& output);
  /// With one: the folder `output`.partial. What was done is taken up where `settings` are the same; InputError where
  /// they are others.
  FrameStore(const std::string& output, const nlohmann::json& settings);

  /// What a file that is done gave; lines of an earlier run come first.
  const std::vector<nlohmann::json>& lines() const { return lines_; }
  bool is_done(const std::string& file) const { return done_.contains(file_key(file)); }
  const std::vector<StoredField>& fields() const { return fields_; }

  void append(const StoredField& field, const float* values, size_t count);
  /// A file is done; `line` says what became of it.
  void finish_file(const std::string& file, nlohmann::json line);
  /// All values so far.
  std::shared_ptr<const MappedFile> map() const;
  /// Removes what has a name: the set is written.
  void remove();

 private:
  static std::string file_key(const std::string& file);  // name, size and time of change
  std::string folder_;                                   // empty: no name
  std::optional<ScratchFile> scratch_;
  std::optional<Appender> data_;
  std::optional<JsonLines> log_;
  std::vector<nlohmann::json> lines_;
  std::vector<StoredField> fields_, fresh_;  // of all files, and of the one at hand
  std::set<std::string> done_;
};

}  // namespace htfm
