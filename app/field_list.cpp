#include "app/field_list.h"

#include <fmt/format.h>

#include <cstdio>

#include "htfm/page/field_list_text.h"

namespace htfm::app {

void print_field_list(const Common& common, const std::string& path, bool all_values) {
  if (is_field_set(path)) return print_figures(common, Json::parse(field_set_json(open_field_set(path), path)));
  const std::vector<ListedFields> list = list_fields(path, all_values ? -1 : 1);
  if (common.json) return print_figures(common, Json::parse(field_list_json(list, path)));
  fmt::print("{}", field_list_text(list, path, all_values));
  std::fflush(stdout);
}

}  // namespace htfm::app
