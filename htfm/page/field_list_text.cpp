#include "htfm/page/field_list_text.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "htfm/evaluate/field_tail.h"

namespace htfm {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostRows = 500;  // for the eye

std::string times_text(int64_t first, int64_t last, Calendar calendar, bool dated) {
  if (!dated) return "no dates";
  std::string out = moment_text(first, calendar);
  if (last != first) out += " to " + moment_text(last, calendar);
  return calendar == Calendar::gregorian ? out : fmt::format("{} ({})", out, calendar_name(calendar));
}

std::string set_times_text(const FieldSet& set) {
  const auto* time = set.time.const_data_ptr<int64_t>();
  const auto [first, last] = std::minmax_element(time, time + set.size());
  return times_text(*first, *last, set.calendar, set.dated);
}

}  // namespace

std::string field_list_text(const std::vector<ListedFields>& all, const std::string& path, bool all_values) {
  int64_t count = 0;
  for (const ListedFields& l : all) count += l.count;
  std::string out = fmt::format("{}: {} field{} of {} kind{}\n", path, count, count == 1 ? "" : "s", all.size(),
                                all.size() == 1 ? "" : "s");
  const std::span list = std::span(all).first(std::min(all.size(), kMostRows));
  std::vector<std::vector<std::string>> rows{
      {"variable", "level", "step", "fields", "times", all_values ? "range" : "range of the first", "units"}};
  std::string grid;
  for (const ListedFields& l : list) {
    const std::string members = l.members.empty() ? "" : fmt::format(" ({} members)", l.members.size());
    rows.push_back({l.name, l.level, l.step, fmt::format("{}{}", l.count, members),
                    times_text(l.first_time, l.last_time, l.calendar, l.dated),
                    !l.problem.empty()     ? "-"
                    : std::isnan(l.lowest) ? "all missing"
                                           : fmt::format("{:.6g} to {:.6g}{}", l.lowest, l.highest,
                                                         l.missing > 0 ? fmt::format(", {} missing", l.missing) : ""),
                    l.units});
  }
  std::vector<size_t> width(rows[0].size());
  for (const auto& row : rows)
    for (size_t k = 0; k < row.size(); ++k) width[k] = std::max(width[k], row[k].size());
  for (const auto& row : rows) {
    std::string line = "  ";
    for (size_t k = 0; k < row.size(); ++k) line += fmt::format("{:<{}}  ", row[k], width[k]);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  if (list.size() < all.size())
    out += fmt::format("  and {} more kinds (--json lists all)\n", all.size() - list.size());
  for (size_t k = 0, more = 0; k < list.size(); k += 1 + more, more = 0) {
    const ListedFields& l = list[k];
    if (!l.problem.empty())  // one line for all that follow with the same
      while (k + more + 1 < list.size() && list[k + more + 1].problem == l.problem) ++more;
    const std::string text =
        l.problem.empty()
            ? "grid: " + l.grid
            : fmt::format("{}{}: {}", l.text, more > 0 ? fmt::format(" and {} more", more) : "", l.problem);
    if (text != grid) out += (grid = text) + "\n";
  }
  return out;
}

std::string field_list_json(const std::vector<ListedFields>& list, const std::string& path) {
  Json fields = Json::array();
  for (const ListedFields& l : list) {
    Json j{{"variable", l.name}, {"title", l.title},  {"units", l.units},           {"level", l.level},
           {"step", l.step},     {"fields", l.count}, {"members", l.members.size()}};
    if (l.dated)
      j["first_time"] = moment_text(l.first_time, l.calendar), j["last_time"] = moment_text(l.last_time, l.calendar),
      j["calendar"] = calendar_name(l.calendar);
    j["grid"] = l.grid;
    if (!std::isnan(l.lowest)) j["lowest"] = l.lowest, j["highest"] = l.highest;
    if (l.missing > 0) j["missing"] = l.missing;
    if (!l.problem.empty()) j["problem"] = l.problem;
    fields.push_back(std::move(j));
  }
  return Json{{"file", path}, {"fields", fields}}.dump();
}

std::string field_set_json(const FieldSet& set, const std::string& path) {
  Json j{{"set", path},
         {"hash", set.hash},
         {"channels", set.channels},
         {"units", set.units},
         {"fields", set.size()},
         {"train", set.part(false).size()},
         {"test", set.part(true).size()},
         {"shape", {set.fields.size(1), set.fields.size(2), set.fields.size(3)}},
         {"times", set_times_text(set)},
         {"transform", set.transform.text()},
         {"mean", set.transform.mean},
         {"deviation", set.transform.deviation}};
  Json lowest = Json::array(), highest = Json::array();
  for (int64_t c = 0; c < set.fields.size(1); ++c) {
    const at::Tensor own = set.fields.select(1, c);
    lowest.push_back(own.min().item<double>()), highest.push_back(own.max().item<double>());
  }
  j["lowest"] = lowest, j["highest"] = highest;
  Json tails = Json::object();
  for (int64_t c = 0; c < set.fields.size(1); ++c)
    tails[set.channels[static_cast<size_t>(c)]] = diagnose_field_tail(set, c).text(set.units[static_cast<size_t>(c)]);
  j["tail"] = tails;
  const Json provenance = Json::parse(set.provenance);
  for (const char* key : {"recipe", "fields", "grid", "windows", "dropped_missing", "dropped_incomplete"})
    if (provenance.contains(key) && provenance.at(key) != "")
      j[std::string(key) == "fields" ? "source" : key] = provenance.at(key);
  if (provenance.contains("files")) j["files"] = provenance.at("files").size();
  if (set.one_place()) {
    if (const auto [latitude, longitude] = set.places(0); !latitude.empty())
      j["latitude"] = {latitude.front(), latitude.back()}, j["longitude"] = {longitude.front(), longitude.back()};
  } else {
    j["latitude"] = "of several windows";
  }
  return j.dump();
}

std::string prepared_json(const PrepareSummary& s, const FieldSet& set) {
  return Json{{"hash", set.hash},
              {"channels", set.channels},
              {"times", set_times_text(set)},
              {"shape", {set.fields.size(1), set.fields.size(2), set.fields.size(3)}},
              {"grid", Json::parse(set.provenance).at("grid")},
              {"files", s.files},
              {"files_skipped", s.skipped.size()},
              {"frames", s.frames},
              {"windows", s.windows},
              {"windows_covered", s.covered},
              {"train", s.train},
              {"test", s.test},
              {"dropped_missing", s.missing},
              {"dropped_incomplete", s.incomplete},
              {"dropped_neither", s.neither},
              {"lowest", s.lowest},
              {"highest", s.highest},
              {"dry_share", s.dry},
              {"transform", set.transform.text()},
              {"mean", set.transform.mean},
              {"deviation", set.transform.deviation}}
      .dump();
}

}  // namespace htfm
