#include "htfm/data/table_transform.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_cholesky.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <fmt/format.h>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/data/date_cells.h"
#include "htfm/data/dates.h"
#include "htfm/data/far_dates.h"
#include "htfm/io/dtype.h"
#include "htfm/stat/clumps.h"
#include "htfm/stat/scatter.h"
#include "htfm/stat/stray_values.h"
#include "htfm/stat/threshold.h"

namespace htfm {

namespace {

constexpr int64_t kRowsOfPolygons = 1000;  // for each number

constexpr const char *kValues = "transform.values.", *kTensor = "transform.columns", *kCentre = "transform.centre",
                     *kRoot = "transform.root", *kLevels = "transform.levels", *kLog = "transform.log",
                     *kTold = "transform.told";

double order_statistic(std::vector<double>& v, double p) {
  const auto k = static_cast<std::ptrdiff_t>(p * static_cast<double>(v.size() - 1));
  std::nth_element(v.begin(), v.begin() + k, v.end());
  return v[static_cast<size_t>(k)];
}

at::Tensor tensor_of(const std::vector<double>& v) {
  at::Tensor out = at::empty({static_cast<int64_t>(v.size())}, at::kDouble);
  std::copy(v.begin(), v.end(), out.mutable_data_ptr<double>());
  return out;
}

ColumnTransform fit_column(const std::string& kind, std::vector<double> column, Key key) {
  if (kind == "table" || kind == "scores") return ColumnTransform::recognise(std::move(column), key);
  if (kind == "robust" || kind == "log") {
    const double centre = order_statistic(column, 0.5);
    return ColumnTransform::affine(
        centre, (order_statistic(column, 0.75) - order_statistic(column, 0.25)) / 1.3489795003921634);
  }
  if (kind != "zscore")
    throw InputError("[data.normalise] expected none, zscore, robust, log, table or scores; got '{}'", kind);
  const auto n = static_cast<double>(column.size());
  double centre = 0, square = 0;
  for (const double v : column) centre += v;
  centre /= n;
  for (const double v : column) square += (v - centre) * (v - centre);
  const double deviation = std::sqrt(square / n);
  if (!std::isfinite(deviation))
    throw InputError(
        "[data.normalise] expected columns whose deviation a double holds for zscore, got values up to {:.3g}",
        *std::max_element(column.begin(), column.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
  return ColumnTransform::affine(centre, deviation);
}

// How many significant digits a number takes to be read back as it is.
int digits_of(double value) {
  constexpr int kAll = 17;
  for (int digits = 1; digits < kAll && std::isfinite(value); ++digits)
    if (std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr) == value) return digits;
  return std::isfinite(value) ? kAll : 0;
}

std::vector<TableColumn> with_far_dates(std::vector<TableColumn> columns, const at::Tensor& rows) {
  const at::Tensor values = rows.to(at::kDouble);
  for (size_t k = 0; k < columns.size(); ++k) {
    if (columns[k].kind != ColumnKind::date) continue;
    const at::Tensor column = values.select(1, static_cast<int64_t>(k)).contiguous();
    std::vector<double> dates(column.const_data_ptr<double>(), column.const_data_ptr<double>() + column.numel());
    std::erase_if(dates, [](double v) { return std::isnan(v); });
    columns[k].apart = far_dates(dates, kYearDays * (DateForm{columns[k].date_form}.has_time() ? kDaySeconds : 1));
  }
  return columns;
}

}  // namespace

MarginOptions margin_options(const ColumnTransform& c, std::span<const double> spread) {
  const double half = c.step() / 2;
  MarginOptions out{.tail_below = c.values.empty() && !std::isfinite(c.least),
                    .tail_above = c.values.empty() && !std::isfinite(c.most),
                    .least = c.least - half,
                    .most = c.most + half,
                    .step = c.step()};
  if (!c.values.empty() || spread.empty()) return out;
  const auto clumps = [&](std::span<const double> sorted, size_t strays) {
    const std::span<const double> others = sorted.first(sorted.size() - strays);
    return clump_size(others, most_exceedances(static_cast<int64_t>(others.size())), out.step);
  };
  std::vector<double> values(spread.size());  // as they are in the table: one that occurs often is no stray
  for (size_t i = 0; i < values.size(); ++i) values[i] = c.settle(spread[i]);
  out.strays_above = find_stray_values(values).values.size();
  if (out.tail_above) out.clumps_above = clumps(values, out.strays_above);
  for (double& v : values) v = -v;
  out.strays_below = find_stray_values(values).values.size();
  std::reverse(values.begin(), values.end());
  if (out.tail_below) out.clumps_below = clumps(values, out.strays_below);
  return out;
}

void TableTransform::set(std::vector<ColumnTransform> list) {
  list_ = std::move(list);
  seen_.clear();
  const std::vector<double> untouched = ColumnTransform().numbers();
  identity_ =
      std::all_of(list_.begin(), list_.end(), [&](const ColumnTransform& t) { return t.numbers() == untouched; });
  for (size_t k = 0; k < list_.size(); ++k)
    if (!list_[k].constant) seen_.push_back(static_cast<int64_t>(k));
  levels_.assign(seen_.size(), {});
}

void TableTransform::find_levels(const at::Tensor& seen, double tail_index) {
  const int64_t n = seen.size(0);
  const float* z = seen.const_data_ptr<float>();
  parallel_for(dim(), [&](int64_t k) {
    std::vector<double> side(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) side[i] = z[i * dim() + k];
    std::sort(side.begin(), side.end());
    levels_[k].above = TailLevel::find(side, tail_index);
    if (list_[seen_[k]].bends(side[side.size() / 50])) return;  // the way to a bound is no tail
    std::reverse(side.begin(), side.end());
    for (double& v : side) v = -v;
    levels_[k].below = TailLevel::find(side, tail_index);
  });
}

TableTransform TableTransform::fit(const std::string& kind, const at::Tensor& rows, Key key, bool whiten,
                                   double tail_index, const std::string& scores) {
  return fit(kind, rows, {}, {}, key, whiten, tail_index, scores);
}

TableTransform TableTransform::fit(const std::string& kind, const at::Tensor& rows,
                                   const std::vector<TableColumn>& infos, const std::vector<Constraint>& constraints,
                                   Key key, bool whiten, double tail_index, const std::string& scores,
                                   const ConditionTable& given) {
  const int64_t n = rows.size(0), columns = rows.size(1);
  TableTransform out;
  at::Tensor values = rows;
  const std::vector<TableColumn> kinds = with_far_dates(infos, rows);
  if (!constraints.empty()) {
    out.relations_ = Relations::fit(constraints, rows.to(at::kDouble).contiguous(), kinds);
    values = out.relations_.apply(rows);
  }
  if (!infos.empty()) {
    out.discrete_ = DiscretePart::find(values.to(at::kDouble).contiguous(), out.relations_.columns(kinds));
    if (!out.discrete_.empty() && kind != "table" && kind != "scores")
      throw InputError(
          "[data.normalise] expected table or scores for a table with categories, missing values or numbers of few "
          "values; got '{}'",
          kind);
    if (!out.discrete_.empty()) values = out.discrete_.flowing(values);
  }
  std::vector<ColumnTransform> list(static_cast<size_t>(columns));
  if (kind != "none") {
    const at::Tensor numbers = values.to(at::kDouble).contiguous();
    const double* x = numbers.const_data_ptr<double>();
    parallel_for(columns, [&](int64_t k) {
      const DiscreteColumn* discrete = out.discrete_.of(k);
      if (discrete && !discrete->flows) {
        list[k].constant = true;
        return;
      }
      std::vector<double> column;
      column.reserve(static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i)
        if (!discrete || !std::isnan(x[i * columns + k])) column.push_back(x[i * columns + k]);
      list[k] = fit_column(kind, std::move(column), key.child(static_cast<uint64_t>(k)));
      out.relations_.bound(k, list[k]);
    });
  }
  out.set(std::move(list));
  out.log_ = kind == "log";
  if (kind == "scores") {
    out.scores_ = ScoreLaw::named(scores);
    out.fit_margins(values, key, given);
  }
  const ConditionRows conditions{given.values};
  const auto fit_fill = [&] {
    if (out.discrete_.has_holes())
      out.fill_ = HoleFill::fit(out.numbers_only(values, key, given.values), key.child("fill"));
  };
  fit_fill();
  if (kind != "scores" && tail_index > 0) {
    out.find_levels(out.columns_only(rows, key, conditions), tail_index);
    fit_fill();
  }
  if (whiten && out.dim() > 0) {
    const at::Tensor seen = out.columns_only(rows, key, conditions);
    out.centre_ = median_centre(seen);
    out.root_ = at::linalg_cholesky(robust_scatter(seen, out.centre_));
  }
  return out;
}

at::Tensor TableTransform::apply(const at::Tensor& rows, Key key, const ConditionRows& given) const {
  at::Tensor z = columns_only(rows, key, given);
  if (!root_.defined()) return z;
  const at::Tensor centred = z.to(at::kDouble).sub(centre_).t().contiguous();
  return at::linalg_solve_triangular(root_, centred, /*upper=*/false).t().to(at::kFloat).contiguous();
}

at::Tensor TableTransform::for_flow(const at::Tensor& rows) const {
  if (rows.size(1) != columns())
    throw InputError("[data] expected rows of {} columns, as the model has them, got {}", columns(), rows.size(1));
  const at::Tensor related = relations_.empty() ? rows : relations_.apply(rows);
  return discrete_.empty() ? related : discrete_.flowing(related);
}

at::Tensor TableTransform::columns_only(const at::Tensor& rows, Key key, const ConditionRows& given) const {
  at::Tensor z = numbers_only(for_flow(rows), key, given.values);
  if (fill_.there()) fill_.apply(z, key.child("fill"));
  return z;
}

at::Tensor TableTransform::numbers_only(const at::Tensor& rows, Key key, const at::Tensor& given) const {
  const int64_t n = rows.size(0), dim = this->dim();
  if (identity_ && rows.scalar_type() == at::kFloat) return rows.contiguous();
  at::Tensor out = at::empty({n, dim}, at::kFloat);
  const at::Tensor values = rows.to(at::kDouble).contiguous();
  const double* x = values.const_data_ptr<double>();
  float* y = out.mutable_data_ptr<float>();
  const std::vector<GivenRow> conditions = given_rows(given, n);
  parallel_ranges(n, 4096, [&](int64_t first, int64_t last) {
    for (int64_t k = 0; k < dim; ++k) {
      const int64_t column = seen_[k];
      const Key own = key.child(static_cast<uint64_t>(column));
      const bool holes = !discrete_.empty() && discrete_.of(column);
      bool finite = true;
      for (int64_t i = first; i < last; ++i) {
        if (holes && std::isnan(x[i * columns() + column])) {
          y[i * dim + k] = std::numeric_limits<float>::quiet_NaN();
          continue;
        }
        const auto value = static_cast<float>(
            seen_value(k, x[i * columns() + column], own.uniform(static_cast<uint64_t>(i)), conditions[i]));
        y[i * dim + k] = value, finite = finite && std::isfinite(value);
      }
      if (!finite) refuse_too_large(x, y, first, last, k);
    }
  });
  return out;
}

at::Tensor TableTransform::unwhitened(const at::Tensor& rows) const {
  return root_.defined() ? at::addmm(centre_, rows, root_.t()) : rows.contiguous();
}

void TableTransform::learn_discrete(const at::Tensor& rows, Key key, const ConditionRows& given, int64_t most_steps) {
  if (discrete_.empty() || discrete_.learned()) return;
  told_ = given.told.defined() ? given.told.size(1) : 0;
  // The part of a date is drawn given the date as a smooth function has it: it moves the date. Where rows are few, so
  // is a column with atoms or gaps: its number is filled in there, and a polygon would learn these single values by
  // heart.
  const bool few = rows.size(0) < kRowsOfPolygons * dim();
  std::vector<bool> smooth;
  for (const int64_t column : seen_)
    smooth.push_back(std::any_of(discrete_.list().begin(), discrete_.list().end(), [&](const DiscreteColumn& c) {
      return c.column == column && (few || c.part != DatePart::none);
    }));
  discrete_.learn(relations_.empty() ? rows : relations_.apply(rows),
                  told_to_states(apply(rows, key, given).to(at::kDouble), given).to(at::kFloat), key.child("discrete"),
                  smooth, most_steps);
}

void TableTransform::refuse_too_large(const double* x, const float* y, int64_t first, int64_t last, int64_t k) const {
  for (int64_t i = first; i < last; ++i)
    if (!std::isfinite(y[i * dim() + k]))
      throw InputError(
          "[data] row {} of those trained on, column {} (counted from 1): expected a value that float32 holds once it "
          "is normalised (up to "
          "3.4e38), got {}: leave the row out, or give the column in other units",
          i + 1, seen_[k] + 1, x[i * columns() + seen_[k]]);
}

at::Tensor TableTransform::invert(const at::Tensor& rows, Key key, int64_t first_row,
                                  const ConditionRows& given) const {
  const int64_t n = rows.size(0), dim = this->dim();
  at::Tensor out = at::empty({n, columns()}, at::kDouble);
  const at::Tensor z = unwhitened(rows);
  const double* x = z.const_data_ptr<double>();
  double* y = out.mutable_data_ptr<double>();
  const std::vector<GivenRow> conditions = given_rows(given.values, n);
  parallel_ranges(n, 4096, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      for (const ColumnTransform& c : list_)
        if (c.constant) y[i * columns() + (&c - list_.data())] = c.origin;
      for (int64_t k = 0; k < dim; ++k) y[i * columns() + seen_[k]] = data_value(k, x[i * dim + k], conditions[i]);
    }
  });
  if (!discrete_.empty()) discrete_.put(discrete_.draw(told_to_states(rows, given), key, first_row), out);
  if (!relations_.empty()) relations_.invert(out);
  return out;
}

std::string TableTransform::describe(int64_t k) const {
  const DiscreteColumn* discrete = discrete_.of(k);
  if (discrete && !discrete->flows) return discrete->describe();
  std::string text = list_[static_cast<size_t>(k)].describe();
  if (discrete) text += discrete->describe();
  text += relations_.describe(k);
  for (size_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i] != k) continue;
    if (conditional()) {
      text += fmt::format(", a separate distribution in each of {} groups of conditions",
                          laws_.size() > 1 ? laws_.size() - 1 : 1);
      continue;
    }
    if (scored()) {
      const Margin& own = laws_[0].margins[i];
      for (const bool above : {true, false})
        if (const MarginTail& tail = above ? own.above() : own.below(); tail.there())
          text +=
              fmt::format(", {} a tail (gamma {:.2g} from {:.4g})", above ? "above" : "below", tail.shape, tail.from);
      continue;
    }
    const bool flip = list_[static_cast<size_t>(k)].flip;
    for (const bool above : {true, false})
      if (const TailLevel& side = above ? levels_[i].above : levels_[i].below; side.levels())
        text += fmt::format(", {} a tail of its own (gamma {:.2g})", above != flip ? "above" : "below", side.shape);
  }
  return text;
}

bool TableTransform::draws_strays(int64_t k, bool above) const {
  for (const GroupLaws& laws : laws_)
    for (size_t i = 0; i < laws.margins.size(); ++i)
      if (seen_[i] == k && laws.margins[i].strays(above).there()) return true;
  return false;
}

std::vector<int> TableTransform::digits() const {
  std::vector<int> out;
  for (const ColumnTransform& c : list_) out.push_back(c.digits());
  // Values that occur often come back as they were, so that they equal those of the data.
  const auto tell_apart = [&](int64_t column, double value) {
    int& digits = out[static_cast<size_t>(column)];
    digits = std::max(digits, digits_of(value));
  };
  for (const DiscreteColumn& c : discrete_.list())
    if (c.flows && c.part == DatePart::none)
      for (const double v : c.values) tell_apart(c.column, v);
  for (const GroupLaws& laws : laws_)
    for (size_t k = 0; laws.trends.empty() && k < laws.margins.size(); ++k)
      for (const double v : laws.margins[k].repeated())
        tell_apart(seen_[k], list_[static_cast<size_t>(seen_[k])].settle(v));
  return out;
}

int64_t TableTransform::levelled() const {
  int64_t count = 0;
  for (const Levels& l : levels_) count += l.above.levels() + l.below.levels();
  return count;
}

std::vector<std::string> TableTransform::seen_names(const std::vector<std::string>& names) const {
  std::vector<std::string> out;
  for (const int64_t k : seen_)
    if (k < static_cast<int64_t>(names.size())) out.push_back(names[k]);
  return out;
}

void TableTransform::save_state(std::map<std::string, at::Tensor>& out) const {
  at::Tensor t = at::empty({columns(), ColumnTransform::kNumbers}, at::kDouble);
  double* p = t.mutable_data_ptr<double>();
  for (const ColumnTransform& c : list_) {
    const std::vector<double> v = c.numbers();
    p = std::copy(v.begin(), v.end(), p);
  }
  out[kTensor] = t;
  if (told_ > 0) out[kTold] = tensor_of({static_cast<double>(told_)});
  discrete_.save_state(out), fill_.save_state(out), relations_.save_state(out);
  for (size_t k = 0; k < list_.size(); ++k)
    if (const std::vector<double>& v = list_[k].values; !v.empty()) {
      out[kValues + std::to_string(k)] = tensor_of(v);
    }
  if (root_.defined()) out[kCentre] = centre_, out[kRoot] = root_;
  if (log_) out[kLog] = tensor_of({1});
  if (scored()) save_laws(out);
  if (levelled() == 0) return;
  at::Tensor levels = at::empty({dim(), 2, TailLevel::kNumbers}, at::kDouble);
  p = levels.mutable_data_ptr<double>();
  for (const Levels& l : levels_)
    for (const TailLevel* side : {&l.above, &l.below}) {
      const auto v = side->numbers();
      p = std::copy(v.begin(), v.end(), p);
    }
  out[kLevels] = levels;
}

TableTransform TableTransform::load_state(const std::map<std::string, at::Tensor>& in, const std::string& path) {
  const auto found = in.find(kTensor);
  if (found == in.end()) throw InputError("[checkpoint] {}: expected the tensor '{}', got none", path, kTensor);
  const at::Tensor& t = found->second;
  if (t.dim() != 2 || t.size(1) != ColumnTransform::kNumbers || t.scalar_type() != at::kDouble)
    throw InputError("[checkpoint] {}: expected '{}' in float64 with {} numbers a column, got {}", path, kTensor,
                     ColumnTransform::kNumbers, tensor_text(t));
  std::vector<ColumnTransform> list;
  for (int64_t k = 0; k < t.size(0); ++k) {
    list.push_back(ColumnTransform::from_numbers(t.const_data_ptr<double>() + k * ColumnTransform::kNumbers));
    if (const auto values = in.find(kValues + std::to_string(k)); values != in.end()) {
      const at::Tensor& v = values->second;
      if (v.dim() != 1 || v.scalar_type() != at::kDouble || v.numel() < 2)
        throw InputError("[checkpoint] {}: expected '{}{}' in float64 with at least two values, got {}", path, kValues,
                         k, tensor_text(v));
      list.back().values.assign(v.const_data_ptr<double>(), v.const_data_ptr<double>() + v.numel());
    }
  }
  TableTransform out;
  out.set(std::move(list));
  if (const auto told = in.find(kTold); told != in.end() && told->second.numel() == 1)
    out.told_ = std::clamp<int64_t>(static_cast<int64_t>(told->second.to(at::kDouble).item<double>()), 0, 1 << 20);
  out.discrete_ = DiscretePart::load_state(in, path, out.columns(), out.dim() + out.told_);
  out.fill_ = HoleFill::load_state(in, path, out.dim());
  out.relations_ = Relations::load_state(in, path, out.columns());
  if (const auto root = in.find(kRoot), centre = in.find(kCentre); root != in.end() && centre != in.end()) {
    const int64_t dim = out.dim();
    const bool good = root->second.sizes() == at::IntArrayRef({dim, dim}) &&
                      centre->second.sizes() == at::IntArrayRef({dim}) && root->second.scalar_type() == at::kDouble &&
                      centre->second.scalar_type() == at::kDouble;
    if (!good)
      throw InputError("[checkpoint] {}: expected '{}' and '{}' in float64 for {} columns, got {} and {}", path,
                       kCentre, kRoot, dim, tensor_text(centre->second), tensor_text(root->second));
    out.centre_ = centre->second, out.root_ = root->second;
  }
  out.log_ = in.contains(kLog);
  out.load_laws(in, path);
  if (const auto levels = in.find(kLevels); levels != in.end()) {
    const at::Tensor& l = levels->second;
    if (l.sizes() != at::IntArrayRef({out.dim(), 2, TailLevel::kNumbers}) || l.scalar_type() != at::kDouble)
      throw InputError("[checkpoint] {}: expected '{}' in float64 for {} columns, got {}", path, kLevels, out.dim(),
                       tensor_text(l));
    const double* p = l.const_data_ptr<double>();
    for (Levels& own : out.levels_) {
      own.above = TailLevel::from_numbers(p), own.below = TailLevel::from_numbers(p + TailLevel::kNumbers);
      p += 2 * TailLevel::kNumbers;
    }
  }
  return out;
}

}  // namespace htfm
