#include "htfm/page/curve_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "htfm/schedule/schedule_feature.h"

namespace htfm {

report::Figure curve_figure(const Schedule& schedule, const Clock& clock) {
  constexpr int64_t drawn = 2001, points = 101;
  struct Shown {
    std::string name;
    std::vector<double> coordinates;
  };
  std::vector<Shown> shown;
  const ScheduleFeature feature(clock, schedule, false);
  if (!schedule.depends_on_clock() || !feature.needs_paths()) {
    shown.push_back({"every clock", feature.of_line()});
  } else {
    const at::Tensor coordinates = feature(clock.sample(Key(0).child("curves"), {.count = drawn}));
    std::vector<int64_t> order(drawn);
    std::iota(order.begin(), order.end(), int64_t{0});
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return ScheduleFeature::row(coordinates, a)[0] < ScheduleFeature::row(coordinates, b)[0];
    });
    for (const double level : {0.05, 0.5, 0.95}) {
      const auto row = ScheduleFeature::row(coordinates, order[static_cast<size_t>(std::llround(level * (drawn - 1)))]);
      shown.push_back({fmt::format("{} = {:.2f}", schedule.words()[0], row[0]), {row.begin(), row.end()}});
    }
  }
  std::vector<report::Series> alphas, betas;
  bool mirrored = true;
  for (const Shown& s : shown) {
    report::Series a{.name = "α, " + s.name}, b{.name = "β, " + s.name, .dashed = true};
    for (int64_t k = 0; k < points; ++k) {
      const double t = static_cast<double>(k) / (points - 1);
      const Coefficients c = schedule.at(t, s.coordinates);
      a.x.push_back(t), a.y.push_back(c.alpha - t);
      b.x.push_back(t), b.y.push_back(c.beta - (1 - t));
      mirrored = mirrored && std::abs(c.alpha + c.beta - 1) < 1e-9;
    }
    alphas.push_back(std::move(a)), betas.push_back(std::move(b));
  }
  if (!mirrored) alphas.insert(alphas.end(), betas.begin(), betas.end());
  report::ChartOptions chart;
  chart.label = "How far the schedule leaves the straight line";
  chart.x = {.label = "t"};
  chart.y = {.label = mirrored ? "α − t" : "α − t, β − (1−t)"};
  chart.markers = false;
  return report::line_chart(alphas, chart);
}

}  // namespace htfm
