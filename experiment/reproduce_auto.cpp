// How often the diagnosis behind clock.family = "auto" is right: laws with known tails, many draws of 32,000 points.
#include <fmt/format.h>

#include "experiment/reproduce.h"
#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/io/file.h"
#include "htfm/tail/diagnosis.h"

namespace htfm::app {

namespace {

constexpr int64_t kDraws = 50, kDiagnosedRows = 32000;

struct DiagnosedLaw {
  std::string name;
  ClockSpec clock;
  int64_t dim;
};

std::vector<DiagnosedLaw> diagnosed_laws() {
  std::vector<DiagnosedLaw> list;
  for (const int64_t dim : {1, 2, 8}) {
    list.push_back({fmt::format("Gaussian, {}D", dim), {}, dim});
    for (const double nu : {1.5, 2.0, 3.0, 4.0})
      list.push_back(
          {fmt::format("Student nu={}, {}D", nu, dim), {.family = "inverse-gamma", .parameters = {{"nu", nu}}}, dim});
    for (const double alpha : {1.3, 1.5, 1.7, 1.9})
      list.push_back({fmt::format("stable alpha={}, {}D", alpha, dim),
                      {.family = "stable", .parameters = {{"alpha", alpha}}},
                      dim});
  }
  return list;
}

}  // namespace

Json reproduce_auto(const ReproduceOptions& o) {
  std::vector<DiagnosedLaw> wanted = diagnosed_laws();
  std::erase_if(wanted, [&](const DiagnosedLaw& law) { return !o.wants(law.name); });
  if (wanted.empty()) throw no_cell_matches();
  Json out = Json::array();
  if (!o.common.json)
    fmt::print("{:<26} {:>6} {:>6} {:>8} {:>7} {:>16}\n", "law", "light", "heavy", "unclear", "inside",
               "median interval");
  for (const DiagnosedLaw& law : wanted) {
    const auto clock = make_clock(law.clock);
    const double truth = clock->tail_exponent();
    std::vector<Diagnosis> seen(kDraws);
    parallel_for(kDraws, [&](int64_t i) {
      const Key key = Key(static_cast<uint64_t>(o.common.seed + i)).child("source");
      const ClockSample s = clock->sample(key.child("clock"), {.count = kDiagnosedRows, .paths = false});
      DiagnosisOptions options;
      options.directions = 0;
      seen[static_cast<size_t>(i)] = diagnose(sample_source(key.child("source"), s.area, law.dim), {}, options);
    });
    std::array<int64_t, 3> verdicts{};
    int64_t inside = 0;
    std::vector<double> lower, upper;
    for (const Diagnosis& d : seen) {
      ++verdicts[static_cast<size_t>(d.verdict)];
      const Interval index = d.decisive()->choice.index_interval();
      inside += d.verdict == TailVerdict::heavy && index.contains(truth);
      lower.push_back(index.lower), upper.push_back(index.upper);
    }
    std::sort(lower.begin(), lower.end()), std::sort(upper.begin(), upper.end());
    const int64_t light = verdicts[static_cast<size_t>(TailVerdict::light)],
                  heavy = verdicts[static_cast<size_t>(TailVerdict::heavy)];
    const double low = lower[kDraws / 2], high = upper[kDraws / 2];
    out.push_back({{"law", law.name},
                   {"draws", kDraws},
                   {"light", light},
                   {"heavy", heavy},
                   {"right", std::isinf(truth) ? light : inside}});
    if (!std::isinf(truth)) out.back()["median_interval"] = {low, high};
    if (!o.common.json)
      fmt::print("{:<26} {:>6} {:>6} {:>8} {:>7} {:>16}\n", law.name, light, heavy, kDraws - light - heavy,
                 std::isinf(truth) ? "" : std::to_string(inside),
                 std::isinf(truth) ? "" : fmt::format("{:.2f} to {:.2f}", low, high));
  }
  Json result{{"experiment", "auto"}, {"rows", kDiagnosedRows}, {"laws", out}};
  atomic_write(o.folder + "/auto.json", result.dump(1) + "\n");
  return result;
}

}  // namespace htfm::app
