// Real tables, twins of them whose law is known, and a table whose columns have unlike tails: far quantiles of four
// models.
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <filesystem>

#include "experiment/reproduce.h"
#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/fit/calibrated_sample.h"
#include "htfm/fit/plan_table.h"
#include "htfm/io/file.h"
#include "htfm/io/npy.h"
#include "htfm/metric/quantile_error.h"
#include "htfm/metric/tails.h"
#include "htfm/report/page.h"
#include "htfm/sample/sampler.h"
#include "htfm/stat/sort.h"
#include "htfm/stat/student_t.h"
#include "htfm/stat/threshold.h"
#include "htfm/train/trainer.h"

namespace htfm::app {

namespace {

const std::vector<double> kLevels{0.95, 0.99, 0.995, 0.999}, kTwinLevels{0.95, 0.99, 0.995, 0.999, 0.9999};
constexpr int64_t kJudge = 1'000'000, kMixed = 2000;

// A law that can be drawn from.
using Law = std::function<at::Tensor(Key key, int64_t n)>;

struct TableInfo {
  const char* name;
  const char* file;
  const char* title;
  bool log_returns = false;
};

const std::vector<TableInfo>& tables() {
  static const std::vector<TableInfo> list{{"returns", "EuStockMarkets.csv", "daily log-returns of four indices", true},
                                           {"fires", "danish.csv", "fire losses"},
                                           {"mixed", "", "a Pareto, a normal and a uniform column"}};
  return list;
}

// Three columns that depend on each other through normal variables: Pareto of index 2, normal, uniform.
at::Tensor draw_mixed(Key key, int64_t n) {
  at::Tensor out = at::empty({n, 3}, at::kDouble);
  double* x = out.mutable_data_ptr<double>();
  std::vector<double> z(static_cast<size_t>(4 * n));
  fill_normal(key, 0, 4 * n, z.data());
  const auto above = [&](int64_t i, int64_t k) { return (z[4 * i] + z[4 * i + k]) * M_SQRT1_2; };
  for (int64_t i = 0; i < n; ++i) {
    x[3 * i] = 1 / std::sqrt(std::erfc(above(i, 1) * M_SQRT1_2) / 2);
    x[3 * i + 1] = above(i, 2);
    x[3 * i + 2] = 1 - std::erfc(above(i, 3) * M_SQRT1_2) / 2;
  }
  return out;
}

// One column: the empirical law, smoothed between its points, up to a threshold, and the fitted generalised Pareto law
// beyond.
Law spliced_pareto(const at::Tensor& rows) {
  std::vector<double> sorted(rows.const_data_ptr<double>(), rows.const_data_ptr<double>() + rows.numel());
  sort_values(sorted);
  const GpdFit fit = choose_threshold(sorted).fit;
  return [sorted, fit](Key key, int64_t n) {
    at::Tensor out = at::empty({n, 1}, at::kDouble);
    double* x = out.mutable_data_ptr<double>();
    fill_uniform(key, 0, n, x);
    const double share = static_cast<double>(fit.exceedances) / static_cast<double>(fit.n);
    const size_t below = sorted.size() - static_cast<size_t>(fit.exceedances);
    for (int64_t i = 0; i < n; ++i)
      x[i] = x[i] < share ? fit.threshold + fit.excess_quantile(x[i] / share)
                          : quantile_of_sorted(std::span(sorted).first(below), (1 - x[i]) / (1 - share));
    return out;
  };
}

Law twin_of(const TableInfo& t, const at::Tensor& rows) {
  if (rows.size(1) == 1) return spliced_pareto(rows);
  const StudentT law = fit_student_t(rows);
  say(fmt::format("{}: twin is a Student-t law with {:.2f} degrees of freedom", t.name, law.nu));
  return [law](Key key, int64_t n) { return law.sample(key, n); };
}

std::vector<double> model_quantiles(const RunConfig& config, const QuantileYardstick& yardstick, Json& note) {
  Model model = train(config);
  const SampleResult s = calibrated_sample(model, sample_options(config));
  note["steps"] = model.step, note["best_step"] = model.best_step, note["best_loss"] = model.best_loss,
  note["diverged"] = s.diverged;
  return yardstick.quantiles(s.samples);
}

}  // namespace

Json reproduce_tables(const ReproduceOptions& o) {
  if (o.data.empty())
    throw InputError("[--data] expected the folder with {} and {}, got none", tables()[0].file, tables()[1].file);
  make_folder(o.folder + "/data");
  std::vector<Cell> cells;
  struct Entry {
    const TableInfo* table;
    bool twin;
    Law law;
    int64_t k;
    std::string name;
  };
  std::vector<Entry> entries;
  std::map<std::string, size_t> entry_of;
  for (const TableInfo& t : tables()) {
    RunConfig base;
    base.sample.n = kJudge, base.data.path = o.data + "/" + t.file, base.data.log_returns = t.log_returns;
    const bool real = *t.file != 0;
    const at::Tensor all = real ? load_dataset(base).rows : draw_mixed(Key(0), kMixed);
    const Law law = real ? twin_of(t, all) : draw_mixed;
    for (const bool twin : {false, true})
      for (int64_t k = 0; k < o.seeds; ++k) {
        Entry e{&t, twin, law, k, fmt::format("{}-{}-{}", t.name, twin ? "twin" : "split", k)};
        if (!o.wants(e.name) || (!twin && !real)) continue;
        RunConfig own = base;
        own.seed = k;
        if (twin) {
          const std::string path = fmt::format("{}/data/{}.npy", o.folder, e.name);
          if (!std::filesystem::exists(path))
            write_npy(path, law(Key(static_cast<uint64_t>(k)).child("twin"), all.size(0)));
          own.data.path = path, own.data.log_returns = false;
        } else {
          own.data.holdout = 0.3;
        }
        const TablePlan plan = plan_table(own, o.settings);
        for (const bool heavy : {true, false}) {
          cells.push_back({e.name + (heavy ? "-htfm" : "-gaussian"), heavy ? plan.model : plan.gaussian});
          entry_of[cells.back().name] = entries.size();
        }
        say(fmt::format("{}: {}", e.name, plan.clock.explanation));
        entries.push_back(std::move(e));
      }
  }

  const auto judge = [&](const Entry& e, const RunConfig& config) {
    return e.twin ? e.law(Key(static_cast<uint64_t>(e.k)).child("judge"), kJudge) : load_split(config).second.rows;
  };
  const std::vector<Json> results = run_cells(cells, o.folder, [&](const Cell& cell) {
    const Entry& e = entries[entry_of.at(cell.name)];
    const QuantileYardstick yardstick(judge(e, cell.config), e.twin ? kTwinLevels : kLevels);
    Json j{{"cell", cell.name}};
    j["quantiles"] = model_quantiles(cell.config, yardstick, j);
    return j;
  });

  Json out{{"experiment", "tables"}, {"comparisons", Json::array()}};
  const std::vector<std::string> models{"HTFM", "Gaussian", "Student-t", "resampling"};
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry& e = entries[i];
    const RunConfig& config = cells[2 * i].config;
    const at::Tensor train_rows = load_split(config).first.rows;
    const QuantileYardstick yardstick(judge(e, config), e.twin ? kTwinLevels : kLevels);
    const std::vector<std::vector<double>> quantiles{
        results[2 * i]["quantiles"].get<std::vector<double>>(),
        results[2 * i + 1]["quantiles"].get<std::vector<double>>(),
        yardstick.quantiles(fit_student_t(train_rows).sample(Key(9), kJudge)), yardstick.quantiles(train_rows)};
    const auto scores = yardstick.compare(quantiles, Key(static_cast<uint64_t>(e.k)), e.twin ? 2 : 400);
    Json j{{"name", e.name}, {"table", e.table->name}, {"twin", e.twin}};
    std::string line = fmt::format("{:<18}", e.name);
    for (size_t m = 0; m < models.size(); ++m) {
      // On a twin the farthest level is what counts.
      const std::vector<double> errors = yardstick.errors(quantiles[m]);
      std::vector<double> far, by_level;
      const size_t levels = yardstick.levels().size();
      for (size_t v = levels - 1; v < errors.size(); v += levels) far.push_back(errors[v]);
      for (size_t l = 0; l < levels; ++l) {
        std::vector<double> at;
        for (size_t v = l; v < errors.size(); v += levels)
          at.push_back(std::log(quantiles[m][v] / yardstick.real()[v]));
        by_level.push_back(finite_mean(at));
      }
      const double error = e.twin ? finite_mean(far) : scores[m].error;
      j[models[m]] = Json{{"error", error}, {"log_ratio", by_level}};
      if (!e.twin)
        j[models[m]].update(
            {{"standard_error", scores[m].standard_error}, {"lower", scores[m].lower}, {"upper", scores[m].upper}});
      line += fmt::format("  {} {:.3f}", models[m], error);
      if (m == 0)
        for (const double v : by_level) line += fmt::format(" {:+.2f}", v);
    }
    say(line);
    out["comparisons"].push_back(j);
  }
  for (const TableInfo& t : tables())
    for (const bool twin : {false, true}) {
      std::string line = fmt::format("{} {:<6} mean:", t.name, twin ? "twin" : "splits");
      for (const std::string& m : models) {
        std::vector<double> errors;
        for (const Json& j : out["comparisons"])
          if (j["table"] == t.name && j["twin"] == twin) errors.push_back(j[m]["error"]);
        if (errors.empty()) continue;
        const Spread s = mean_spread(errors);
        out["summary"][fmt::format("{}-{}", t.name, twin ? "twin" : "splits")][m] =
            Json{{"mean", s.mean}, {"deviation", s.deviation}};
        line += fmt::format("  {} {}", m, spread_text(s, 4));
      }
      if (!line.ends_with(':')) say(line);
    }
  atomic_write(o.folder + "/tables.json", out.dump(1) + "\n");
  return out;
}

}  // namespace htfm::app
