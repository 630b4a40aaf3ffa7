#include "htfm/field/frame_store.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/io/file.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The first option that differs: "height 64 there and 128 now".
std::string settings_difference(const json& now, const json& there) {
  json all = now;
  if (there.is_object()) all.update(there);
  const auto text = [](const json& settings, const std::string& key) {
    return settings.is_object() && settings.contains(key) ? settings.at(key).dump() : "none";
  };
  for (const auto& [key, value] : all.items())
    if (const std::string own = text(now, key), other = text(there, key); own != other)
      return fmt::format("{} {} there and {} now", shown_text(key), shown_text(other), own);
  return "none there";
}

// Of a key, which ends with size and time.
std::string file_of_key(const std::string& key) {
  const size_t time = key.rfind(' '), size = time == std::string::npos || time == 0 ? time : key.rfind(' ', time - 1);
  return key.substr(0, size);
}

}  // namespace

FrameStore::FrameStore(const std::string& output) : scratch_(fs::path(output).parent_path().string()) {}

FrameStore::FrameStore(const std::string& output, const json& settings) : folder_(output + ".partial") {
  make_folder(folder_);
  const std::string log = folder_ + "/log.jsonl", data = folder_ + "/data";
  log_.emplace(log);
  const std::vector<json> before = JsonLines::read(log);
  uint64_t bytes = 0;
  if (before.empty()) {
    log_->append({{"settings", settings}});
  } else {
    if (const json read = before.front().value("settings", json::object()); read != settings)
      throw InputError(
          "[resume] {}: expected what was read with the same options, got {}: remove this folder to start again",
          folder_, settings_difference(settings, read));
    for (size_t k = 1; k < before.size(); ++k) {
      const auto key = before[k].at("key").get<std::string>();
      bytes = before[k].at("bytes_so_far");
      if (const std::string path = file_of_key(key); file_key(path) != key && fs::exists(path)) {
        if (before[k].contains("skipped")) continue;  // it may be whole now
        throw InputError(
            "[resume] {}: expected the file that was read before, got one that was changed since: remove the folder {} "
            "to start again",
            path, folder_);
      }
      for (const json& f : before[k].at("kept")) {
        fields_.push_back({f.at(0), f.at(1), f.at(2)});
        if (f.size() > 3) fields_.back().outside = f.at(3).get<std::vector<std::vector<int32_t>>>();
      }
      done_.insert(key);
      lines_.push_back(before[k]);
    }
  }
  Descriptor file(::open(data.c_str(), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0666), data);
  if (!file.is_open()) throw Error("[write] {}: {}", data, system_reason(errno));
  if (fs::file_size(data) < bytes)
    throw InputError("[resume] {}: expected {} bytes, got {}: remove the folder to start again", data, bytes,
                     fs::file_size(data));
  file.truncate(bytes);
  data_.emplace(std::move(file), bytes);
}

std::string FrameStore::file_key(const std::string& file) {
  std::error_code none;
  const auto changed = fs::last_write_time(file, none).time_since_epoch().count();
  const auto size = fs::file_size(file, none);
  return fmt::format("{} {} {}", file, none ? 0 : size, static_cast<int64_t>(changed));
}

void FrameStore::append(const StoredField& field, const float* values, size_t count) {
  if (scratch_)
    scratch_->append(values, count * sizeof(float));
  else
    data_->append({reinterpret_cast<const char*>(values), count * sizeof(float)});
  fields_.push_back(field), fresh_.push_back(field);
}

void FrameStore::finish_file(const std::string& file, json line) {
  if (log_) {
    json kept = json::array();
    for (const StoredField& f : fresh_) {
      kept.push_back({f.time, f.window, f.member});
      if (!f.outside.empty()) kept.back().push_back(f.outside);
    }
    line["kept"] = std::move(kept), line["key"] = file_key(file);
    line["bytes_so_far"] = fs::file_size(folder_ + "/data");
    data_->sync();
    log_->append(line);
    line.erase("kept");
  }
  fresh_.clear();
  done_.insert(file_key(file));
  lines_.push_back(std::move(line));
}

std::shared_ptr<const MappedFile> FrameStore::map() const {
  return scratch_ ? scratch_->map() : std::make_shared<const MappedFile>(folder_ + "/data");
}

void FrameStore::remove() {
  if (folder_.empty()) return;
  std::error_code none;
  fs::remove_all(folder_, none);
}

}  // namespace htfm
