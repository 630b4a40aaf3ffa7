// As entry.h, of what is read on the way to a model: configurations, settings, schedules, checkpoints, prepared sets,
// batches of images, logs.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "htfm/base/error.h"
#include "htfm/data/cifar.h"
#include "htfm/field/field_set.h"
#include "htfm/io/json_lines.h"
#include "htfm/io/toml_options.h"
#include "htfm/model/checkpoint.h"
#include "htfm/model/model.h"
#include "htfm/rare/expression.h"

namespace htfm::fuzz {

/// Bytes as a file that has a name as long as this lives, without a disk.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("fuzz", 0)) {
    if (fd_ < 0 || ::write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
    path_ = "/proc/self/fd/" + std::to_string(fd_);
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

/// True where an action is done, false where it is refused.
template <class Action>
bool accepts(Action action) {
  try {
    action();
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// What is accepted must be the same when it is written out and read again.
inline bool toml(std::string_view bytes) {
  const std::string text(bytes);
  return accepts([&] {
    const RunConfig config = parse_config(text, "fuzz.toml");
    if (!config_differences(config, parse_config(format_config(config), "again.toml")).empty()) std::abort();
  });
}

/// A condition that is accepted is true or false of every row.
inline bool expression(std::string_view bytes) {
  return accepts([&] {
    RowNames names;
    names.columns = {"loss", "region_a", "b"}, names.count = 3;
    names.size = [](std::span<const double> row) { return row[0]; };
    const Expression read(std::string(bytes), names, "fuzz");
    const std::vector<double> row{1, -2, 3};
    if (read.is_condition())
      (void)read.truth(row);
    else
      (void)read.number(row);
  });
}

inline bool toml_options(std::string_view bytes) {
  const MemoryFile file(bytes);
  return accepts([&] { read_toml_options(file.path()); });
}

/// Lines of key=value, as --set takes them.
inline bool settings(std::string_view bytes) {
  std::vector<std::string> lines(1);
  for (const char c : bytes) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  }
  return accepts([&] { with_settings({}, lines); });
}

/// The expressions of a schedule.
inline bool schedule(std::string_view bytes) {
  return accepts([&] { with_settings({}, {"path.schedule=near-linear", "path.b=" + std::string(bytes)}); });
}

/// A checkpoint whose hashes are right and whose record and configuration are anybody's: the first line is the record.
inline bool checkpoint(std::string_view bytes) {
  static const Checkpoint good = [] {
    const RunConfig config = parse_config("", "fuzz", {"data.n=64"});
    Checkpoint file{"fuzz.safetensors", {}};
    save_model(Model(config, load_dataset(config)), file);
    return file;
  }();
  const size_t end = std::min(bytes.find('\n'), bytes.size());
  Checkpoint file = good;
  const nlohmann::json patch = nlohmann::json::parse(bytes.substr(0, end), nullptr, false);
  if (!patch.is_object()) return false;
  file.record.merge_patch(patch);
  if (end + 1 < bytes.size()) file.content.metadata["config"] += "\n" + std::string(bytes.substr(end + 1));
  return accepts([&] { load_model(file); });
}

inline bool json_lines(std::string_view bytes) {
  const MemoryFile file(bytes);
  return accepts([&] {
    for (const auto& line : JsonLines::read(file.path()))
      if (!line.is_object()) std::abort();
  });
}

inline bool field_set(std::string_view bytes) {
  const MemoryFile file(bytes);
  return accepts([&] { open_field_set(file.path()); });
}

inline bool cifar(std::string_view bytes) {
  const MemoryFile file(bytes);
  return accepts([&] { read_cifar10(file.path()); });
}

}  // namespace htfm::fuzz
