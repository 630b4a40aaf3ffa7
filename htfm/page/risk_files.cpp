#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "htfm/io/csv.h"
#include "htfm/io/csv_cell.h"
#include "htfm/io/file.h"
#include "htfm/page/risk_text.h"

namespace htfm {

namespace {

// Cells of a .csv file: numbers in full, empty where nothing is known.
std::string plain(double x) {
  return std::isnan(x) ? "" : std::isinf(x) ? (x > 0 ? "inf" : "-inf") : fmt::format("{}", x);
}

void add_plain(std::vector<std::string>& row, const Scored& s) {
  for (const double x : {s.value, s.low, s.high}) row.push_back(plain(x));
}

void add_titles(std::vector<std::string>& row, const std::string& name) {
  for (const char* part : {"", "_low", "_high"}) row.push_back(name + part);
}

void write_cells(const std::string& path, const std::vector<std::vector<std::string>>& rows) {
  atomic_write(path, [&](Sink& sink) {
    for (const auto& row : rows) {
      std::string line;
      for (const std::string& cell : row) {
        if (&cell != &row[0]) line += ',';
        append_csv_cell(cell, line, cell.find(' ') != std::string::npos);
      }
      sink.write(line + "\n");
    }
  });
}

std::vector<std::vector<std::string>> measure_rows(const RiskReport& r) {
  std::vector<std::vector<std::string>> out{{"loss", "side", "p", "period"}};
  add_titles(out[0], "quantile"), add_titles(out[0], "sfall");
  for (const RiskLoss& l : r.losses) {
    const auto add = [&](const RiskMeasure& m) {
      std::vector<std::string> row{l.name, l.high ? "high" : "low", plain(m.p),
                                   plain(period_of_level(m.p) / r.options.rows_per_period)};
      add_plain(row, m.quantile), add_plain(row, m.sfall);
      out.push_back(std::move(row));
    };
    for (const RiskMeasure& m : l.measures) add(m);
    for (const RiskMeasure& m : l.return_levels) add(m);
  }
  return out;
}

std::vector<std::vector<std::string>> joint_rows(const RiskReport& r) {
  std::vector<std::vector<std::string>> out{{"first", "second", "p"}};
  for (const char* name : {"both", "second_given_first", "first_given_second", "mean_second", "mean_first", "rows"})
    add_titles(out[0], name);
  for (const JointRisks& pair : r.pairs)
    for (const JointRisk& j : pair.levels) {
      std::vector<std::string> row{r.losses[static_cast<size_t>(pair.first)].name,
                                   r.losses[static_cast<size_t>(pair.second)].name, plain(j.p)};
      for (const Scored* s :
           {&j.both, &j.second_given_first, &j.first_given_second, &j.mean_second, &j.mean_first, &j.rows})
        add_plain(row, *s);
      out.push_back(std::move(row));
    }
  return out;
}

std::vector<std::vector<std::string>> stress_rows(const RiskReport& r) {
  std::vector<std::vector<std::string>> out{{"given", "p", "column"}};
  add_titles(out[0], "mean");
  for (const double q : r.options.stress_quantiles) add_titles(out[0], fmt::format("q{:g}", q));
  for (const StressTable& t : r.stress)
    for (size_t k = 0; k < t.rows.size(); ++k) {
      std::vector<std::string> row{r.losses[static_cast<size_t>(t.given)].name, plain(r.options.stress_level),
                                   r.losses[k].name};
      add_plain(row, t.rows[k].mean);
      for (const Scored& q : t.rows[k].quantiles) add_plain(row, q);
      out.push_back(std::move(row));
    }
  return out;
}

std::string file_name(const std::string& loss) {
  std::string out = loss;
  for (char& c : out)
    if (!(std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.')) c = '_';
  return "scenarios_" + out + ".csv";
}

}  // namespace

std::vector<std::string> write_risk(const std::string& folder, const std::string& name, const RiskReport& r,
                                    const report::KeyValues& origin) {
  std::vector<std::string> written, names;
  const auto path = [&](const std::string& file) {
    written.push_back(file);
    return folder + "/" + file;
  };
  for (const RiskLoss& l : r.losses) names.push_back(l.name);
  write_cells(path("measures.csv"), measure_rows(r));
  if (!r.pairs.empty()) write_cells(path("joint.csv"), joint_rows(r));
  if (!r.stress.empty()) write_cells(path("stress.csv"), stress_rows(r));
  std::vector<std::string> asked;
  if (r.with_portfolio)
    asked.push_back(r.losses.back().name);
  else
    for (const StressTable& t : r.stress) asked.push_back(names[static_cast<size_t>(t.given)]);
  for (const std::string& loss : asked) {
    std::string file = file_name(loss);
    for (int k = 2; std::find(written.begin(), written.end(), file) != written.end(); ++k)
      file = file_name(fmt::format("{}_{}", loss, k));
    write_csv(path(file), scenarios(r, loss, r.options.stress_level), names, r.digits);
  }
  atomic_write(path("risk.html"), risk_page(name, r, origin));
  atomic_write(path("risk.json"), risk_json(r) + "\n");
  return written;
}

}  // namespace htfm
