// The laws of columns that become scores: fitted, applied, set right and kept, for all rows or given a condition.
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/data/table_transform.h"
#include "htfm/io/dtype.h"
#include "htfm/tail/student_margin.h"

namespace htfm {

namespace {

constexpr const char *kScores = "transform.scores", *kMargin = "transform.margin.",
                     *kCalibration = "transform.calibration.", *kTrend = "transform.trend.",
                     *kGroups = "transform.groups";
constexpr double kBeyondStrays = 20;   // draws beyond the knots where a few rows' share must be met
constexpr size_t kGroupDraws = 20000;  // of a group that is set right by its own

at::Tensor numbers_tensor(const std::vector<double>& v) {
  at::Tensor out = at::empty({static_cast<int64_t>(v.size())}, at::kDouble);
  std::copy(v.begin(), v.end(), out.mutable_data_ptr<double>());
  return out;
}

std::span<const double> law_numbers(const at::Tensor& t, const std::string& name, const std::string& path) {
  if (t.dim() != 1 || t.scalar_type() != at::kDouble)
    throw InputError("[checkpoint] {}: expected '{}' as a row of float64, got {}", path, name, tensor_text(t));
  return {t.const_data_ptr<double>(), static_cast<size_t>(t.numel())};
}

// "3" for the laws of all rows, "2.3" for those of group 2.
std::string law_name(const char* what, size_t group, size_t column) {
  return group == 0 ? what + std::to_string(column) : fmt::format("{}{}.{}", what, group, column);
}

}  // namespace

at::Tensor with_told(const at::Tensor& rows, const ConditionRows& given) {
  return given.told.defined() ? at::cat({rows, given.told.to(rows.scalar_type())}, 1) : rows;
}

Margin TableTransform::fit_margin(int64_t k, std::vector<double> v, bool as_they_are) const {
  const ColumnTransform& c = list_[seen_[k]];
  std::sort(v.begin(), v.end());
  if (v.front() == v.back()) return Margin::fit(v, {.tail_below = false, .tail_above = false});
  return Margin::fit(v, margin_options(c, as_they_are ? std::span<const double>(v) : std::span<const double>()));
}

void TableTransform::fit_margins(const at::Tensor& rows, Key key, const ConditionTable& given) {
  const int64_t n = rows.size(0);
  const at::Tensor values = rows.to(at::kDouble).contiguous();
  const double* x = values.const_data_ptr<double>();
  conditional_ = given.there();
  if (conditional_) groups_ = ConditionGroups::fit(given);
  // Rows of each group; those of the first one are what is left, or all where that is too few for a law.
  std::vector<std::vector<int64_t>> members(static_cast<size_t>(groups_.count()));
  const std::vector<int32_t> group = conditional_ ? groups_.of(given.values) : std::vector<int32_t>();
  for (int64_t i = 0; i < n; ++i) members[conditional_ ? group[i] : 0].push_back(i);
  if (static_cast<int64_t>(members[0].size()) < ConditionGroups::kFewest) {
    members[0].resize(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) members[0][i] = i;
  }
  const bool numbers = std::any_of(given.columns.begin(), given.columns.end(),
                                   [](const ConditionColumn& c) { return !c.is_category(); });
  laws_.assign(members.size(), {});
  for (GroupLaws& laws : laws_) {
    laws.margins.resize(seen_.size());
    if (numbers) laws.trends.resize(seen_.size());
  }
  const int64_t dim = this->dim();
  parallel_for(dim * static_cast<int64_t>(members.size()), [&](int64_t job) {
    const int64_t k = job % dim, column = seen_[k];
    const auto g = static_cast<size_t>(job / dim);
    const ColumnTransform& c = list_[column];
    const Key own = key.child(static_cast<uint64_t>(column));
    std::vector<double> v;
    std::vector<int64_t> index;  // rows that have a value
    v.reserve(members[g].size());
    for (const int64_t i : members[g])
      if (const double value = x[i * columns() + column]; !std::isnan(value))
        v.push_back(c.spread(value, own.uniform(static_cast<uint64_t>(i)))), index.push_back(i);
    const bool below = std::isfinite(c.least), above = std::isfinite(c.most);
    // Few values, or a bound on both sides: no scale to follow, and the network is told the numbers anyway.
    if (numbers && c.values.empty() && !c.atom && !(below && above)) {
      const ConditionTable own_given{
          given.columns,
          given.values.index_select(0, at::from_blob(index.data(), {static_cast<int64_t>(index.size())}, at::kLong))};
      const double half = c.step() / 2;
      const std::optional<double> bound = below   ? std::optional(c.least - half)
                                          : above ? std::optional(c.most + half)
                                                  : std::nullopt;
      ConditionTrend& trend = laws_[g].trends[static_cast<size_t>(k)];
      trend = ConditionTrend::fit(v, own_given, bound);
      const double* conditions = own_given.values.const_data_ptr<double>();
      const auto width = static_cast<int64_t>(given.columns.size());
      for (size_t i = 0; i < v.size(); ++i) v[i] = trend.remove(v[i], conditions + static_cast<int64_t>(i) * width);
    }
    if (v.empty()) return;
    Margin& margin = laws_[g].margins[static_cast<size_t>(k)];
    margin = fit_margin(k, v, !numbers);
    // Few rows of a group tell little of its tail: where both are heavy and a Student-t law fits, all rows tell.
    constexpr double kHeavy = 0.05;
    if (!conditional_ || margin.has_strays() || std::min(margin.below().shape, margin.above().shape) < kHeavy) return;
    if (std::optional<Margin> student = student_margin(v)) margin = std::move(*student);
  });
  // Where a group has no value of a column, that of all rows stands for it.
  for (size_t g = 1; g < laws_.size(); ++g)
    for (size_t k = 0; k < seen_.size(); ++k)
      if (laws_[g].margins[k].empty()) laws_[g].margins[k] = laws_[0].margins[k];
}

std::vector<TableTransform::GivenRow> TableTransform::given_rows(const at::Tensor& given, int64_t n) const {
  std::vector<GivenRow> out(static_cast<size_t>(n));
  if (!conditional_) return out;
  if (!given.defined() || given.size(0) != n)
    throw Error("[data] expected the conditions of {} rows, got {}", n, given.defined() ? given.size(0) : 0);
  const double* v = given.const_data_ptr<double>();
  for (int64_t i = 0; i < n; ++i) out[i] = {v + i * given.size(1), groups_.of(v + i * given.size(1))};
  return out;
}

int64_t TableTransform::given_width() const {
  int64_t out = groups_.width();
  for (const GroupLaws& laws : laws_)
    for (const ConditionTrend& trend : laws.trends) out = std::max(out, trend.width());
  return out;
}

double TableTransform::seen_value(int64_t k, double x, double u, const GivenRow& given) const {
  const ColumnTransform& column = list_[seen_[k]];
  if (scored()) {
    const GroupLaws& laws = laws_[given.group];
    double y = column.spread(x, u);
    if (!laws.trends.empty()) y = laws.trends[k].remove(y, given.values);
    return scores_.score(laws.margins[k].place(y, u));
  }
  const double z = levels_[k].apply(column.apply(x, u));
  return log_ ? std::copysign(std::log1p(std::abs(z)), z) : z;
}

double TableTransform::data_value(int64_t k, double z, const GivenRow& given, bool calibrated) const {
  const ColumnTransform& column = list_[seen_[k]];
  if (!scored()) return column.invert(levels_[k].invert(log_ ? std::copysign(std::expm1(std::abs(z)), z) : z));
  if (!std::isfinite(z)) return z;
  const GroupLaws& laws = laws_[given.group];
  const double y = laws.margins[k].value(place_of(k, z, given, calibrated));
  return column.settle(laws.trends.empty() ? y : laws.trends[k].restore(y, given.values));
}

TailPlace TableTransform::place_of(int64_t k, double z, const GivenRow& given, bool calibrated) const {
  const GroupLaws& laws = laws_[given.group];
  const std::vector<ScoreCalibration>& right = laws.calibration.empty() ? laws_[0].calibration : laws.calibration;
  return !calibrated || right.empty() ? scores_.place(z) : right[k].place(z, scores_);
}

std::vector<TailPlace> TableTransform::places(const at::Tensor& drawn) const {
  if (conditional()) throw Error("[data] expected laws without conditions");
  const at::Tensor z = unwhitened(drawn);
  const int64_t n = z.size(0), dim = this->dim();
  const double* x = z.const_data_ptr<double>();
  std::vector<TailPlace> out(static_cast<size_t>(n * dim));
  parallel_ranges(n, 4096, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      for (int64_t k = 0; k < dim; ++k)
        if (std::isfinite(x[i * dim + k])) out[i * dim + k] = place_of(k, x[i * dim + k], {});
  });
  return out;
}

// What the laws of states are told of rows of the model, n x dim float64: the score of each value as it is written, in
// the middle of its cell. A column with holes is not set right yet when they are drawn, and is as the model has it.
at::Tensor TableTransform::told_to_states(const at::Tensor& rows, const ConditionRows& given) const {
  if (discrete_.told_as_seen()) return with_told(rows, given);
  const at::Tensor z = unwhitened(rows);
  const int64_t n = z.size(0), dim = this->dim();
  at::Tensor out = at::empty({n, dim}, at::kDouble);
  const double* x = z.const_data_ptr<double>();
  double* y = out.mutable_data_ptr<double>();
  const std::vector<GivenRow> conditions = given_rows(given.values, n);
  std::vector<char> whole;
  for (const int64_t column : seen_) whole.push_back(discrete_.of(column) == nullptr);
  parallel_ranges(n, 4096, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      for (int64_t k = 0; k < dim; ++k) {
        const double v = x[i * dim + k];
        const bool right = whole[static_cast<size_t>(k)] != 0;
        y[i * dim + k] =
            std::isfinite(v) ? seen_value(k, data_value(k, v, conditions[i], right), 0.5, conditions[i]) : v;
      }
  });
  return with_told(out, given);
}

void TableTransform::calibrate(const at::Tensor& drawn, Key key, const ConditionRows& given) {
  at::Tensor states;
  if (!scored()) {
    if (!discrete_.empty()) discrete_.draw_balanced(told_to_states(drawn, given), key);
    return;
  }
  const at::Tensor z = unwhitened(drawn);
  // A margin is that of the rows in which a column has a number of the flow.
  const auto head_of = [&](int64_t k) {
    for (size_t h = 0; h < discrete_.list().size(); ++h)
      if (&discrete_.list()[h] == discrete_.of(seen_[static_cast<size_t>(k)])) return static_cast<int64_t>(h);
    return int64_t{-1};
  };
  const int64_t n = z.size(0);
  const double* x = z.const_data_ptr<double>();
  const std::vector<GivenRow> rows = given_rows(given.values, n);
  // Without discrete columns all margins are corrected or none; a rare number beside an atom may stay as it is.
  const auto there = [](const ScoreCalibration& c) { return c.there(); };
  // By rows of one group, or of all (-1). Columns with holes need the states, which need the other columns.
  const auto fit = [&](int32_t group, std::vector<ScoreCalibration> found) {
    found.resize(seen_.size());
    parallel_for(dim(), [&](int64_t k) {
      std::vector<double> v;
      const int64_t head = head_of(k), heads = static_cast<int64_t>(discrete_.list().size());
      if ((head >= 0) != states.defined()) return;
      v.reserve(static_cast<size_t>(n));
      const int64_t* s = head < 0 ? nullptr : states.const_data_ptr<int64_t>();
      for (int64_t i = 0; i < n; ++i)
        if ((group < 0 || rows[i].group == group) && std::isfinite(x[i * dim() + k]) &&
            (head < 0 || s[i * heads + head] == 0))
          v.push_back(x[i * dim() + k]);
      std::sort(v.begin(), v.end());
      const bool strays = laws_[std::max(group, 0)].margins[k].has_strays();
      if (static_cast<int64_t>(v.size()) >= ScoreCalibration::kFewest)
        found[k] = ScoreCalibration::fit(v, scores_, strays ? kBeyondStrays : ScoreCalibration::kBeyond);
    });
    if (discrete_.empty() && !std::all_of(found.begin(), found.end(), there)) found.clear();
    return found;
  };
  std::vector<size_t> drawn_of(laws_.size(), 0);
  for (const GivenRow& r : rows) ++drawn_of[r.group];
  const auto set_right = [&] {
    const auto begun = [&](size_t g) {
      return states.defined() ? laws_[g].calibration : decltype(laws_[g].calibration){};
    };
    if (std::vector<ScoreCalibration> all = fit(-1, begun(0)); !all.empty()) laws_[0].calibration = std::move(all);
    for (size_t g = 1; g < laws_.size(); ++g)
      if (drawn_of[g] >= kGroupDraws) laws_[g].calibration = fit(static_cast<int32_t>(g), begun(g));
  };
  set_right();
  if (discrete_.empty()) return;
  states = discrete_.draw_balanced(told_to_states(drawn, given), key);
  if (discrete_.has_holes()) set_right();
}

void TableTransform::save_laws(std::map<std::string, at::Tensor>& out) const {
  for (size_t i = 0; i < ScoreLaw::names().size(); ++i)
    if (ScoreLaw::names()[i] == scores_.name()) out[kScores] = numbers_tensor({static_cast<double>(i)});
  if (conditional_) out[kGroups] = numbers_tensor(groups_.numbers());
  for (size_t g = 0; g < laws_.size(); ++g)
    for (size_t k = 0; k < seen_.size(); ++k) {
      out[law_name(kMargin, g, k)] = numbers_tensor(laws_[g].margins[k].numbers());
      if (!laws_[g].calibration.empty() && laws_[g].calibration[k].there())
        out[law_name(kCalibration, g, k)] = numbers_tensor(laws_[g].calibration[k].numbers());
      if (!laws_[g].trends.empty()) out[law_name(kTrend, g, k)] = numbers_tensor(laws_[g].trends[k].numbers());
    }
}

void TableTransform::load_laws(const std::map<std::string, at::Tensor>& in, const std::string& path) {
  const auto scores = in.find(kScores);
  if (scores == in.end()) return;
  const std::span<const double> law = law_numbers(scores->second, kScores, path);
  if (law.size() != 1 || !(law[0] >= 0 && law[0] < static_cast<double>(ScoreLaw::names().size())))
    throw InputError("[checkpoint] {}: expected '{}' to number one of {} laws of scores, got {}", path, kScores,
                     ScoreLaw::names().size(), law.size() == 1 ? fmt::format("{}", law[0]) : "another length");
  scores_ = ScoreLaw::named(ScoreLaw::names()[static_cast<size_t>(law[0])]);
  if (const auto groups = in.find(kGroups); groups != in.end()) {
    conditional_ = true;
    groups_ = ConditionGroups::from_numbers(law_numbers(groups->second, kGroups, path));
  }
  laws_.assign(static_cast<size_t>(groups_.count()), {});
  for (size_t g = 0; g < laws_.size(); ++g) {
    for (size_t k = 0; k < seen_.size(); ++k) {
      const auto margin = in.find(law_name(kMargin, g, k)), own = in.find(law_name(kCalibration, g, k)),
                 trend = in.find(law_name(kTrend, g, k));
      if (margin == in.end())
        throw InputError("[checkpoint] {}: expected the tensor '{}', got none", path, law_name(kMargin, g, k));
      laws_[g].margins.push_back(Margin::from_numbers(law_numbers(margin->second, margin->first, path)));
      if (own != in.end())
        laws_[g].calibration.push_back(ScoreCalibration::from_numbers(law_numbers(own->second, own->first, path)));
      else if (!discrete_.empty())
        laws_[g].calibration.emplace_back();
      if (trend != in.end())
        laws_[g].trends.push_back(ConditionTrend::from_numbers(law_numbers(trend->second, trend->first, path)));
    }
    const auto there = [](const ScoreCalibration& c) { return c.there(); };
    if (std::none_of(laws_[g].calibration.begin(), laws_[g].calibration.end(), there)) laws_[g].calibration.clear();
    for (const size_t count : {laws_[g].calibration.size(), laws_[g].trends.size()})
      if (count != 0 && count != seen_.size())
        throw InputError("[checkpoint] {}: expected '{}' of all {} columns or of none, got {}", path, kCalibration,
                         seen_.size(), count);
  }
}

}  // namespace htfm
