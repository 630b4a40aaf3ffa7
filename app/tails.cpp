// htfm tails: light, heavy or too small to tell, for every column, direction and the radius of a data set.
#include <fmt/format.h>

#include "app/commands.h"
#include "app/table_file.h"
#include "htfm/data/stray_sentences.h"
#include "htfm/io/file.h"
#include "htfm/page/tail_findings.h"
#include "htfm/page/tail_page.h"

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
  c->add_option(
       "--radius", o->radius,
       "Distance for the radius: euclidean, of standardised columns, or mahalanobis, by a robust scatter matrix")
      ->check(one_of({"euclidean", "mahalanobis"}))
      ->capture_default_str();
  c->add_option("--directions", o->diagnosis.directions, "Number of random directions to examine")
      ->check(not_negative())
      ->capture_default_str();
  c->add_option("--level", o->diagnosis.threshold.level, "Confidence level of the intervals")
      ->check(between(0.5, 0.999))
      ->capture_default_str();
  c->add_option("--levels", o->risk.levels, "Levels of value at risk and expected shortfall")
      ->delimiter(',')
      ->check(between(0.5, 0.99999999))
      ->capture_default_str();
  c->add_option("--return-periods", o->risk.return_periods, "Return levels: exceeded once in this many rows")
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
    for (const std::string& sentence : stray_sentences(data)) say(sentence);
    o->diagnosis.seed = static_cast<uint64_t>(o->common.seed);
    if (o->radius == "mahalanobis") o->diagnosis.radius = RadiusKind::mahalanobis;
    if (data.rows.numel() > 1000000)
      say(fmt::format("looking at {} rows with {} columns", data.rows.size(0), data.rows.size(1)));
    const TailFindings found = find_tails(o->file.path, data, o->diagnosis);
    o->risk.interval = o->diagnosis.threshold.level;
    if (!o->output.empty())
      atomic_write(o->output,
                   tail_page(o->file.path, data, found.diagnosis, found.clock,
                             page_origin(fmt::format("htfm tails {} -o {}", o->file.path, o->output)), found.joint));
    if (o->common.json) {
      Json j{{"data", o->file.path}};
      j.update(Json::parse(tail_findings_json(found, o->risk)));
      print_figures(o->common, j);
      return;
    }
    fmt::print("{}\n{}", data.origin, tail_findings_text(found, o->risk));
    if (!o->output.empty()) fmt::print("page: {}\n", o->output);
  });
}

}  // namespace htfm::app
