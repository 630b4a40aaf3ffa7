#include "experiment/experiment.h"

#include <fmt/format.h>

#include <filesystem>
#include <mutex>

#include "app/processes.h"
#include "experiment/reproduce.h"
#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/io/file.h"
#include "htfm/io/png.h"
#include "htfm/report/field_map.h"
#include "htfm/report/text.h"

namespace htfm::app {
namespace {

// What `auto` stands for in the keys of times.
RunConfig with_times_chosen(RunConfig c) {
  const bool by_clock = c.uses_clock_time(), normal = c.uses_normal_times();
  c.time = by_clock ? "clock" : "path", c.train.times = normal ? "normal" : "uniform";
  return c;
}

std::FILE*& table_stream() {
  static std::FILE* stream = stdout;
  return stream;
}

/// The result kept at `path` if it was made with this configuration, otherwise null. Keys that the kept one does not
/// have yet count as their defaults, so a new option does not make a day of results stale. `auto` counts as what it
/// stands for.
Json kept_cell(const std::string& path, const RunConfig& config) {
  if (!std::filesystem::exists(path)) return nullptr;
  Json kept = Json::parse(read_file(path), nullptr, false);
  if (!kept.is_object() || !kept.contains("config") || !kept["config"].is_string()) return nullptr;
  try {
    const RunConfig own = with_times_chosen(parse_saved_config(kept["config"].get<std::string>(), path));
    for (const std::string& key : config_differences(own, with_times_chosen(config)))
      if (key != "data.path") return nullptr;  // the same data may lie elsewhere
  } catch (const InputError&) {                // a key or a value that is no longer known
    return nullptr;
  }
  return kept;
}

}  // namespace

std::FILE* table_output() { return table_stream(); }
void set_table_output(std::FILE* stream) { table_stream() = stream; }

std::vector<Json> run_cells(const std::vector<Cell>& cells, const std::string& folder,
                            const std::function<Json(const Cell&)>& work, bool one_by_one) {
  if (cells.empty()) throw no_cell_matches();
  make_folder(folder + "/cells");
  std::vector<Json> results(cells.size());
  std::mutex mutex;
  size_t done = 0;
  // Of several processes each takes every so many-th cell, and then reads what the others have made.
  Communicator* together = processes();
  std::vector<int64_t> own;
  for (int64_t i = 0; i < static_cast<int64_t>(cells.size()); ++i)
    if (!together || i % together->size() == together->rank()) own.push_back(i);
  StatusLine status;
  const auto started = std::chrono::steady_clock::now();
  const auto run = [&](int64_t i) {
    const Cell& cell = cells[static_cast<size_t>(i)];
    const std::string path = fmt::format("{}/cells/{}.json", folder, cell.name);
    Json& result = results[static_cast<size_t>(i)];
    result = kept_cell(path, cell.config);
    if (result.is_null()) {
      result = work(cell);
      result["config"] = format_config(cell.config);
      atomic_write(path, result.dump(1) + "\n");
    }
    const std::lock_guard lock(mutex);
    ++done;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    status.show(fmt::format("{}/{} cells{}  last {}  {}", done, own.size(),
                            together ? fmt::format(" of the first of {} processes", together->size()) : "", cell.name,
                            report::duration(seconds)),
                done == own.size());
  };
  if (one_by_one)
    for (const int64_t i : own) run(i);
  else
    parallel_for(static_cast<int64_t>(own.size()), [&](int64_t k) { run(own[static_cast<size_t>(k)]); });
  if (!together) return results;
  together->barrier();
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!results[i].is_null()) continue;
    results[i] = kept_cell(fmt::format("{}/cells/{}.json", folder, cells[i].name), cells[i].config);
    if (results[i].is_null())
      throw Error("[reproduce] {}: expected the cell {} of another process in a folder that all share, got none",
                  folder, cells[i].name);
  }
  return results;
}

void add_pictures(report::Page& page, const std::string& title, const std::vector<Cell>& cells,
                  const std::string& folder, const std::string& caption) {
  bool first = true;
  for (const Cell& c : cells) {
    const std::string path = fmt::format("{}/{}.png", folder, c.name);
    if (!std::filesystem::exists(path)) continue;
    if (first) page.section(title);
    first = false;
    page.figure(report::image_figure(read_png(path), fmt::format("{} of {}", title, c.name)),
                fmt::format("{}: {}", c.name, caption));
  }
}

void write_experiment(const std::string& folder, const std::string& name, report::Page& page, const Json& out,
                      const report::Figure* figure) {
  if (!speaks()) return;
  page.provenance({{"command", "htfm reproduce " + name}, {"program", version_text()}});
  const std::string path = folder + "/" + name;
  atomic_write(path + ".html", page.html());
  atomic_write(path + ".json", out.dump(1) + "\n");
  if (figure) atomic_write(path + ".svg", figure->svg());
  say(fmt::format("written: {0}.html, {0}.json{1}", path, figure ? fmt::format(", {}.svg", path) : ""));
}

Spread mean_spread(const std::vector<double>& values) {
  Spread s;
  for (const double v : values) s.mean += v / static_cast<double>(values.size());
  for (const double v : values) s.deviation += (v - s.mean) * (v - s.mean);
  s.deviation = values.size() > 1 ? std::sqrt(s.deviation / static_cast<double>(values.size() - 1)) : 0;
  return s;
}

std::string spread_text(const Spread& s, int digits) {
  const std::string mean = fmt::format("{:.{}f}", s.mean, digits);
  return s.deviation > 0 ? fmt::format("{} ± {:.{}f}", mean, s.deviation, digits) : mean;
}

}  // namespace htfm::app
