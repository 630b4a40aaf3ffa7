#include "htfm/io/json_lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "htfm/base/error.h"
#include "htfm/io/file.h"

namespace htfm {
namespace {

using nlohmann::json;

/// A line's value, discarded where it is not JSON. The parser would take a zero byte (a disk's, after a power cut) for
/// the end.
json parse_line(std::string_view line) {
  if (line.find('\0') != std::string_view::npos) return json(json::value_t::discarded);
  return json::parse(line, nullptr, /*allow_exceptions=*/false);
}

/// Where the whole lines end. A last line without its newline counts when it is JSON: then only the newline is missing.
size_t end_of_whole_lines(std::string_view text) {
  const size_t newline = text.rfind('\n');
  const size_t end = newline == std::string_view::npos ? 0 : newline + 1;
  return end < text.size() && !parse_line(text.substr(end)).is_discarded() ? text.size() : end;
}

/// Calls visit(line, value) for each whole line that is not blank.
template <class Visit>
void for_each_line(std::string_view text, const std::string& path, Visit visit) {
  text = text.substr(0, end_of_whole_lines(text));
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t newline = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, newline);
    text.remove_prefix(std::min(newline + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const json value = parse_line(line);
    if (!value.is_object())
      throw InputError("[jsonl] {}: line {}: expected a JSON object, got {} (to continue, remove the line or the file)",
                       path, number, value.is_discarded() ? "text that is not JSON" : "JSON of another kind");
    visit(line, value);
  }
}

}  // namespace

JsonLines::JsonLines(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666), path);
  if (!file.is_open()) throw Error("[write] {}: {}", path, system_reason(errno));
  const std::string text = read_file(path);
  const size_t size = end_of_whole_lines(text);
  if (size < text.size()) file.truncate(size);
  file_ = Appender(std::move(file), size);
  if (size > 0 && text[size - 1] != '\n') file_.append("\n");
}

void JsonLines::append(const json& line) {
  file_.append(line.dump(-1, ' ', false, json::error_handler_t::replace) + '\n');
}

void JsonLines::sync() { file_.sync(); }

std::vector<json> JsonLines::read(const std::string& path) {
  std::vector<json> lines;
  for_each_line(read_file(path), path, [&](std::string_view, const json& value) { lines.push_back(value); });
  return lines;
}

int64_t JsonLines::keep(const std::string& path, const std::function<bool(const json&)>& accept) {
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) return 0;
  const std::string text = read_file(path);
  std::string kept;
  int64_t dropped = 0;
  for_each_line(text, path, [&](std::string_view line, const json& value) {
    if (accept(value)) {
      kept.append(line).push_back('\n');
    } else {
      ++dropped;
    }
  });
  if (kept != text) atomic_write(path, kept);
  return dropped;
}

}  // namespace htfm
