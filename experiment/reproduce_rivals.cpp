// The joint law of extremes beside rivals: `htfm fit` and what a user would take instead, on draws whose law is known
// and on real tables. The draws, the rivals and the figures are those of bench/peers/extremes.py.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>

#include "bench/peer_script.h"
#include "experiment/reproduce.h"
#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/report/table.h"

namespace htfm::app {

namespace {

struct RivalSet {
  const char *name, *what;
  const char* table = "";  // a file of --data, as the script names it; empty: draws of a known law
};
constexpr RivalSet kSets[] = {{"gaussian", "five unlike Student-t columns under a Gaussian copula"},
                              {"gumbel", "the same under a Gumbel copula"},
                              {"independent", "two independent columns, t3 and lognormal"},
                              {"rain", "twelve columns of rain with 5 to 50 % zeros"},
                              {"returns", "daily log-returns of four indices", "EuStockMarkets.csv:returns"},
                              {"fires", "fire losses", "danish.csv"},
                              {"winter", "five pollutants in winter", "winter.csv"}};

std::string own_folder() {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path().string();
}

std::vector<std::string> script_arguments(const RivalSet& set, const ReproduceOptions& o) {
  std::vector<std::string> out{"--htfm",    own_folder() + "/htfm",
                               "--set",     *set.table ? fmt::format("table:{}/{}", o.data, set.table) : set.name,
                               "--draws",   fmt::format("{}", o.seeds),
                               "--first",   fmt::format("{}", o.common.seed),
                               "--threads", fmt::format("{}", thread_count()),
                               "--cache",   o.folder};
  for (const std::string& s : o.settings) out.insert(out.end(), {"--setting", s});
  return out;
}

// The figures that a line of means holds.
std::vector<std::string> figures_of(const Json& line) {
  std::vector<std::string> out;
  for (const auto& [key, value] : line.items())
    if (value.is_number() && key != "draws") out.push_back(key);
  return out;
}

// What the script said of a set: a row a model, and for a table ours less the best rival's.
report::Table table_of(const RivalSet& set, const std::vector<Json>& lines, bool print, Json& out) {
  report::Table table;
  table.caption = set.what;
  table.columns = {{"model"}};
  std::vector<std::string> figures;
  const auto row = [&](const std::string& name, const auto& text) {
    std::vector<report::Cell> cells{name};
    std::string line = fmt::format("{:<12}", name);
    for (const std::string& f : figures) {
      const std::string own = text(f);
      cells.emplace_back(own), line += fmt::format("  {:>24}", own);
    }
    if (print) fmt::print("{}\n", line);
    table.add(std::move(cells));
  };
  for (const Json& j : lines) {
    if (j.contains("mean of")) {
      if (figures.empty()) {
        figures = figures_of(j);
        if (print) fmt::print("\n{}\n{:<12}", set.what, "model");
        for (const std::string& f : figures) {
          table.columns.push_back({f});
          if (print) fmt::print("  {:>24}", f);
        }
        if (print) fmt::print("\n");
      }
      const Json error = j.value("standard_error", Json::object());
      row(j["mean of"], [&](const std::string& f) {
        if (!j.contains(f)) return std::string();
        const std::string mean = fmt::format("{:.3f}", j[f].get<double>());
        return error.contains(f) ? fmt::format("{} ± {:.3f}", mean, error[f].get<double>()) : mean;
      });
      for (const std::string& f : figures)
        if (j.contains(f)) out["sets"][set.name][j["mean of"]][f] = j[f];
    }
    if (j.contains("beside")) {
      out["sets"][set.name]["beside the best rival"] = j;
      row("less best", [&](const std::string& f) {
        const Json& own = j.at(f);
        return fmt::format("{:+.3f} [{:+.3f}, {:+.3f}]", own["less"].get<double>(), own["from"].get<double>(),
                           own["to"].get<double>());
      });
    }
  }
  return table;
}

}  // namespace

Json reproduce_rivals(const ReproduceOptions& o) {
  const char* given = std::getenv("HTFM_PEERS_PYTHON");
  const std::string python = !o.python.empty() ? o.python : given ? given : "";
  const std::string script = o.peers + "/extremes.py";
  if (python.empty())
    throw InputError(
        "[--python] expected the path of a Python with numpy, scipy and pyvinecopulib (bench/peers/requirements.txt), "
        "got "
        "none");
  if (!std::filesystem::exists(script))
    throw InputError("[--peers] expected the folder of the peers' scripts, got no extremes.py in '{}'", o.peers);
  Json out{{"experiment", "rivals"}, {"draws", o.seeds}, {"sets", Json::object()}};
  report::Page page("Extremes beside rivals", fmt::format("{} draws a set, the same for every model.", o.seeds));
  bool matched = false;
  for (const RivalSet& set : kSets) {
    if (!o.wants(set.name)) continue;
    matched = true;
    if (*set.table && o.data.empty()) continue;
    const std::vector<std::string> arguments = script_arguments(set, o);
    const auto lines = run_peer_script(python, script, arguments, [&](const Json& j) {
      if (j.contains("draw")) say(j.dump());
    });
    const report::Table table = table_of(set, lines, !o.common.json, out);
    if (table.rows.empty())
      throw Error("[rivals] {}: the script said nothing; run it by hand: {} {} {}", set.name, python, script,
                  fmt::join(arguments, " "));
    page.section(set.name).table(table);
  }
  if (!matched) throw no_cell_matches();
  page.section("Figures").text(
      "Means over draws, with their standard errors. chi: chi(0.99) less the truth, mean over pairs; chi_abs: of its "
      "absolute value; columns and sum: |log(q / q_true)| at 0.9999, both sides; conditional: P(loss > 1000 | a > 6) "
      "over the truth; zeros: the largest error of a share of zeros, against the fitted rows, and zeros_true against "
      "the law. Of a table, 70 % of whose rows are fitted: of each column and of their sum |log(q / q of the rest)|, "
      "mean at 0.95 and 0.99, and the error of chi; less best: ours less that of the best rival, with a 95 % interval "
      "over splits.");
  write_experiment(o.folder, "rivals", page, out);
  return out;
}

}  // namespace htfm::app
