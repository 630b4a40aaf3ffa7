// Figures of risk: of a model, and of one tail.
#include "htfm/page/tail_risk.h"
#include "python/src/bind.h"

namespace htfm::python {

namespace {

using Figure = std::tuple<double, double, double>;  // value and interval

Figure figure(const Scored& s) { return {s.value, s.low, s.high}; }

using MeasureRow = std::tuple<std::string, std::string, double, double, Figure, Figure>;

std::vector<MeasureRow> measure_rows(const RiskReport& r, std::vector<RiskMeasure> RiskLoss::*list) {
  std::vector<MeasureRow> out;
  for (const RiskLoss& l : r.losses)
    for (const RiskMeasure& m : l.*list)
      out.emplace_back(l.name, l.high ? "high" : "low", m.p, period_of_level(m.p) / r.options.rows_per_period,
                       figure(m.quantile), figure(m.sfall));
  return out;
}

using PairRow = std::tuple<std::string, std::string, double, std::vector<Figure>>;

std::vector<PairRow> pair_rows(const RiskReport& r) {
  std::vector<PairRow> out;
  for (const JointRisks& pair : r.pairs)
    for (const JointRisk& j : pair.levels)
      out.emplace_back(r.losses[static_cast<size_t>(pair.first)].name, r.losses[static_cast<size_t>(pair.second)].name,
                       j.p,
                       std::vector<Figure>{figure(j.both), figure(j.second_given_first), figure(j.first_given_second),
                                           figure(j.mean_second), figure(j.mean_first), figure(j.rows)});
  return out;
}

using StressCells = std::tuple<std::string, std::string, std::vector<Figure>>;

std::vector<StressCells> stress_rows(const RiskReport& r) {
  std::vector<StressCells> out;
  for (const StressTable& t : r.stress)
    for (size_t k = 0; k < t.rows.size(); ++k) {
      std::vector<Figure> figures{figure(t.rows[k].mean)};
      for (const Scored& q : t.rows[k].quantiles) figures.push_back(figure(q));
      out.emplace_back(r.losses[static_cast<size_t>(t.given)].name, r.losses[k].name, std::move(figures));
    }
  return out;
}

}  // namespace

void bind_risk(nb::module_& m) {
  nb::class_<RiskOptions>(m, "RiskOptions")
      .def(nb::init<>())
      .def_rw("levels", &RiskOptions::levels)
      .def_rw("return_periods", &RiskOptions::return_periods)
      .def_rw("rows_per_period", &RiskOptions::rows_per_period)
      .def_rw("losses", &RiskOptions::losses)
      .def_rw("portfolio", &RiskOptions::portfolio)
      .def_rw("stress_level", &RiskOptions::stress_level)
      .def_rw("stress_quantiles", &RiskOptions::stress_quantiles)
      .def_rw("stress", &RiskOptions::stress)
      .def_rw("most_pairs", &RiskOptions::most_pairs)
      .def_rw("n", &RiskOptions::n)
      .def_rw("rounds", &RiskOptions::rounds)
      .def_rw("refits", &RiskOptions::refits)
      .def_rw("interval", &RiskOptions::interval)
      .def_rw("seed", &RiskOptions::seed)
      .def_rw("data", &RiskOptions::data);
  nb::class_<RiskReport>(m, "RiskReport")
      .def_prop_ro("losses",
                   [](const RiskReport& r) {
                     std::vector<std::tuple<std::string, std::string, bool>> out;
                     for (const RiskLoss& l : r.losses) out.emplace_back(l.name, l.high ? "high" : "low", l.exact);
                     return out;
                   })
      .def_prop_ro("measures", [](const RiskReport& r) { return measure_rows(r, &RiskLoss::measures); })
      .def_prop_ro("return_levels", [](const RiskReport& r) { return measure_rows(r, &RiskLoss::return_levels); })
      .def_prop_ro("joint", &pair_rows)
      .def_prop_ro("stress", &stress_rows)
      .def_ro("samples", &RiskReport::samples)
      .def_ro("notes", &RiskReport::notes)
      .def_ro("training_rows", &RiskReport::training_rows)
      .def_ro("seconds", &RiskReport::seconds)
      .def_prop_ro("uncertainty", [](const RiskReport& r) { return uncertainty_name(r.uncertainty); })
      .def("text", &risk_text)
      .def("json", &risk_json);
  m.def(
      "risk",
      [](const Model& model, RiskOptions o, const Dataset* rows) {
        o.rows = rows;
        o.report = [](const std::string&, int64_t, int64_t) { check_interrupted(); };
        return risk(model, o);
      },
      "model"_a, "options"_a, "rows"_a.none() = nb::none(), Unlocked());
  m.def("scenarios", &scenarios, "report"_a, "loss"_a, "p"_a, Unlocked());
  m.def("risk_page", &risk_page, "name"_a, "report"_a, "origin"_a, Unlocked());
  m.def("write_risk", &write_risk, "folder"_a, "name"_a, "report"_a, "origin"_a, Unlocked());
  m.def("parse_portfolio", &parse_portfolio, "text"_a, "path"_a);
  m.def("read_portfolio", &read_portfolio, "path"_a);
  m.def(
      "risk_measures",
      [](const Diagnosis& d, int64_t side, const std::vector<double>& p, double interval) {
        const TailReport& r = side < 0 ? d.radius : d.sides.at(static_cast<size_t>(side));
        std::vector<std::tuple<double, Figure, Figure>> out;
        for (const RiskMeasure& found : risk_measures(r, p, interval))
          out.emplace_back(found.p, figure(found.quantile), figure(found.sfall));
        return out;
      },
      "diagnosis"_a, "side"_a, "p"_a, "interval"_a = 0.95, Unlocked());
  m.def("level_of_period", &level_of_period, "period"_a);
}

}  // namespace htfm::python
