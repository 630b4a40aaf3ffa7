// As entry.h, of what makes a model: configurations, settings, checkpoints.
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

/// Every key of a configuration is the same when it is written out and read again.
inline void must_survive(const RunConfig& config) {
  must_hold([&] {
    const std::string written = format_config(config);
    return format_config(parse_config(written, "again.toml")) == written;
  });
}

inline bool toml(std::string_view bytes) {
  const std::string text(bytes);
  return accepts([&] { must_survive(parse_config(text, "fuzz.toml")); });
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
  return accepts([&] { must_survive(with_settings({}, lines)); });
}

/// A checkpoint whose hashes are right and whose record and configuration are anybody's: the first line is the record.
/// Its network is as small as can be, and its configuration names no key that has its default.
inline bool checkpoint(std::string_view bytes) {
  static const Checkpoint good = [] {
    const RunConfig config = parse_config("", "fuzz",
                                          {"data.n=64", "clock.grid=4", "net.width=2", "net.blocks=1", "net.groups=1",
                                           "net.time_embedding=2", "net.path_embedding=2"});
    Checkpoint file{"fuzz.safetensors", {}};
    save_model(Model(config, load_dataset(config)), file);
    file.content.metadata["config"] =
        "net.width = 2\nnet.blocks = 1\nnet.groups = 1\nnet.time_embedding = 2\nnet.path_embedding = 2\n";
    must_hold([&] { return load_model(file).dim() == 2; });
    return file;
  }();
  const size_t end = std::min(bytes.find('\n'), bytes.size());
  const nlohmann::json patch = nlohmann::json::parse(bytes.substr(0, end), nullptr, false);
  if (!patch.is_object()) return false;
  static Checkpoint file = good;  // its tensors stay
  static const std::string config = good.content.metadata.at("config");
  file.record = good.record;
  file.record.merge_patch(patch);
  file.content.metadata["config"] = config + std::string(bytes.substr(std::min(end + 1, bytes.size())));
  return accepts([&] { load_model(file); });
}

}  // namespace htfm::fuzz
