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
  if (step) add(step_from ? fmt::format("step {}-{}", *step_from, *step) : fmt::format("step {}", *step));
  if (!step_type.empty()) add("step type " + step_type);
  if (member) add(fmt::format("member {}", *member));
  return out.empty() ? "any field" : out;
}

void FieldMessage::visit_window(const Window& window, const RowVisitor& visitor) const {
  grid->check(window, text);
  if (window.column + window.width <= grid->width) return visit_rows(window, visitor);
  const int64_t around = grid->period(), before = around - window.column;  // whole rows, put together anew
  std::vector<double> row(static_cast<size_t>(window.width));
  visit_rows({window.row, 0, window.height, around}, [&](int64_t j, const double* values) {
    std::copy_n(values + window.column, before, row.begin());
    std::copy_n(values, window.width - before, row.begin() + before);
    visitor(j, row.data());
  });
}

void FieldMessage::read(const Window& window, double* out) const {
  visit_window(window,
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
