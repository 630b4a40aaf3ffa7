#include "htfm/field/same_time.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "htfm/field/field_file.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

constexpr size_t kMostFields = 100, kListed = 4;

struct FoundField {
  std::string name, level, step;
  std::vector<std::string> keys;
};
struct Enough {};  // ends a visit

std::pair<std::string, std::string> cut(const std::string& text, size_t at, size_t gap) {
  if (at == std::string::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + gap)};
}

// The different values of something, in the order of the file.
std::vector<std::string> distinct(const std::vector<FoundField>& all, const auto& of) {
  std::vector<std::string> out;
  for (const FoundField& field : all)
    if (const std::string value = of(field); std::find(out.begin(), out.end(), value) == out.end())
      out.push_back(value);
  return out;
}

std::string listed(const std::vector<std::string>& values) {
  const auto end = values.begin() + static_cast<int64_t>(std::min(values.size(), kListed));
  return fmt::format("{}{}", fmt::join(values.begin(), end, ", "), end == values.end() ? "" : ", ...");
}

// Of a key; nothing where a message has none of that name.
std::string value_of(const FoundField& field, const std::string& key) {
  for (const std::string& line : field.keys)
    if (line.starts_with(key + "=")) return line.substr(key.size() + 1);
  return "";
}

}  // namespace

std::string same_time_text(const std::string& file, const FieldChoice& choice, int64_t time,
                           std::optional<int64_t> member) {
  FieldChoice with_keys = choice;
  with_keys.keys = true;
  std::vector<FoundField> found;
  try {
    visit_fields(file, with_keys, [&](const FieldMessage& m) {
      if (m.time == time && m.member == member) found.push_back({m.name, m.level, m.step, m.keys});
      if (found.size() == kMostFields) throw Enough{};
    });
  } catch (const Enough&) {
  }
  if (found.empty()) return "choose by level or step";
  // "isobaricInhPa 500" and "0-6 (accum)".
  const auto level_type = [](const FoundField& s) { return cut(s.level, s.level.rfind(' '), 1).first; };
  const auto level = [](const FoundField& s) { return cut(s.level, s.level.rfind(' '), 1).second; };
  const auto step = [](const FoundField& s) { return cut(s.step, s.step.find(" ("), 2).first; };
  const auto step_type = [](const FoundField& s) {
    const std::string type = cut(s.step, s.step.find(" ("), 2).second;
    return type.empty() ? "instant" : type.substr(0, type.size() - 1);
  };
  const auto name = [](const FoundField& s) { return s.name; };
  const auto by_option = [&](const char* what, const char* option, const auto& of) -> std::string {
    const std::vector<std::string> values = distinct(found, of);
    if (values.size() < 2 || std::find(values.begin(), values.end(), "") != values.end()) return "";
    return fmt::format("they differ in {} ({}): {} {} chooses one", what, printable(listed(values)), option,
                       printable(values.front()));
  };
  for (const std::string& text :
       {by_option("parameter", "--variable", name), by_option("type of level", "--level-type", level_type),
        by_option("level", "--level", level), by_option("step", "--step", step),
        by_option("type of step", "--step-type", step_type)})
    if (!text.empty()) return text;
  // The keys of a message whose values differ; the one that tells the most fields apart goes first.
  std::vector<std::pair<std::string, std::vector<std::string>>> keys;
  for (const std::string& line : found.front().keys) {
    const std::string key = line.substr(0, line.find('='));
    const auto values = distinct(found, [&](const FoundField& s) { return value_of(s, key); });
    if (values.size() > 1) keys.emplace_back(key, values);
  }
  std::stable_sort(keys.begin(), keys.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  if (found.front().keys.empty())
    return "if the file has this time twice, leave one out: in Python .drop_duplicates('time')";
  if (keys.empty()) return "they say the same of themselves: if the file has this time twice, leave one out";
  std::string differ;
  for (size_t k = 0; k < std::min<size_t>(keys.size(), 3); ++k)
    differ += fmt::format("{}{} ({})", k ? ", " : "", keys[k].first, printable(listed(keys[k].second)));
  return fmt::format("they differ in {}: choose one with ecCodes first, grib_copy -w {}={} {} chosen.grib", differ,
                     keys[0].first, printable(keys[0].second.front()), file);
}

}  // namespace htfm
