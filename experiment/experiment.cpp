#include "experiment/experiment.h"

#include <fmt/format.h>

#include <filesystem>
#include <mutex>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/io/file.h"
#include "htfm/report/text.h"

namespace htfm::app {
namespace {

/// The result kept at `path` if it was made with this configuration, otherwise null. Keys that the kept one does not
/// have yet count as their defaults, so a new option does not make a day of results stale.
Json kept_cell(const std::string& path, const RunConfig& config) {
  if (!std::filesystem::exists(path)) return nullptr;
  Json kept = Json::parse(read_file(path), nullptr, false);
  if (!kept.is_object() || !kept.contains("config") || !kept["config"].is_string()) return nullptr;
  try {
    if (!config_differences(parse_saved_config(kept["config"].get<std::string>(), path), config).empty())
      return nullptr;
  } catch (const InputError&) {  // a key or a value that is no longer known
    return nullptr;
  }
  return kept;
}

}  // namespace

std::vector<Json> run_cells(const std::vector<Cell>& cells, const std::string& folder,
                            const std::function<Json(const Cell&)>& work, bool one_by_one) {
  if (cells.empty()) throw InputError("[--only] expected a part of a cell's name, got what is in none");
  make_folder(folder + "/cells");
  std::vector<Json> results(cells.size());
  std::mutex mutex;
  size_t done = 0;
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
    status.show(fmt::format("{}/{} cells  last {}  {}", done, cells.size(), cell.name, report::duration(seconds)),
                done == cells.size());
  };
  if (one_by_one)
    for (int64_t i = 0; i < static_cast<int64_t>(cells.size()); ++i) run(i);
  else
    parallel_for(static_cast<int64_t>(cells.size()), run);
  return results;
}

void write_experiment(const std::string& folder, const std::string& name, report::Page& page, const Json& out,
                      const report::Figure* figure) {
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

}  // namespace htfm::app
