// As entry.h, of what makes a model: configurations, settings, schedules, checkpoints.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support.h"
#include "htfm/model/checkpoint.h"
#include "htfm/model/model.h"

namespace htfm::fuzz {

/// What is accepted must be the same when it is written out and read again.
inline bool toml(std::string_view bytes) {
  const std::string text(bytes);
  return accepts([&] {
    const RunConfig config = parse_config(text, "fuzz.toml");
    must_hold([&] { return config_differences(config, parse_config(format_config(config), "again.toml")).empty(); });
  });
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

}  // namespace htfm::fuzz
