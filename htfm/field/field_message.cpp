#include "htfm/field/field_message.h"

#include <fmt/format.h>

#include <algorithm>

namespace htfm {

std::string FieldChoice::text() const {
  std::string out = name;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  if (code) add(fmt::format("{}/{}/{}", code->discipline, code->category, code->number));
  if (!level_type.empty()) add("level type " + level_type);
  if (level) add(fmt::format("level {}", *level));
  if (step) add(fmt::format("step {}", *step));
  return out.empty() ? "any field" : out;
}

void FieldMessage::read(const Window& window, double* out) const {
  visit_rows(window,
             [&](int64_t row, const double* values) { std::copy_n(values, window.width, out + row * window.width); });
}

std::string found_text(const std::vector<std::string>& found) {
  constexpr size_t kListed = 6;
  if (found.empty()) return "none";
  std::vector<std::string> distinct;
  for (const std::string& f : found)
    if (std::find(distinct.begin(), distinct.end(), f) == distinct.end()) distinct.push_back(f);
  std::string out;
  for (size_t k = 0; k < std::min(kListed, distinct.size()); ++k) out += (k ? "; " : "") + distinct[k];
  if (distinct.size() > kListed) out += fmt::format("; and {} more", distinct.size() - kListed);
  return out;
}

}  // namespace htfm
