// The joint law of extremes beside rivals: `htfm fit` and what a user would take instead, on draws whose law is known.
// The draws, the rivals and the figures are those of bench/peers/extremes.py.
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
};
constexpr RivalSet kSets[] = {{"gaussian", "five unlike Student-t columns under a Gaussian copula"},
                              {"gumbel", "the same under a Gumbel copula"},
                              {"independent", "two independent columns, t3 and lognormal"},
                              {"rain", "twelve columns of rain with 5 to 50 % zeros"}};
constexpr const char* kFigures[] = {"chi", "chi_abs", "columns", "sum", "conditional", "zeros", "zeros_true"};

std::string own_folder() {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path().string();
}

}  // namespace

Json reproduce_rivals(const ReproduceOptions& o) {
  const char* given = std::getenv("HTFM_PEERS_PYTHON");
  const std::string python = !o.python.empty() ? o.python : given ? given : "";
  const std::string script = o.peers + "/extremes.py";
  if (python.empty())
    throw InputError("[--python] expected a Python with numpy, scipy and pyvinecopulib (bench/peers/requirements.txt)");
  if (!std::filesystem::exists(script))
    throw InputError("[--peers] expected the folder of the peers' scripts, got no extremes.py in '{}'", o.peers);
  Json out{{"experiment", "rivals"}, {"draws", o.seeds}, {"sets", Json::object()}};
  report::Page page("Extremes beside rivals", fmt::format("{} draws a set, the same for every model.", o.seeds));
  for (const RivalSet& set : kSets) {
    if (!o.wants(set.name)) continue;
    std::vector<std::string> arguments{"--htfm",    own_folder() + "/htfm",
                                       "--set",     set.name,
                                       "--draws",   fmt::format("{}", o.seeds),
                                       "--first",   fmt::format("{}", o.common.seed),
                                       "--threads", fmt::format("{}", thread_count()),
                                       "--cache",   o.folder};
    for (const std::string& s : o.settings) arguments.insert(arguments.end(), {"--setting", s});
    report::Table table;
    table.caption = set.what;
    table.columns = {{"model"}};
    for (const char* f : kFigures) table.columns.push_back({f});
    const auto lines = run_peer_script(python, script, arguments, [&](const Json& j) {
      if (j.contains("draw")) say(j.dump());
    });
    if (!o.common.json) fmt::print("\n{}\n{:<12}", set.what, "model");
    if (!o.common.json)
      for (const char* f : kFigures) fmt::print("{:>13}", f);
    if (!o.common.json) fmt::print("\n");
    for (const Json& j : lines) {
      if (!j.contains("mean of")) continue;
      const std::string model = j["mean of"];
      std::vector<report::Cell> row{model};
      if (!o.common.json) fmt::print("{:<12}", model);
      for (const char* f : kFigures) {
        const bool there = j.contains(f) && j[f].is_number();
        const std::string text = there ? fmt::format("{:.3f}", j[f].get<double>()) : "";
        row.emplace_back(text);
        if (there) out["sets"][set.name][model][f] = j[f];
        if (!o.common.json) fmt::print("{:>13}", text);
      }
      if (!o.common.json) fmt::print("\n");
      table.add(std::move(row));
    }
    if (table.rows.empty())
      throw Error("[rivals] {}: the script said nothing; run it by hand: {} {} {}", set.name, python, script,
                  fmt::join(arguments, " "));
    page.section(set.name).table(table);
  }
  page.section("Figures").text(
      "Means over draws. chi: chi(0.99) less the truth, mean over pairs; chi_abs: of its absolute value; columns and "
      "sum: "
      "|log(q / q_true)| at 0.9999, both sides; conditional: P(loss > 1000 | a > 6) over the truth; zeros: the largest "
      "error of a share of zeros, against the fitted rows, and zeros_true against the law.");
  write_experiment(o.folder, "rivals", page, out);
  return out;
}

}  // namespace htfm::app
