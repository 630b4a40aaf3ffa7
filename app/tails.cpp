// htfm tails: light, heavy or too small to tell, for every column, direction and the radius of a data set.
#include <fmt/format.h>

#include "app/commands.h"
#include "app/table_file.h"
#include "htfm/base/error.h"
#include "htfm/io/file.h"
#include "htfm/model/choose_clock.h"
#include "htfm/page/joint_text.h"
#include "htfm/page/tail_page.h"
#include "htfm/page/tail_risk.h"
#include "htfm/page/tail_text.h"

namespace htfm::app {

void add_tails(CLI::App& app) {
  struct Options {
    Common common;
    TableFile file;
    std::string output, radius = "euclidean";
    DiagnosisOptions diagnosis;
    TailRiskOptions risk;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c =
      app.add_subcommand("tails", "Say whether the tails of a data set are light or heavy, and which clock fits");
  c->footer("Example: htfm tails returns.csv --columns DAX,SMI -o tails.html");
  o->file.add(*c);
  c->add_option("--radius", o->radius, "Distance: of standardised columns, or by a robust scatter matrix")
      ->check(one_of({"euclidean", "mahalanobis"}))
      ->capture_default_str();
  c->add_option("--directions", o->diagnosis.directions, "Random directions to look at")
      ->check(not_negative())
      ->capture_default_str();
  c->add_option("--level", o->diagnosis.threshold.level, "Confidence level of the intervals")
      ->check(between(0.5, 0.999))
      ->capture_default_str();
  c->add_option("--levels", o->risk.levels, "Levels of value at risk and expected shortfall")
      ->delimiter(',')
      ->check(between(0.5, 0.99999999))
      ->capture_default_str();
  c->add_option("--return-periods", o->risk.return_periods, "Return levels: once in so many rows")
      ->delimiter(',')
      ->check(between(2, 1e12))
      ->capture_default_str();
  c->add_option("-o,--output", o->output, "Page to write (.html)")->check(output_file({".html"}));
  o->common.add(*c);
  c->callback([o] {
    o->common.apply();
    if (takes_long(o->file.path)) say(fmt::format("reading {}", o->file.path));
    const Dataset data = file_dataset(o->file);
    for (const std::string& note : data.notes) say("reading: " + note);
    o->diagnosis.seed = static_cast<uint64_t>(o->common.seed);
    if (o->radius == "mahalanobis") o->diagnosis.radius = RadiusKind::mahalanobis;
    if (data.rows.numel() > 1000000)
      say(fmt::format("looking at {} rows with {} columns", data.rows.size(0), data.rows.size(1)));
    const Diagnosis d = diagnose(data.rows, data.names, o->diagnosis);
    if (static_cast<int64_t>(d.constant.size()) == data.rows.size(1))
      throw InputError("[tails] {}: expected a column that varies, got only constant ones", o->file.path);
    const ChosenClock clock = suggest_clock(d);
    const JointExtremes joint = diagnose_joint(
        data.rows, data.names, {.level = o->diagnosis.threshold.level, .seed = static_cast<uint64_t>(o->common.seed)});
    o->risk.interval = o->diagnosis.threshold.level;
    if (!o->output.empty())
      atomic_write(o->output, tail_page(o->file.path, data, d, clock,
                                        {{"command", fmt::format("htfm tails {} -o {}", o->file.path, o->output)},
                                         {"program", version_text()}},
                                        joint));
    if (o->common.json) {
      Json j{{"data", o->file.path}};
      j.update(Json::parse(diagnosis_json(d)));
      Json suggested{{"family", clock.spec.family}};
      for (const auto& [name, value] : clock.spec.parameters) suggested[name] = value;
      suggested["explanation"] = clock.explanation;
      j["suggested_clock"] = suggested;
      j["risk"] = Json::parse(tail_risk_json(d, o->risk));
      j["extremes"] = Json::parse(joint_json(joint));
      print_figures(o->common, j);
      return;
    }
    fmt::print("{}\n{}", data.origin, diagnosis_text(d));
    if (const Interval range = d.direction_indices(); range.lower <= range.upper) {
      fmt::print("{} random directions: indices {:.3g} to {:.3g}\n", d.directions.size(), range.lower, range.upper);
    }
    for (const std::string& name : d.constant) fmt::print("{}: constant, left out\n", name);
    if (const int64_t most = d.most_skewed(); most >= 0)
      fmt::print("\nskewness: {}: {}\n", d.skewness[static_cast<size_t>(most)].name,
                 d.skewness[static_cast<size_t>(most)].sentence);
    if (const std::string text = tail_risk_text(d, o->risk); !text.empty()) fmt::print("\n{}", text);
    if (const std::string text = joint_text(joint); !text.empty()) fmt::print("\n{}", text);
    fmt::print("\nverdict: {}\nclock: {}\n{}\n", d.sentence, clock.spec.describe(), clock.explanation);
    if (!o->output.empty()) fmt::print("page: {}\n", o->output);
  });
}

}  // namespace htfm::app
