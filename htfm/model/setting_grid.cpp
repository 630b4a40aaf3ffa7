#include "htfm/model/setting_grid.h"

#include <algorithm>

#include "htfm/base/error.h"
#include "htfm/base/split.h"

namespace htfm {

std::vector<GridPoint> setting_grid(const std::vector<std::string>& settings) {
  std::vector<GridPoint> runs(1);
  for (const std::string& setting : settings) {
    const size_t at = setting.find('=');
    if (at == std::string::npos || at == 0)
      throw InputError("[--set] expected key=value or key=a,b,c, got '{}'", setting);
    const std::string key = setting.substr(0, at);
    const std::vector<std::string> values = split(setting.substr(at + 1));
    if (values.empty() || setting.ends_with(',') || std::ranges::count(values, "") > 0)
      throw InputError("[--set] expected values with commas between, got '{}'", setting);
    std::vector<GridPoint> wider;
    for (const GridPoint& run : runs)
      for (const std::string& value : values) {
        GridPoint next = run;
        next.settings.push_back(key + "=" + value);
        if (values.size() > 1) next.name += (next.name.empty() ? "" : ",") + key + "=" + value;
        wider.push_back(std::move(next));
      }
    runs = std::move(wider);
    if (runs.size() > 10000)
      throw InputError("[--set] expected at most 10000 runs, got {} up to '{}': leave some values out", runs.size(),
                       setting);
  }
  for (GridPoint& run : runs) {
    if (run.name.empty()) run.name = "run";
    std::replace(run.name.begin(), run.name.end(), '/', '_');
  }
  return runs;
}

}  // namespace htfm
