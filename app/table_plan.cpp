#include "app/table_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "htfm/base/error.h"
#include "htfm/tail/student_check.h"
#include "htfm/model/choose_skew.h"

namespace htfm::app {

namespace {

constexpr int64_t kFewestRows = 100;
constexpr double kLightIndex = 1000;  // of a tail as good as exponential
constexpr double kLightFreedom = 40;  // a Student-t law with more is as good as normal
const std::vector<std::string> kUnits{"data.normalise=table", "data.whiten=true"};

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A power of two near a quarter of the rows: enough batches an epoch to be random, few enough to be quick.
int64_t batch_for(int64_t rows) {
  int64_t batch = 64;
  while (batch < 1024 && 8 * batch <= rows) batch *= 2;
  return batch;
}

std::vector<std::string> training(int64_t rows, int64_t dim) {
  const int64_t batch = batch_for(rows), steps = 3000;
  return {fmt::format("net.width={}", dim <= 8 ? 64 : 128),
          fmt::format("train.batch={}", batch),
          fmt::format("train.epochs={}", std::max<int64_t>(1, steps * batch / rows)),
          "train.lr=0.002",
          "train.ema=0.998",
          "train.validation=0.15",
          "train.validate_steps=100",
          "train.patience=10",
          "sample.solver=ab2",
          "sample.nfe=20"};
}

std::vector<std::string> clock_settings(const ClockSpec& clock) {
  std::vector<std::string> out{"clock.family=" + clock.family};
  for (const auto& [name, value] : clock.parameters) out.push_back(fmt::format("clock.{}={:.6g}", name, value));
  return out;
}

// Where a Student-t law fits the rows, all of them say how heavy the tail is, and the source is that law; elsewhere the largest rows
// decide.
ChosenClock choose_clock(const at::Tensor& rows, const Diagnosis& diagnosis) {
  ChosenClock chosen = suggest_clock(diagnosis);
  if (rows.size(0) < 10 * (rows.size(1) + 2)) return chosen;
  const StudentCheck check = check_student_t(rows);
  const double nu = check.law.nu;
  const bool tail_agrees = diagnosis.verdict != TailVerdict::heavy || diagnosis.decisive()->choice.index_interval().contains(nu);
  if (!check.fits() || !tail_agrees || !(nu < kLightFreedom)) return chosen;
  chosen.spec.family = "inverse-gamma";
  chosen.spec.parameters = {{"nu", nu}};
  chosen.explanation = fmt::format(
      "A Student-t law with {:.3g} degrees of freedom ({:.2g} to {:.2g}) fits the distances of the rows from their centre (p = {:.2g}); "
      "that is known from all rows, and better than from the largest alone, whose tail is {} So the clock is inverse-gamma with nu = "
      "{:.3g}.",
      nu, check.freedom.lower, check.freedom.upper, check.p_value, diagnosis.decisive()->sentence, nu);
  return chosen;
}

// What the user says of the source or the clock goes before what is found. And columns with a bound, or of a few values, are one-sided by
// their kind, which their map deals with: a skewed source would be fitted to the bend at the bound.
bool may_be_skewed(const TableTransform& transform, const std::vector<std::string>& user) {
  const auto says = [](const std::string& s) { return s.starts_with("source.") || s.starts_with("clock."); };
  const auto one_sided = [](const ColumnTransform& c) { return !c.constant && (c.bounded || c.atom || !c.values.empty()); };
  return std::none_of(user.begin(), user.end(), says) && std::none_of(transform.list().begin(), transform.list().end(), one_sided);
}

}  // namespace

TablePlan plan_table(const std::vector<std::string>& data, const std::vector<std::string>& user) {
  TablePlan plan;
  const RunConfig first = parse_config("", "fit", joined(joined(kUnits, data), user));
  std::tie(plan.train, plan.held_out) = load_split(first);
  const int64_t rows = plan.train.rows.size(0);
  if (rows + plan.held_out.rows.size(0) < kFewestRows)
    throw InputError("[data] {}: expected at least {} rows to fit a model to, got {}", first.data.path, kFewestRows,
                     rows + plan.held_out.rows.size(0));
  const Key spread = Key(static_cast<uint64_t>(first.seed)).child("spread");
  plan.transform = TableTransform::fit(first.data.normalise, plan.train.rows, spread, first.data.whiten);
  if (plan.transform.dim() < 1) throw InputError("[data] {}: expected a column that varies, got only constant ones", first.data.path);
  const at::Tensor seen = plan.transform.apply(plan.train.rows, spread);
  plan.diagnosis = diagnose(seen, plan.transform.seen_names(plan.train.names));
  plan.clock = choose_clock(seen, plan.diagnosis);
  const std::optional<ChosenSkew> skewed = may_be_skewed(plan.transform, user) ? suggest_skew(seen, plan.diagnosis) : std::nullopt;
  if (skewed) plan.clock = skewed->clock, plan.mean = skewed->mean, plan.law = skewed->law;
  // A large clock makes all columns large: those that are lighter, or heavier still, come to its index first. Beside a Gaussian source it
  // is bounded columns that stand out.
  const auto nu = plan.clock.spec.parameters.find("nu");
  // A skewed source has sides of its own, which the columns keep.
  const double index = skewed ? 0 : nu == plan.clock.spec.parameters.end() ? kLightIndex : nu->second;
  plan.transform = TableTransform::fit(first.data.normalise, plan.train.rows, spread, first.data.whiten, index);

  const std::vector<std::string> common = joined(joined(kUnits, data), training(rows, plan.transform.dim()));
  std::vector<std::string> own = joined(common, clock_settings(plan.clock.spec));
  own.insert(own.end(),
             {"coupling.kind=pool", "precondition.scale=clock", "data.tail=pareto", fmt::format("data.tail_index={:.6g}", index)});
  if (skewed) own.insert(own.end(), {"source.law=" + plan.law, "source.skew=" + plan.mean.skew, "source.shift=" + plan.mean.shift});
  plan.model = parse_config("", "fit", joined(own, user));
  std::vector<std::string> plain = joined(common, user);
  std::erase_if(plain, [](const std::string& s) {
    return s.starts_with("clock.") || s.starts_with("coupling.") || s.starts_with("precondition.") || s.starts_with("data.tail") ||
           s.starts_with("source.");
  });
  plan.gaussian = parse_config("", "fit", joined(plain, {"clock.family=deterministic"}));
  return plan;
}

}  // namespace htfm::app
