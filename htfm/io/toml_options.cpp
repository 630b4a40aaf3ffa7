#include "htfm/io/toml_options.h"

#include "htfm/base/error.h"
#include "htfm/io/file.h"
#include "htfm/io/toml_text.h"

namespace htfm {
namespace {

std::string value_text(const toml::node& node, const std::string& where) {
  if (const auto* s = node.as_string()) return s->get();
  if (const auto* i = node.as_integer()) return fmt::format("{}", i->get());
  if (const auto* f = node.as_floating_point()) return fmt::format("{}", f->get());
  if (const auto* b = node.as_boolean()) return b->get() ? "true" : "false";
  throw InputError("{}expected text, a number, true or false, or an array of them, got {}", where,
                   node.is_table()   ? "a table"
                   : node.is_array() ? "an array in an array"
                                     : "a date or time");
}

}  // namespace

std::vector<std::pair<std::string, std::vector<std::string>>> read_toml_options(const std::string& path) {
  std::vector<std::pair<std::string, std::vector<std::string>>> out;
  for (const auto& [key, node] : parse_toml(read_file(path), path)) {
    const std::string where = fmt::format("{}:{}: [{}] ", path, node.source().begin.line, std::string(key.str()));
    std::vector<std::string> values;
    if (const auto* list = node.as_array())
      for (const toml::node& entry : *list) values.push_back(value_text(entry, where));
    else
      values.push_back(value_text(node, where));
    out.emplace_back(std::string(key.str()), std::move(values));
  }
  return out;
}

}  // namespace htfm
