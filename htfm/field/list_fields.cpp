#include "htfm/field/list_fields.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <unordered_map>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"
#include "htfm/field/field_set.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

std::string grid_text(const Grid& grid) {
  std::string out = grid.text();
  if (!grid.has_places()) return out + ", places not known";
  const Place first = grid.at(0, 0), last = grid.at(grid.height - 1, grid.width - 1);
  out += fmt::format(", latitude {:.6g} to {:.6g}, longitude {:.6g} to {:.6g}", first.latitude, last.latitude,
                     first.longitude, last.longitude);
  return grid.period() > 0 ? out + ", around the globe" : out;
}

void look_at_values(const FieldMessage& m, ListedFields& list) {
  m.visit_rows(m.grid->whole(), [&](int64_t, const double* row) {
    for (int64_t i = 0; i < m.grid->width; ++i) {
      if (std::isnan(row[i])) {
        ++list.missing;
        continue;
      }
      list.lowest = std::isnan(list.lowest) ? row[i] : std::min(list.lowest, row[i]);
      list.highest = std::isnan(list.highest) ? row[i] : std::max(list.highest, row[i]);
    }
  });
}

}  // namespace

bool is_field_file(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none))
    return std::filesystem::exists(path + "/zarr.json", none) || std::filesystem::exists(path + "/.zgroup", none);
  if (is_field_set(path)) return true;
  const std::string start = start_of_field_file(path);
  return holds_netcdf(start) || holds_grib(start);
}

void check_known_file(const std::string& path) {
  const std::string start = start_of_field_file(path);
  if (start.size() >= 9 && start[8] == '{') return;  // safetensors
  throw InputError("[info] {}: expected a run, a checkpoint, a prepared set, GRIB or NetCDF, got {}", path,
                   other_kind_text(start));
}

std::vector<ListedFields> list_fields(const std::string& path, int64_t values) {
  std::vector<ListedFields> out;
  std::unordered_map<std::string, size_t> places;  // of each kind in out: a file may hold very many
  std::string grid_key, grid;
  visit_fields(path, {.everything = true}, [&](const FieldMessage& m) {
    if (m.grid && (grid_key != m.grid->key || grid.empty())) grid_key = m.grid->key, grid = grid_text(*m.grid);
    const std::string own = m.grid ? grid : "";
    const std::string kind =
        fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", m.name, m.level, m.step, own, static_cast<int>(m.calendar), m.dated,
                    m.text.substr(0, m.text.find(", member")));
    const auto [place, is_new] = places.try_emplace(kind, out.size());
    if (is_new) {
      out.push_back({.name = m.name,
                     .title = m.title,
                     .units = m.units,
                     .level = m.level,
                     .step = m.step,
                     .text = m.text,
                     .grid = own,
                     .problem = m.problem,
                     .first_time = m.time,
                     .last_time = m.time,
                     .dated = m.dated,
                     .calendar = m.calendar,
                     .lowest = kNan,
                     .highest = kNan});
    }
    ListedFields& list = out[place->second];
    ++list.count;
    list.first_time = std::min(list.first_time, m.time), list.last_time = std::max(list.last_time, m.time);
    if (m.member) list.members.insert(*m.member);
    if (m.problem.empty() && (values < 0 || list.count <= values)) look_at_values(m, list);
  });
  return out;
}

}  // namespace htfm
