// How far out the margins of small tables are right: laws with known quantiles, values as they are drawn, rounded,
// repeated and heaped, fitted as `htfm fit` fits a column.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "experiment/reproduce.h"
#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/data/table_transform.h"
#include "htfm/io/file.h"
#include "htfm/stat/estimators.h"

namespace htfm::app {

namespace {

constexpr int64_t kFitted = 100;  // draws
constexpr double kFarLevel = 1e-4;

/// The value beyond which a law has the share p, and the share 1 - p = u below.
using LawQuantile = double (*)(double p, double u);

struct MarginLaw {
  const char* name;
  LawQuantile quantile;
};

constexpr std::array<MarginLaw, 7> kLaws{{
    {"normal", [](double, double u) { return normal_quantile(u); }},
    {"exponential", [](double p, double) { return -std::log(p); }},
    {"lognormal", [](double, double u) { return std::exp(normal_quantile(u)); }},
    {"Student-t 2", [](double p, double u) { return (u - p) / std::sqrt(2 * u * p); }},
    {"Pareto 3", [](double p, double) { return std::pow(p, -1.0 / 3); }},
    {"Pareto 2", [](double p, double) { return std::pow(p, -0.5); }},
    {"Pareto 1.2", [](double p, double) { return std::pow(p, -1 / 1.2); }},
}};

/// What is done to the values: rounded to a step, a share of them to ten times the step, and each repeated.
struct Form {
  const char* name;
  double step = 0;
  int64_t copies = 1;
  double heaped = 0;
};

constexpr std::array<Form, 7> kForms{{{"as drawn"},
                                      {"rounded to 0.1", 0.1},
                                      {"rounded to 0.25", 0.25},
                                      {"each twice", 0, 2},
                                      {"each twice, 0.05", 0.05, 2},
                                      {"each five times", 0, 5},
                                      {"half heaped", 0.05, 1, 0.5}}};

// To the nearest multiple, as a file would have it.
double rounded(double x, double step) { return std::round(std::round(x / step) * step * 1e6) / 1e6; }

std::vector<double> drawn_values(const MarginLaw& law, const Form& form, int64_t n, Key key) {
  std::vector<double> out;
  for (uint64_t i = 0; std::ssize(out) < n; ++i) {
    const double u = key.uniform(2 * i);
    double x = law.quantile(1 - u, u);
    if (form.step > 0) x = rounded(x, key.uniform(2 * i + 1) < form.heaped ? 10 * form.step : form.step);
    for (int64_t c = 0; c < form.copies && std::ssize(out) < n; ++c) out.push_back(x);
  }
  return out;
}

// Of the distance from the median at 1/(10 n) and at 1 in 10,000: log(fitted / true); and the number of excesses.
struct FarErrors {
  double near = 0, far = 0, excesses = 0;
};

FarErrors fitted_margin(const MarginLaw& law, const Form& form, int64_t n, Key key, bool clumps) {
  std::vector<double> values = drawn_values(law, form, n, key);
  const ColumnTransform column = ColumnTransform::recognise(values, key.child("column"));
  for (size_t i = 0; i < values.size(); ++i) values[i] = column.spread(values[i], key.child("spread").uniform(i));
  std::sort(values.begin(), values.end());
  MarginOptions options = margin_options(column, values);
  if (!clumps) options.clumps_above = options.clumps_below = 1;
  const Margin margin = Margin::fit(values, options);
  const double median = law.quantile(0.5, 0.5);
  const auto error = [&](double p) {
    double truth = law.quantile(p, 1 - p);
    if (form.step > 0) truth = rounded(truth, form.step);
    return std::log((column.settle(margin.value({p, true})) - median) / (truth - median));
  };
  return {error(0.1 / static_cast<double>(n)), error(kFarLevel), static_cast<double>(margin.above().exceedances)};
}

}  // namespace

Json reproduce_margins(const ReproduceOptions& o) {
  std::vector<Form> forms(kForms.begin(), kForms.end());
  std::erase_if(forms, [&](const Form& f) { return !o.wants(f.name); });
  if (forms.empty()) throw no_cell_matches();
  Json lines = Json::array();
  std::FILE* out = table_output();
  fmt::print(out, "{:<17} {:>5} {:>12} {:>6} {:>7}   {:<25}   {:<25}\n", "values", "rows", "taken as", "k", "no tail",
             "1/(10 n): off bias >2 <1/2", "1e-4: off bias >2 <1/2");
  for (const Form& form : forms)
    for (const int64_t n : {200, 500, 1000, 3000})
      for (const bool clumps : {false, true}) {
        std::vector<FarErrors> found(kLaws.size() * kFitted);
        parallel_for(std::ssize(found), [&](int64_t i) {
          const Key key = Key(static_cast<uint64_t>(o.common.seed + i % kFitted)).child(static_cast<uint64_t>(n));
          found[static_cast<size_t>(i)] = fitted_margin(kLaws[static_cast<size_t>(i / kFitted)], form, n, key, clumps);
        });
        const auto mean = [&](auto&& of) {
          double sum = 0;
          for (const FarErrors& e : found) sum += of(e);
          return sum / static_cast<double>(found.size());
        };
        const auto scores = [&](double FarErrors::*at) {
          return Json{{"off", mean([=](const FarErrors& e) { return std::abs(e.*at); })},
                      {"bias", mean([=](const FarErrors& e) { return e.*at; })},
                      {"too_large", mean([=](const FarErrors& e) { return e.*at > std::log(2) ? 1.0 : 0.0; })},
                      {"too_small", mean([=](const FarErrors& e) { return e.*at < -std::log(2) ? 1.0 : 0.0; })}};
        };
        Json line{{"values", form.name},
                  {"rows", n},
                  {"clumps", clumps},
                  {"excesses", mean([](const FarErrors& e) { return e.excesses; })},
                  {"no_tail", mean([](const FarErrors& e) { return e.excesses == 0 ? 1.0 : 0.0; })},
                  {"near", scores(&FarErrors::near)},
                  {"far", scores(&FarErrors::far)}};
        const auto text = [&](const char* at) {
          const Json& s = line[at];
          return fmt::format("{:>9.3f} {:>+6.3f} {:>4.2f} {:>4.2f}", s["off"].get<double>(), s["bias"].get<double>(),
                             s["too_large"].get<double>(), s["too_small"].get<double>());
        };
        fmt::print(out, "{:<17} {:>5} {:>12} {:>6.0f} {:>7.2f}   {}   {}\n", form.name, n,
                   clumps ? "clumps" : "independent", line["excesses"].get<double>(), line["no_tail"].get<double>(),
                   text("near"), text("far"));
        std::fflush(out);
        lines.push_back(std::move(line));
      }
  Json result{{"experiment", "margins"}, {"draws", kFitted}, {"laws", kLaws.size()}, {"lines", lines}};
  atomic_write(o.folder + "/margins.json", result.dump(1) + "\n");
  return result;
}

}  // namespace htfm::app
