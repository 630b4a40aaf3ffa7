// htfm risk: value at risk, expected shortfall, return levels, joint exceedances and stress tables of a model.
#include <fmt/format.h>

#include <optional>

#include "app/commands.h"
#include "app/stop_signals.h"
#include "htfm/base/error.h"
#include "htfm/io/file.h"
#include "htfm/model/run_folder.h"
#include "htfm/page/risk_text.h"

namespace htfm::app {

namespace {

struct RiskCommand {
  Common common;
  std::string run, portfolio, output;
  RiskOptions options;
};

void run_risk(RiskCommand& c) {
  c.common.apply();
  RiskOptions& o = c.options;
  if (c.common.seed_given) o.seed = static_cast<uint64_t>(c.common.seed);
  if (!c.portfolio.empty()) o.portfolio = read_portfolio(c.portfolio);
  const StopSignals signals;
  std::optional<StatusLine> line;
  std::string shown;
  o.report = [&](const std::string& stage, int64_t done, int64_t n) {
    if (!line || stage != shown) line.emplace(stage + ": "), shown = stage;
    line->show(fmt::format("{}/{}", done, n), done == n);
    if (StopSignals::came()) throw Interrupted("stopped while {}", stage);
  };
  const Model model = Model::load(resolve_checkpoint(c.run));
  const RiskReport report = risk(model, o);
  line.reset();
  std::vector<std::string> files;
  if (!c.output.empty()) {
    make_folder(c.output);
    files = write_risk(c.output, c.run, report, page_origin(fmt::format("htfm risk {} -o {}", c.run, c.output)));
  }
  if (c.common.json) {
    Json j{{"run", c.run}};
    j.update(Json::parse(risk_json(report)));
    if (!files.empty()) j["files"] = files;
    print_figures(c.common, j);
    return;
  }
  fmt::print("{}", risk_text(report));
  for (const std::string& file : files) fmt::print("{}/{}\n", c.output, file);
}

}  // namespace

void add_risk(CLI::App& app) {
  auto command = std::make_shared<RiskCommand>();
  RiskOptions& o = command->options;
  CLI::App* c =
      app.add_subcommand("risk", "Value at risk, expected shortfall, return levels and stress tables of a model");
  c->footer("Example: htfm risk run --losses low --portfolio weights.csv -o risk");
  c->add_option("run", command->run, "Folder of a run, or a checkpoint file, of a model of a table")->required();
  c->add_option("--portfolio", command->portfolio, "Weighted sum of columns: a file with lines column,weight");
  c->add_option("--losses", o.losses, "Which values are losses: high or low, or a list such as low,fire=high")
      ->capture_default_str();
  c->add_option("--levels", o.levels, "Levels of the quantiles")->delimiter(',')->capture_default_str();
  c->add_option("--return-periods", o.return_periods,
                "Return levels: exceeded once in this many rows, or periods (--rows-per-period)")
      ->delimiter(',')
      ->capture_default_str();
  c->add_option("--rows-per-period", o.rows_per_period, "Rows in a period: 250 for years of trading days")
      ->check(positive())
      ->capture_default_str();
  c->add_option("--stress-level", o.stress_level, "Level beyond which a loss is a stress or a scenario")
      ->capture_default_str();
  c->add_option("--stress", o.stress, "Columns to stress, or portfolio; by default all, but at most 12 columns")
      ->delimiter(',');
  add_count(*c, "-n,--count", o.n, "Samples of the model (default 100000, fewer with more than 16 columns)");
  c->add_option("--rounds", o.rounds, "Bootstrap rounds for the intervals; 0: no intervals")
      ->check(not_negative())
      ->capture_default_str();
  c->add_option("--refits", o.refits,
                "Models to train again, so that intervals include the uncertainty of what training learns")
      ->check(not_negative())
      ->capture_default_str();
  c->add_option("--interval", o.interval, "Level of the intervals")->check(between(0.5, 0.999))->capture_default_str();
  c->add_option("--data", o.data, "The training table, if it is no longer at the path that the run has stored");
  c->add_option("-o,--output", command->output, "Folder for tables, scenarios and a page")->check(output_folder());
  command->common.add(*c);
  add_trust(*c);
  c->callback([command] { run_risk(*command); });
}

}  // namespace htfm::app
