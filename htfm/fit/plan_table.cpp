#include "htfm/fit/plan_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/data/date_cells.h"
#include "htfm/data/stray_sentences.h"
#include "htfm/fit/untold_numbers.h"
#include "htfm/model/choose_skew.h"
#include "htfm/stat/independence.h"

namespace htfm {

namespace {

constexpr int64_t kFewestRows = 100, kSteps = 3000, kColumnsTold = 30;
constexpr size_t kNamesTold = 8;
constexpr double kLightIndex = 1000;  // of a tail as good as exponential

double least_of(const at::Tensor& rows, int64_t column) {
  const int64_t n = rows.size(0), width = rows.size(1);
  const double* x = rows.const_data_ptr<double>() + column;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < n; ++i)
    if (x[i * width] < least) least = x[i * width];
  return least;
}

std::string gaps_text(const TableTransform& transform, int64_t column) {
  const DiscreteColumn* states = transform.discrete().of(column);
  for (size_t k = 0; states && k < states->values.size(); ++k)
    if (std::isnan(states->values[k])) return fmt::format(", {:.3g} % missing", 100 * states->shares[k]);
  return {};
}

// What all dates of a column have in common, where their form does not say it.
std::string date_grid_text(const TableTransform& transform, const TableColumn& dates, int64_t column) {
  for (const DiscreteColumn& part : transform.discrete().list())
    if (part.column == column && part.part != DatePart::none) return DateCells(part).grid().describe(dates.date_form);
  return {};
}

// Dates that are drawn apart from the others, such as the 9999-12-31 of what has no end.
std::string far_dates_text(const TableTransform& transform, const TableColumn& dates, int64_t column) {
  std::string text;
  const DiscreteColumn* states = transform.discrete().of(column);
  for (size_t k = 1; states && states->flows && k < states->values.size(); ++k)
    if (!std::isnan(states->values[k]))
      text += fmt::format(", {} in {:.3g} % of the rows", dates.text(states->values[k]), 100 * states->shares[k]);
  return text;
}

// A number as it would stand in a file: six digits, the same wherever the file is read.
double six_digits(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

// A power of two near a quarter of the rows: enough batches an epoch to be random, few enough to be quick.
int64_t batch_for(int64_t rows) {
  int64_t batch = 64;
  while (batch < 1024 && 8 * batch <= rows) batch *= 2;
  return batch;
}

// Whether the user says something of what the one-clock plan decides: then that plan is made. Noise between levels goes
// with any plan.
bool asks_for_clock(const std::vector<std::string>& settings) {
  constexpr const char* kOwn[] = {"source.", "clock.", "coupling.", "precondition.", "data.tail", "method"};
  return std::any_of(settings.begin(), settings.end(), [&](const std::string& s) {
    if (s.starts_with("coupling.noise")) return false;
    return std::any_of(std::begin(kOwn), std::end(kOwn), [&](const char* own) { return s.starts_with(own); });
  });
}

bool asks_for(const std::vector<std::string>& settings, const char* key) {
  return std::any_of(settings.begin(), settings.end(), [&](const std::string& s) { return s.starts_with(key); });
}

// Whether the user says something that rows which are put together anew would contradict.
bool asks_for_rows_as_they_are(const std::vector<std::string>& settings) {
  constexpr const char* kOwn[] = {"coupling.kind", "data.whiten", "data.independent", "condition."};
  return std::any_of(settings.begin(), settings.end(), [&](const std::string& s) {
    return std::any_of(std::begin(kOwn), std::end(kOwn), [&](const char* own) { return s.starts_with(own); });
  });
}

RunConfig in_table_units(RunConfig base) {
  base.data.normalise = "table", base.data.whiten = true;
  return base;
}

void plan_training(RunConfig& c, int64_t rows, int64_t dim) {
  c.net.mlp.width = dim <= 8 ? 64 : 128;
  c.train.batch = batch_for(rows);
  c.train.epochs = std::max<int64_t>(1, kSteps * c.train.batch / rows);
  c.train.lr = 0.002, c.train.ema = 0.998;
  c.train.validation = 0.15, c.train.validate_steps = 100, c.train.patience = 10;
  c.sample.solver = "ab2", c.sample.nfe = 20;
}

// What the user says of the source or the clock goes before what is found. And columns with a bound, or of a few
// values, are one-sided by their kind, which their map deals with: a skewed source would be fitted to the bend at the
// bound.
bool may_be_skewed(const TableTransform& transform, const std::vector<std::string>& settings) {
  const auto says = [](const std::string& s) { return s.starts_with("source.") || s.starts_with("clock."); };
  const auto one_sided = [](const ColumnTransform& c) {
    return !c.constant && (c.bounded || c.atom || !c.values.empty());
  };
  return std::none_of(settings.begin(), settings.end(), says) &&
         std::none_of(transform.list().begin(), transform.list().end(), one_sided);
}

// The same network and training, with nothing that the tails of the data decided.
RunConfig with_gaussian_source(RunConfig c) {
  const RunConfig plain;
  c.clock = plain.clock, c.source = plain.source, c.source_law = plain.source_law, c.covariance = plain.covariance;
  c.coupling = plain.coupling;
  c.precondition = plain.precondition, c.scale = plain.scale, c.time = plain.time, c.data_scale = plain.data_scale;
  c.data.tail = plain.data.tail, c.data.tail_index = plain.data.tail_index;
  if (c.data.normalise == "scores") c.data.normalise = "table", c.condition.untold.clear();
  return with_settings(std::move(c));
}

// One clock for all columns, from the tail of their size, and a skewed source where the sides differ.
void plan_clock(TablePlan& plan, RunConfig& own, const at::Tensor& seen, const std::vector<std::string>& settings) {
  const std::optional<ChosenSkew> skewed =
      may_be_skewed(plan.transform, settings) ? suggest_skew(seen, plan.diagnosis) : std::nullopt;
  if (skewed) plan.clock = skewed->clock;
  for (auto& [parameter, value] : plan.clock.spec.parameters) value = six_digits(value);
  // A large clock makes all columns large: those that are lighter, or heavier still, come to its index first. Beside a
  // Gaussian source it is bounded columns that stand out. A skewed source has sides of its own, which the columns keep.
  const auto nu = plan.clock.spec.parameters.find("nu");
  const double index = skewed ? 0 : nu == plan.clock.spec.parameters.end() ? kLightIndex : nu->second;
  own.clock.family = plan.clock.spec.family, own.clock.parameters = plan.clock.spec.parameters;
  own.coupling.kind = "pool", own.scale = "clock";
  own.data.tail = "pareto", own.data.tail_index = index;
  if (skewed) own.source_law = skewed->law, own.source = skewed->mean;
}

// Margins of their own, and a flow on scores of them (doc/joint-extremes.md): normal ones from a Gaussian source where
// extremes come alone, logistic ones from a multivariate Laplace source where some come together.
void plan_scores(TablePlan& plan, RunConfig& own) {
  const bool together = plan.joint.any_together();
  own.data.normalise = "scores", own.data.scores = together ? "logistic" : "normal";
  own.train.lr_decay = 0.3, own.train.lr_decay_steps = 3 * kSteps / 10;
  plan.clock = {};
  plan.clock.spec.grid = own.clock.grid;
  if (together) {
    plan.clock.spec.family = "gamma", plan.clock.spec.parameters["shape"] = 1;
    own.clock.family = "gamma", own.clock.parameters["shape"] = 1;
    own.coupling.kind = "pool", own.scale = "clock";
  }
  plan.clock.explanation = fmt::format(
      "{} The distribution of every column is fitted separately, with its own tails on both sides, and the flow learns "
      "from {} scores how the columns depend on each other. {}",
      plan.joint.sentence, own.data.scores,
      together ? "Their exponential tails preserve the spread of extremes that come together, however far out, and the "
                 "clock is exponential, since its source has such tails too."
               : "The clock is deterministic: any other would make all columns large together, more often than in data "
                 "whose extremes come alone.");
}

// Columns that do not depend on each other are learned from rows that are put together anew in every epoch: from few
// rows a network finds a dependence of their extremes where there is none.
void plan_independence(TablePlan& plan, RunConfig& own, Key key) {
  if (own.coupling.kind != "independent" || plan.transform.dim() < 2) return;
  const auto groups = independent_groups(plan.transform.columns_only(plan.train.rows, key).to(at::kDouble), key);
  if (groups.size() < 2) return;
  const std::vector<std::string> names = plan.transform.seen_names(plan.train.names);
  std::string told;
  for (const std::vector<int64_t>& group : groups) {
    std::vector<std::string> own_names;
    std::vector<int64_t> numbers;
    for (const int64_t k : group) {
      numbers.push_back(k + 1);
      own_names.push_back(names.empty() ? fmt::format("column {}", k + 1) : names[static_cast<size_t>(k)]);
    }
    own.data.independent += fmt::format("{}{}", own.data.independent.empty() ? "" : ";", fmt::join(numbers, ","));
    told += fmt::format("{}{}", told.empty() ? "" : "; ", fmt::join(own_names, ", "));
  }
  own.data.whiten = false;
  plan.clock.explanation += fmt::format(
      " As far as {} rows can tell, these groups of columns do not depend on each other, and the flow learns from rows "
      "that combine them from different rows: {}.",
      plan.train.rows.size(0), told);
}

// What a flow would see of the rows as scores of their laws given the condition.
at::Tensor scores_given(const Dataset& data, Key key) {
  const TableTransform scores = TableTransform::fit("scores", data.rows, data.columns, data.constraints, key, false, 0,
                                                    "normal", data.conditions);
  return scores.columns_only(data.rows, key, {data.conditions.values}).to(at::kDouble);
}

// Numbers that are given and say no more than where a column lies and how wide it is are followed by its centre and
// scale alone: from few rows a network finds tails that change with them where none do.
void plan_untold(TablePlan& plan, RunConfig& own, const at::Tensor& scores, Key key) {
  const std::vector<std::string> names = untold_numbers(scores, plan.train.conditions, key);
  if (names.empty()) return;
  own.condition.untold = fmt::format("{}", fmt::join(names, ","));
  plan.clock.explanation += fmt::format(
      " Centre and scale depend on {}; the scores do not, as far as {} rows can tell, so the flow is not given it.",
      fmt::join(names, ", "), plan.train.rows.size(0));
}

// `first`: the data's part of the configuration, settings included.
TablePlan plan_rows(const RunConfig& base, const RunConfig& first, std::pair<Dataset, Dataset> parts,
                    const std::vector<std::string>& settings) {
  TablePlan plan;
  std::tie(plan.train, plan.held_out) = std::move(parts);
  const std::string& name = first.data.path.empty() ? plan.train.origin : first.data.path;
  const int64_t rows = plan.train.rows.size(0),
                all = rows + (plan.held_out.rows.defined() ? plan.held_out.rows.size(0) : 0);
  if (all < kFewestRows)
    throw InputError("[data] {}: expected at least {} rows to fit a model to, got {}", name, kFewestRows, all);
  const Key spread = Key(static_cast<uint64_t>(first.seed)).child("spread");
  plan.transform =
      TableTransform::fit(first.data.normalise == "scores" ? "table" : first.data.normalise, plan.train.rows,
                          plan.train.columns, plan.train.constraints, spread, first.data.whiten);
  const bool given = plan.train.conditions.there();
  if (plan.transform.dim() < 1)
    throw InputError("[data] {}: expected a column that varies, got only constant ones", name);
  const at::Tensor seen = plan.transform.apply(plan.train.rows, spread);
  plan.diagnosis = diagnose(seen, plan.transform.seen_names(plan.train.names));
  const bool discrete = !plan.transform.discrete().empty();
  // Extremes that one category has in all columns come together only as long as it is not given.
  const at::Tensor own_scores = given ? scores_given(plan.train, spread) : at::Tensor();
  plan.joint = given      ? diagnose_joint(own_scores, plan.transform.seen_names(plan.train.names))
               : discrete ? diagnose_joint(plan.transform.columns_only(plan.train.rows, spread),
                                           plan.transform.seen_names(plan.train.names))
                          : diagnose_joint(plan.train.rows, plan.train.names);
  RunConfig own = in_table_units(base);
  plan_training(own, rows, plan.transform.dim());
  plan.clock = suggest_clock(plan.diagnosis, base.clock.grid, seen);
  const bool scores = asks_for(settings, "data.normalise")
                          ? first.data.normalise == "scores"
                          : (given || discrete || !plan.clock.fits_all) && !asks_for_clock(settings);
  if (scores) {
    plan_scores(plan, own);
    if (!given && !discrete && !asks_for_rows_as_they_are(settings)) plan_independence(plan, own, spread);
    if (given && !discrete && !asks_for(settings, "condition.untold")) plan_untold(plan, own, own_scores, spread);
  } else {
    plan_clock(plan, own, seen, settings);
  }
  plan.model = with_settings(own, settings);
  plan.transform = TableTransform::fit(plan.model.data.normalise, plan.train.rows, plan.train.columns,
                                       plan.train.constraints, spread, plan.model.data.whiten,
                                       plan.model.data.tail_index, plan.model.data.scores, plan.train.conditions);
  plan.gaussian = with_gaussian_source(plan.model);
  return plan;
}

}  // namespace

TablePlan plan_table(const RunConfig& base, const std::vector<std::string>& settings) {
  const RunConfig first = with_settings(in_table_units(base), settings);
  return plan_rows(base, first, load_split(first), settings);
}

TablePlan plan_table(const RunConfig& base, const Dataset& table, const std::vector<std::string>& settings) {
  const RunConfig first = with_settings(in_table_units(base), settings);
  return plan_rows(base, first, split_dataset(first, table), settings);
}

std::string describe_column(const TablePlan& plan, int64_t k) {
  const std::string text = plan.transform.describe(k);
  if (plan.train.columns.empty()) return text;
  const TableColumn& own = plan.train.columns[static_cast<size_t>(k)];
  if (own.kind == ColumnKind::date)
    return fmt::format("dates ({}), {} to {}{}{}{}", own.date_form, own.text(least_of(plan.train.rows, k)),
                       own.text(-least_of(plan.train.rows.neg(), k)), date_grid_text(plan.transform, own, k),
                       far_dates_text(plan.transform, own, k), gaps_text(plan.transform, k));
  if (!own.is_category()) return text;
  std::string names;
  for (size_t c = 0; c < std::min<size_t>(own.categories.size(), kNamesTold); ++c)
    names += (c == 0 ? "" : ", ") + own.categories[c];
  if (own.categories.size() > kNamesTold) names += ", ...";
  return fmt::format("{} {} ({}){}", own.ordered ? "ordered categories," : "categories,", own.categories.size(), names,
                     gaps_text(plan.transform, k));
}

namespace {

std::string given_sentence(const ConditionTable& table) {
  return ConditionEncoder::fit(table, false, Key(0)).describe();
}

}  // namespace

std::vector<std::string> plan_sentences(const TablePlan& plan) {
  std::vector<std::string> out;
  for (const std::string& note : plan.train.notes) out.push_back("reading: " + note);
  for (int64_t k = 0; k < std::min(kColumnsTold, plan.transform.columns()); ++k)
    out.push_back(column_name(plan.train, k) + ": " + describe_column(plan, k));
  for (const std::string& sentence : stray_sentences(plan.train, &plan.transform)) out.push_back(sentence);
  if (plan.train.conditions.there()) out.push_back("given: " + given_sentence(plan.train.conditions));
  out.push_back(fmt::format("{} rows to train on, {} held out", plan.train.rows.size(0), plan.held_out.rows.size(0)));
  out.push_back((plan.model.data.normalise == "scores" ? "extremes: " : "clock: ") + plan.clock.explanation);
  return out;
}

}  // namespace htfm
