// Weather fields given their means on a grid of an eighth: 16 x 16 of 128 x 128. A model that is given them, with and
// without an exact correction, against interpolation and against the nearest samples of an unconditional model.
#include <fmt/format.h>

#include "app/progress.h"
#include "experiment/given_means.h"
#include "htfm/base/error.h"
#include "htfm/device/choose_device.h"
#include "htfm/io/png.h"
#include "htfm/report/page.h"
#include "htfm/sample/sample_fields.h"

namespace htfm::app {

Json reproduce_weather_given(const ReproduceOptions& o) {
  if (o.data.empty())
    throw InputError("[--data] expected a set of fields that htfm prepare wrote, got none: give --data rain.fields");
  const at::Device device = choose_device(o.common.device, "ncsnpp");
  const GivenCases cases = held_out_cases(o.data);
  const std::string data = weather_set(o, SetValues::scores);
  std::vector<Cell> cells;
  for (int64_t k = 0; k < o.seeds; ++k) {
    const auto seed = static_cast<uint64_t>(o.common.seed + k);
    for (Cell cell : {given_cell(o, data, seed, cases.grid()), plain_cell(o, data, seed)})
      if (o.wants(cell.name)) cells.push_back(std::move(cell));
  }
  const std::vector<Json> results = run_cells(
      cells, o.folder, [&](const Cell& c) { return score_given_cell(c, train_cell(c, o, device), cases, o, device); },
      true);
  report::Page page("Weather fields given coarse ones", "Fields given their means over blocks of 8 x 8 points.");
  page.section("Ensembles").table(ensemble_table(results));
  page.section("Laws").table(weather_table(results, fmt::format("Against the held-out part of {}.", o.data)));
  add_maps(page, cells, o);
  Json out{{"experiment", "weather-given"}, {"cells", results}};
  write_experiment(o.folder, "weather-given", page, out);
  return out;
}

}  // namespace htfm::app
