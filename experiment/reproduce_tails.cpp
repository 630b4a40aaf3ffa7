// The tails of the 2D mixture: far quantiles under couplings and clocks, at several budgets, and beyond the data.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "experiment/reproduce.h"
#include "htfm/evaluate/run.h"
#include "htfm/io/file.h"
#include "htfm/model/choose_clock.h"
#include "htfm/rare/rare.h"
#include "htfm/report/page.h"
#include "htfm/stat/sort.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

namespace {

struct TailVariant {
  const char* name;
  std::vector<std::string> settings;
  enum Far { never, first_seed, all_seeds } far;  // whose quantiles beyond the training set are also looked at
  enum Clock { named, by_auto, student_by_auto } clock = named;
};

struct Budget {
  int64_t nfe;
  const char* solver;
};

std::vector<TailVariant> tail_variants(double alpha) {
  const std::string nu = fmt::format("clock.nu={}", alpha), stable = fmt::format("clock.alpha={}", alpha);
  const std::vector<std::string> coupled{"coupling.kind=pool", "precondition.scale=clock", "data.tail=pareto"};
  const auto with = [](std::vector<std::string> a, const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  const std::vector<std::string> clusters{"coupling.kind=pool", "precondition.scale=clock", "data.tail=clusters",
                                          "coupling.noise=auto", "train.optimiser=muon"};
  using V = TailVariant;
  return {{"G, independent", {"clock.family=deterministic"}, V::never},
          {"t, independent", {"clock.family=inverse-gamma", nu}, V::never},
          {"alpha, independent", {"clock.family=stable", stable}, V::never},
          {"G, pool", {"clock.family=deterministic", "coupling.kind=pool"}, V::never},
          {"t, radial", {"clock.family=inverse-gamma", nu, "coupling.kind=radial"}, V::never},
          {"t, clock", {"clock.family=inverse-gamma", nu, "coupling.kind=clock", "precondition.scale=clock"}, V::never},
          {"t, pool, constant scale", {"clock.family=inverse-gamma", nu, "coupling.kind=pool"}, V::never},
          {"t, pool", {"clock.family=inverse-gamma", nu, "coupling.kind=pool", "precondition.scale=clock"}, V::never},
          {"alpha, pool", {"clock.family=stable", stable, "coupling.kind=pool", "precondition.scale=clock"}, V::never},
          {"t, pool, Pareto", with({"clock.family=inverse-gamma", nu}, coupled), V::first_seed},
          {"alpha, pool, Pareto", with({"clock.family=stable", stable}, coupled), V::first_seed},
          {"t, pool, clusters", clusters, V::all_seeds, V::student_by_auto},
          {"auto, pool, clusters", clusters, V::all_seeds, V::by_auto}};
}

// Where far quantiles of all seeds are asked for, the flow need not be solved to the end as well.
std::vector<Budget> budgets(const Cell& cell) {
  if (cell.config.data.tail == "clusters") return {{20, "fitted"}, {10, "fitted"}};
  return {{100, "midpoint"}, {20, "fitted"}, {10, "fitted"}};
}

constexpr int64_t kBulk = 24000;        // points of f1_prd
constexpr int64_t kChunk = 500000;      // samples drawn at a time
constexpr int64_t kTrue = 100'000'000;  // points of the mixture that say what is true far out
constexpr const char* kTailFigures[] = {"log_q_0.99", "log_q_0.999", "log_q_0.9999",
                                        "hill_fake",  "hill_real",   "f1_prd"};

constexpr double kFarShares[] = {1e-5, 1e-6};

// The radii beyond which these shares of n points lie, drawn in chunks: only what is needed of the largest is kept.
std::vector<double> far_radii(int64_t n, const std::function<at::Tensor(int64_t count, uint64_t chunk)>& draw) {
  const auto place = [&](double share) { return static_cast<int64_t>(share * static_cast<double>(n)); };
  const int64_t keep = place(kFarShares[0]) + 1;
  std::vector<double> largest;
  for (int64_t at = 0; at < n; at += kChunk) {
    const at::Tensor x = draw(std::min(kChunk, n - at), static_cast<uint64_t>(at / kChunk));
    const double* p = x.const_data_ptr<double>();
    for (int64_t i = 0; i < x.size(0); ++i) largest.push_back(std::hypot(p[2 * i], p[2 * i + 1]));
    const auto kept = std::min<int64_t>(keep, static_cast<int64_t>(largest.size()));
    std::partial_sort(largest.begin(), largest.begin() + kept, largest.end(), std::greater<>());
    largest.resize(static_cast<size_t>(kept));
  }
  std::vector<double> out;
  for (const double share : kFarShares) out.push_back(largest[static_cast<size_t>(place(share))]);
  return out;
}

// They depend on the index of the mixture alone.
const std::vector<double>& true_radii(const RunConfig& config) {
  static std::map<double, std::vector<double>> known;
  static std::mutex one_at_a_time;  // cells run side by side
  const std::lock_guard lock(one_at_a_time);
  RunConfig own = config;
  own.seed = 0;  // whichever cell asks first
  std::vector<double>& radii = known[config.data.alpha];
  if (radii.empty())
    radii = far_radii(kTrue, [&](int64_t count, uint64_t chunk) { return held_out(own, count, 100 + chunk).rows; });
  return radii;
}

// By samples of rare events, whose intervals are far narrower than those of as many plain ones.
Json score_far(const Model& model, const Cell& cell) {
  RareOptions options;
  options.sample = sample_options(cell.config);
  options.sample->solver = "fitted", options.sample->solve.nfe = 20;
  const Statistic radius{.function = [](std::span<const double> row) { return std::hypot(row[0], row[1]); }};
  const std::vector<double>& truth = true_radii(cell.config);
  Json j{{"nfe", options.sample->solve.nfe}, {"quantiles", Json::array()}};
  for (size_t k = 0; k < truth.size(); ++k) {
    const RareQuantile q = rare_quantile(model, radius, kFarShares[k], options);
    const double log_ratio = std::log(q.value / truth[k]);
    j["quantiles"].push_back({{"beyond", kFarShares[k]},
                              {"radius", q.value},
                              {"lower", q.lower},
                              {"upper", q.upper},
                              {"samples", q.samples},
                              {"truth", truth[k]},
                              {"log_ratio", log_ratio}});
    say(fmt::format("{:<34} {:.1f} ({:.1f} to {:.1f}) lies at 1 - {:g}, the truth at {:.1f}: log ratio {:+.3f}",
                    cell.name, q.value, q.lower, q.upper, kFarShares[k], truth[k], log_ratio));
  }
  return j;
}

Json score_tails(const Cell& cell, bool far) {
  const int64_t n = cell.config.sample.n;
  const Dataset reference = held_out(cell.config, 2 * n);
  const Model model = train(cell.config);
  Json j{{"cell", cell.name},
         {"skipped_steps", model.skipped},
         {"clock", model.clock_explanation()},
         {"tail", model.flow().size_tail().explanation},
         {"runs", Json::array()}};
  SampleOptions options = sample_options(cell.config);
  for (const Budget& b : budgets(cell)) {
    options.solver = b.solver, options.solve.nfe = b.nfe;
    const SampleResult s = sample(model, options);
    const int64_t bulk = std::min(kBulk, n);
    Json run{{"solver", b.solver}, {"nfe", s.evaluations}, {"diverged", s.diverged}, {"seconds", s.seconds}};
    for (const MetricValue& v : compute_metrics({"tails"}, reference.rows, s.samples).values) run[v.name] = v.value;
    run["f1_prd"] = f1_prd(reference.rows.narrow(0, 0, bulk), s.samples.narrow(0, 0, bulk)).f1;
    say(fmt::format("{:<34} NFE {:>3}: log q {:+.3f} {:+.3f} {:+.3f}, Hill {:.2f} ({:.2f}), f1_prd {:.4f}", cell.name,
                    b.nfe, run["log_q_0.99"].get<double>(), run["log_q_0.999"].get<double>(),
                    run["log_q_0.9999"].get<double>(), run["hill_fake"].get<double>(), run["hill_real"].get<double>(),
                    run["f1_prd"].get<double>()));
    j["runs"].push_back(run);
  }
  if (far) j["far"] = score_far(model, cell);
  return j;
}

// The clock that the data choose, or the Student-t one of the index that they say.
void add_clock(const TailVariant& v, std::vector<std::string>& settings, const ReproduceOptions& o) {
  if (v.clock == TailVariant::by_auto) settings.emplace_back("clock.family=auto");
  if (v.clock != TailVariant::student_by_auto) return;
  ClockSpec asked;
  asked.family = "auto";
  const ClockSpec chosen = choose_clock(asked, load_dataset(config_2d(settings, o)).rows).spec;
  for (const auto& [name, value] : chosen.parameters)
    settings.insert(settings.end(), {"clock.family=inverse-gamma", fmt::format("clock.nu={}", value)});
}

}  // namespace

Json reproduce_tails(const ReproduceOptions& o) {
  std::vector<Cell> cells;
  std::vector<std::string> far;
  struct Group {
    std::string name;
    double alpha;
    size_t first;
  };
  std::vector<Group> groups;
  for (const double alpha : {1.5, 1.8})
    for (const TailVariant& v : tail_variants(alpha)) {
      std::string name = fmt::format("{}-{}", v.name, alpha);
      std::erase(name, ' ');
      std::replace(name.begin(), name.end(), ',', '-');  // --only takes several names with commas between
      if (!o.wants(name)) continue;
      groups.push_back({v.name, alpha, cells.size()});
      for (int64_t k = 0; k < o.seeds; ++k) {
        std::vector<std::string> settings{"sample.n=1000000", "sample.time_grid=angle", "train.lr_decay=0.3",
                                          "train.lr_decay_steps=900", "train.ema=0.998"};
        settings.insert(settings.end(), v.settings.begin(), v.settings.end());
        settings.push_back(fmt::format("data.alpha={}", alpha));
        settings.push_back(fmt::format("seed={}", o.common.seed + k));
        add_clock(v, settings, o);
        cells.push_back({fmt::format("{}-seed{}", name, o.common.seed + k), config_2d(settings, o)});
        if (v.far == TailVariant::all_seeds || (v.far == TailVariant::first_seed && k == 0))
          far.push_back(cells.back().name);
      }
    }
  const std::vector<Json> results = run_cells(cells, o.folder, [&](const Cell& c) {
    return score_tails(c, std::find(far.begin(), far.end(), c.name) != far.end());
  });

  Json out{{"experiment", "tails"}, {"seeds", o.seeds}, {"rows", Json::array()}};
  report::Table table;
  table.caption = fmt::format(
      "Mean over {} seeds, training data drawn anew for each. log q p: mean absolute logarithm of the model's "
      "p-quantile of the radius "
      "over the "
      "data's. Hill index of the largest 0.5 %.",
      o.seeds);
  table.columns = {{"α_D"},
                   {"clock, coupling"},
                   {"NFE", report::Best::none, 0},
                   {"|log q| 0.99", report::Best::none, 3},
                   {"0.999", report::Best::none, 3},
                   {"0.9999", report::Best::none, 3},
                   {"Hill", report::Best::none, 2},
                   {"Hill of the data", report::Best::none, 2},
                   {"f1_prd", report::Best::none, 4},
                   {"1 - 10⁻⁵", report::Best::none, 3},
                   {"1 - 10⁻⁶", report::Best::none, 3}};
  fmt::print(table_output(),
             "| alpha_D | clock, coupling | NFE | 0.99 | 0.999 | 0.9999 | Hill (data) | f1_prd | 1 - 10^-5 | 1 - 10^-6 "
             "|\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Group& g : groups)
    for (size_t b = 0; b < results[g.first]["runs"].size(); ++b) {
      const auto nfe = results[g.first]["runs"][b]["nfe"].get<double>();
      std::map<std::string, std::vector<double>> values;
      for (size_t k = g.first; k < g.first + static_cast<size_t>(o.seeds); ++k) {
        for (const char* f : kTailFigures) {
          const double v = results[k]["runs"][b][f];
          values[f].push_back(std::string_view(f).starts_with("log_q") ? std::abs(v) : v);
        }
        if (results[k].contains("far") && nfe == results[k]["far"]["nfe"])
          for (const Json& q : results[k]["far"]["quantiles"])
            values[fmt::format("far_{:g}", q["beyond"].get<double>())].push_back(
                std::abs(q["log_ratio"].get<double>()));
      }
      Json row{{"alpha_D", g.alpha}, {"model", g.name}, {"nfe", nfe}};
      for (const auto& [name, v] : values) row[name] = mean_spread(v).mean;
      const auto at = [&](const char* f) { return row[f].get<double>(); };
      const auto text = [&](const char* f) { return row.contains(f) ? fmt::format("{:.3f}", at(f)) : ""; };
      const auto cell = [&](const char* f) { return row.contains(f) ? report::Cell(at(f)) : report::Cell(); };
      fmt::print(table_output(), "| {} | {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.2f} ({:.2f}) | {:.4f} | {} | {} |\n",
                 g.alpha, g.name, nfe, at("log_q_0.99"), at("log_q_0.999"), at("log_q_0.9999"), at("hill_fake"),
                 at("hill_real"), at("f1_prd"), text("far_1e-05"), text("far_1e-06"));
      table.add({fmt::format("{}", g.alpha), g.name, nfe, at("log_q_0.99"), at("log_q_0.999"), at("log_q_0.9999"),
                 at("hill_fake"), at("hill_real"), at("f1_prd"), cell("far_1e-05"), cell("far_1e-06")});
      out["rows"].push_back(row);
    }
  report::Page page("The tails of the 2D mixture", "Couplings and clocks, measured against two million fresh points.");
  page.section("Scores").table(table);
  write_experiment(o.folder, "tails", page, out);
  return out;
}

}  // namespace htfm::app
