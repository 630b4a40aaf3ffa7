// Scores of samples, and the diagnosis of tails.
#include "htfm/metric/frechet.h"
#include "htfm/page/tail_text.h"
#include "python/src/bind.h"

namespace htfm::python {

namespace {

FeatureMoments moments_of(const at::Tensor& x, const char* what) {
  if (!x.defined() || x.dim() != 2)
    throw InputError("[frechet] expected {} as rows x features, got {} dimensions", what, x.defined() ? x.dim() : 0);
  MomentCollector collector;
  collector.add(x.detach(), what);
  return collector.moments();
}

nb::dict tail_dict(const TailReport& r) {
  const Interval index = r.choice.index_interval();
  nb::dict out;
  out["name"] = r.name, out["verdict"] = verdict_name(r.verdict), out["sentence"] = r.sentence;
  out["index"] = r.choice.index(), out["interval"] = std::make_pair(index.lower, index.upper);
  out["gamma"] = r.choice.gamma;
  out["gamma_interval"] = std::make_pair(r.choice.gamma_interval.lower, r.choice.gamma_interval.upper);
  out["threshold"] = r.centre + r.sign * r.choice.threshold, out["exceedances"] = r.choice.k;
  out["rows"] = r.choice.n, out["p_value"] = r.choice.p_value, out["fits"] = r.choice.fits;
  out["column"] = r.column, out["explanation"] = r.choice.explanation;
  out["values"] = r.tail, out["centre"] = r.centre, out["sign"] = r.sign;
  std::vector<std::tuple<int64_t, double, double, double>> path;
  for (const ThresholdPoint& p : r.choice.path) path.emplace_back(p.k, p.hill.gamma, p.moment.gamma, p.gpd.gamma);
  out["path"] = path;
  return out;
}

nb::dict skew_dict(const Skewness& s) {
  nb::dict out;
  out["name"] = s.name, out["verdict"] = skew_verdict_name(s.verdict), out["sentence"] = s.sentence;
  out["body"] = s.body, out["ratio"] = s.ratio, out["gamma_difference"] = s.gamma_difference;
  out["p_value"] = s.p_value;
  return out;
}

}  // namespace

void bind_tails(nb::module_& m) {
  nb::class_<Diagnosis>(m, "Diagnosis")
      .def_ro("rows", &Diagnosis::rows)
      .def_ro("columns", &Diagnosis::columns)
      .def_ro("constant", &Diagnosis::constant)
      .def_ro("sentence", &Diagnosis::sentence)
      .def_prop_ro("verdict", [](const Diagnosis& d) { return verdict_name(d.verdict); })
      .def_prop_ro("radius", [](const Diagnosis& d) { return tail_dict(d.radius); })
      .def_prop_ro("decisive",
                   [](const Diagnosis& d) -> std::optional<nb::dict> {
                     if (const TailReport* r = d.decisive()) return tail_dict(*r);
                     return std::nullopt;
                   })
      .def_prop_ro("sides",
                   [](const Diagnosis& d) {
                     std::vector<nb::dict> out;
                     for (const TailReport& r : d.sides) out.push_back(tail_dict(r));
                     return out;
                   })
      .def_prop_ro("directions",
                   [](const Diagnosis& d) {
                     std::vector<nb::dict> out;
                     for (const TailReport& r : d.directions) out.push_back(tail_dict(r));
                     return out;
                   })
      .def_prop_ro("skewness",
                   [](const Diagnosis& d) {
                     std::vector<nb::dict> out;
                     for (const Skewness& s : d.skewness) out.push_back(skew_dict(s));
                     return out;
                   })
      .def(
          "quantile",
          [](const Diagnosis& d, int64_t side, double p) {
            const TailReport& r = side < 0 ? d.radius : d.sides.at(static_cast<size_t>(side));
            const Interval i = r.quantile_interval(p);
            return std::make_tuple(r.quantile(p), i.lower, i.upper);
          },
          "side"_a, "p"_a)
      .def("text", &diagnosis_text)
      .def("json", &diagnosis_json);
  m.def(
      "diagnose",
      [](const Dataset& data, const std::string& radius, int64_t directions, double level, uint64_t seed) {
        DiagnosisOptions o;
        if (radius != "euclidean" && radius != "mahalanobis")
          throw InputError("[radius] expected euclidean or mahalanobis; got '{}'", radius);
        if (radius == "mahalanobis") o.radius = RadiusKind::mahalanobis;
        o.directions = directions, o.threshold.level = level, o.seed = seed;
        Diagnosis d = diagnose(data.rows, data.names, o);
        if (static_cast<int64_t>(d.constant.size()) == data.rows.size(1))
          throw InputError("[tails] {}: expected a column that varies, got only constant ones", data.origin);
        return d;
      },
      "data"_a, "radius"_a = "euclidean", "directions"_a = 32, "level"_a = 0.95, "seed"_a = 0, Unlocked());
  m.def(
      "diagnose_tail",
      [](const std::string& name, const std::vector<double>& sorted) { return tail_dict(diagnose_tail(name, sorted)); },
      "name"_a, "sorted"_a);
  m.def(
      "suggest_clock",
      [](const Diagnosis& d) {
        ChosenClock chosen = suggest_clock(d);
        return std::make_pair(std::move(chosen.spec), std::move(chosen.explanation));
      },
      "diagnosis"_a);
  m.def(
      "choose_clock",
      [](const ClockSpec& asked, const at::Tensor& rows) {
        ChosenClock chosen = choose_clock(asked, rows);
        return std::make_pair(std::move(chosen.spec), std::move(chosen.explanation));
      },
      "asked"_a, "rows"_a, Unlocked());
  m.def(
      "tail_page",
      [](const std::string& name, const Dataset& data, const Diagnosis& d, const report::KeyValues& origin) {
        return tail_page(name, data, d, suggest_clock(d), origin);
      },
      "name"_a, "data"_a, "diagnosis"_a, "origin"_a, Unlocked());
}

void bind_metrics(nb::module_& m) {
  m.def("metric_infos", [] {
    std::vector<std::pair<std::string, std::string>> out;
    for (const MetricInfo& info : metric_infos()) out.emplace_back(info.name, info.summary);
    return out;
  });
  using Values = std::vector<std::tuple<std::string, double, double, double, bool>>;
  m.def(
      "compute_metrics",
      [](const std::vector<std::string>& names, const at::Tensor& real, const at::Tensor& fake, uint64_t seed, int k,
         int64_t rounds) {
        MetricOptions o;
        o.set_seed(seed);
        o.k = k, o.bootstrap.rounds = rounds;
        const MetricReport report = compute_metrics(names, real, fake, o);
        Values out;
        for (const MetricValue& v : report.values) out.emplace_back(v.name, v.value, v.low, v.high, v.interval);
        return out;
      },
      "names"_a, "real"_a, "fake"_a, "seed"_a = 0, "k"_a = 10, "rounds"_a = 200, Unlocked());
  m.def(
      "register_metric",
      [](const std::string& name, const std::string& summary,
         const std::function<std::map<std::string, double>(const at::Tensor&, const at::Tensor&)>& compute) {
        register_metric(
            {name, summary, [compute](const at::Tensor& real, const at::Tensor& fake, const MetricOptions&) {
               std::vector<MetricValue> out;
               for (const auto& [key, value] : compute(real, fake)) out.push_back({key, value});
               return out;
             }});
      },
      "name"_a, "summary"_a, "compute"_a);
  m.def(
      "f1_prd",
      [](const at::Tensor& real, const at::Tensor& fake, int64_t clusters, int64_t clusterings, int64_t angles,
         uint64_t seed) {
        const PrdScore s = f1_prd(real, fake, PrdOptions{clusters, clusterings, angles, seed});
        return std::make_tuple(s.f1, s.precision, s.recall, s.curve_precision, s.curve_recall);
      },
      "real"_a, "fake"_a, "clusters"_a = 0, "clusterings"_a = 10, "angles"_a = 201, "seed"_a = 0, Unlocked());
  m.def(
      "f1_knn",
      [](const at::Tensor& real, const at::Tensor& fake, int k) {
        const KnnScore s = f1_knn(real, fake, k);
        return std::make_tuple(s.f1, s.precision, s.recall);
      },
      "real"_a, "fake"_a, "k"_a = 10, Unlocked());
  m.def("w1_pooled", nb::overload_cast<const at::Tensor&, const at::Tensor&>(&w1_pooled), "real"_a, "fake"_a,
        Unlocked());
  m.def(
      "w1_sliced",
      [](const at::Tensor& real, const at::Tensor& fake, int64_t directions, uint64_t seed) {
        const SlicedScore s = w1_sliced(real, fake, SlicedOptions{directions, seed});
        return std::make_pair(s.value, s.standard_error);
      },
      "real"_a, "fake"_a, "directions"_a = 128, "seed"_a = 0, Unlocked());
  m.def(
      "mmd",
      [](const at::Tensor& real, const at::Tensor& fake, int64_t points, int octaves, double bandwidth, uint64_t seed) {
        const MmdScore s = mmd(real, fake, MmdOptions{points, octaves, bandwidth, seed});
        return std::make_pair(s.value, s.bandwidth);
      },
      "real"_a, "fake"_a, "points"_a = 4096, "octaves"_a = 4, "bandwidth"_a = 0.0, "seed"_a = 0, Unlocked());
  m.def(
      "frechet",
      [](const at::Tensor& real, const at::Tensor& fake) {
        const FrechetDistance d = frechet_distance(moments_of(real, "real"), moments_of(fake, "fake"));
        return std::make_tuple(d.value, d.mean, d.covariance);
      },
      "real"_a, "fake"_a, Unlocked());
  m.def(
      "tails_of",
      [](const at::Tensor& real, const at::Tensor& fake, double tail_fraction, const std::vector<double>& levels) {
        TailOptions o;
        o.tail_fraction = tail_fraction, o.levels = levels;
        const TailScore s = tails(real, fake, o);
        nb::gil_scoped_acquire lock;
        nb::dict out;
        out["levels"] = s.levels, out["log_ratio"] = s.log_ratio;
        out["hill_real"] = s.real.hill.index, out["hill_fake"] = s.fake.hill.index;
        out["quantiles_real"] = s.real.quantiles, out["quantiles_fake"] = s.fake.quantiles;
        return out;
      },
      "real"_a, "fake"_a, "tail_fraction"_a = 0.005, "levels"_a = std::vector<double>{0.99, 0.999, 0.9999}, Unlocked());
}

}  // namespace htfm::python
