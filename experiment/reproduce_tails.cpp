// The tails of the 2D mixture: far quantiles under couplings and clocks, at several budgets, and beyond the data.
#include <fmt/format.h>

#include <algorithm>

#include "experiment/reproduce.h"
#include "htfm/evaluate/run.h"
#include "htfm/io/file.h"
#include "htfm/report/page.h"
#include "htfm/stat/sort.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

namespace {

struct TailVariant {
  const char* name;
  std::vector<std::string> settings;
  bool far;  // its first seed is also drawn 10^7 times
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
  return {{"G, independent", {"clock.family=deterministic"}, false},
          {"t, independent", {"clock.family=inverse-gamma", nu}, false},
          {"alpha, independent", {"clock.family=stable", stable}, false},
          {"G, pool", {"clock.family=deterministic", "coupling.kind=pool"}, false},
          {"t, radial", {"clock.family=inverse-gamma", nu, "coupling.kind=radial"}, false},
          {"t, clock", {"clock.family=inverse-gamma", nu, "coupling.kind=clock", "precondition.scale=clock"}, false},
          {"t, pool, constant scale", {"clock.family=inverse-gamma", nu, "coupling.kind=pool"}, false},
          {"t, pool", {"clock.family=inverse-gamma", nu, "coupling.kind=pool", "precondition.scale=clock"}, false},
          {"alpha, pool", {"clock.family=stable", stable, "coupling.kind=pool", "precondition.scale=clock"}, false},
          {"t, pool, Pareto", with({"clock.family=inverse-gamma", nu}, coupled), true},
          {"alpha, pool, Pareto", with({"clock.family=stable", stable}, coupled), true}};
}

const std::vector<Budget>& budgets() {
  static const std::vector<Budget> list{{100, "midpoint"}, {20, "fitted"}, {10, "fitted"}};
  return list;
}

constexpr int64_t kBulk = 24000;    // points of f1_prd
constexpr int64_t kChunk = 500000;  // samples drawn at a time
constexpr const char* kTailFigures[] = {"log_q_0.99", "log_q_0.999", "log_q_0.9999",
                                        "hill_fake",  "hill_real",   "f1_prd"};

// The radius at 1 - share of n points, drawn in chunks: only what is needed of the largest is kept.
double far_radius(int64_t n, double share, const std::function<at::Tensor(int64_t count, uint64_t chunk)>& draw) {
  const auto keep = static_cast<int64_t>(share * static_cast<double>(n)) + 1;
  std::vector<double> largest;
  for (int64_t at = 0; at < n; at += kChunk) {
    const at::Tensor x = draw(std::min(kChunk, n - at), static_cast<uint64_t>(at / kChunk));
    const double* p = x.const_data_ptr<double>();
    for (int64_t i = 0; i < x.size(0); ++i) largest.push_back(std::hypot(p[2 * i], p[2 * i + 1]));
    std::sort(largest.begin(), largest.end(), std::greater<>());
    largest.resize(static_cast<size_t>(std::min<int64_t>(keep, static_cast<int64_t>(largest.size()))));
  }
  return largest.back();
}

Json score_tails(const Cell& cell, bool far) {
  const int64_t n = cell.config.sample.n;
  const Dataset reference = held_out(cell.config, 2 * n);
  const Model model = train(cell.config);
  Json j{{"cell", cell.name},
         {"skipped_steps", model.skipped},
         {"tail", model.flow().size_tail().explanation},
         {"runs", Json::array()}};
  SampleOptions options = sample_options(cell.config);
  for (const Budget& b : budgets()) {
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
  if (far) {
    const int64_t many = 10 * n;
    const double share = 10.0 / static_cast<double>(many);
    options.solver = "fitted", options.solve.nfe = 10;
    const double ours = far_radius(many, share, [&](int64_t count, uint64_t chunk) {
      options.n = count, options.seed = Key(static_cast<uint64_t>(cell.config.seed)).child("far").child(chunk).value();
      return sample(model, options).samples;
    });
    const double truth = far_radius(10 * many, share, [&](int64_t count, uint64_t chunk) {
      return held_out(cell.config, count, 100 + chunk).rows;
    });
    const Dataset data = load_dataset(cell.config);
    j["far"] = {{"samples", many},
                {"beyond", share},
                {"radius", ours},
                {"truth", truth},
                {"log_ratio", std::log(ours / truth)},
                {"largest_trained", data.rows.square().sum(1).sqrt().max().item<double>()}};
    say(fmt::format("{:<34} of {} samples {:.1f} lies at 1 - {:g}, the truth at {:.1f}: log ratio {:+.3f}", cell.name,
                    many, ours, share, truth, std::log(ours / truth)));
  }
  return j;
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
        cells.push_back({fmt::format("{}-seed{}", name, o.common.seed + k), config_2d(settings, o)});
        if (v.far && k == 0) far.push_back(cells.back().name);
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
                   {"log q 1 - 10⁻⁶", report::Best::none, 2}};
  fmt::print(
      "| alpha_D | clock, coupling | NFE | 0.99 | 0.999 | 0.9999 | Hill (data) | f1_prd | 1 - 10^-6 "
      "|\n|---|---|---|---|---|---|---|---|---|\n");
  for (const Group& g : groups)
    for (size_t b = 0; b < budgets().size(); ++b) {
      std::map<std::string, std::vector<double>> values;
      for (size_t k = g.first; k < g.first + static_cast<size_t>(o.seeds); ++k) {
        for (const char* f : kTailFigures) {
          const double v = results[k]["runs"][b][f];
          values[f].push_back(std::string_view(f).starts_with("log_q") ? std::abs(v) : v);
        }
        if (results[k].contains("far") && b + 1 == budgets().size())
          values["far"].push_back(std::abs(results[k]["far"]["log_ratio"].get<double>()));
      }
      Json row{{"alpha_D", g.alpha}, {"model", g.name}, {"nfe", budgets()[b].nfe}};
      for (const auto& [name, v] : values) row[name] = mean_spread(v).mean;
      const auto at = [&](const char* f) { return row[f].get<double>(); };
      const bool has_far = row.contains("far");
      fmt::print("| {} | {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.2f} ({:.2f}) | {:.4f} | {} |\n", g.alpha, g.name,
                 budgets()[b].nfe, at("log_q_0.99"), at("log_q_0.999"), at("log_q_0.9999"), at("hill_fake"),
                 at("hill_real"), at("f1_prd"), has_far ? fmt::format("{:.2f}", at("far")) : "");
      table.add({fmt::format("{}", g.alpha), g.name, static_cast<double>(budgets()[b].nfe), at("log_q_0.99"),
                 at("log_q_0.999"), at("log_q_0.9999"), at("hill_fake"), at("hill_real"), at("f1_prd"),
                 has_far ? report::Cell(at("far")) : report::Cell()});
      out["rows"].push_back(row);
    }
  report::Page page("The tails of the 2D mixture", "Couplings and clocks, measured against two million fresh points.");
  page.section("Scores").table(table);
  write_experiment(o.folder, "tails", page, out);
  return out;
}

}  // namespace htfm::app
