// Which columns of a table, and which of their values, are discrete.
#include <algorithm>
#include <cmath>
#include <map>

#include "htfm/base/nan.h"
#include "htfm/base/parallel.h"
#include "htfm/data/column_transform.h"
#include "htfm/data/date_cells.h"
#include "htfm/data/dates.h"
#include "htfm/data/discrete_part.h"
#include "htfm/stat/stray_values.h"

namespace htfm {

namespace {

constexpr size_t kFewValues = 20;  // a number of so few values, each so often, is drawn as one of them
constexpr int64_t kOften = 5;
constexpr size_t kMostDetermined = 2000;  // values of a number that a column of categories determines
constexpr int64_t kRareExceptions = 100;

// Values that occur very often at an end of a column that is otherwise spread; the rest stays in `values`.
std::vector<double> take_atoms(std::vector<double>& values) {
  std::vector<double> atoms;
  while (atoms.size() < 2 && values.size() > 20) {
    const ColumnTransform kind = ColumnTransform::recognise(values, Key(0));
    if (kind.constant || !kind.atom || !kind.values.empty()) break;
    atoms.push_back((kind.flip ? -kind.bound : kind.bound) + 0.0);
    std::erase_if(values, [&](double v) { return v == atoms.back(); });
  }
  return atoms;
}

// A value at an end that occurs in several rows, and so far from all others that it would be a stray in one (-9999 for
// what was not measured): a code. What counts as strays as it is stays with the numbers. The rest stays in `values`.
std::vector<double> take_codes(std::vector<double>& values) {
  std::vector<double> codes;
  for (const double sign : {1.0, -1.0}) {
    if (values.empty()) break;
    std::vector<double> once = values;
    for (double& v : once) v *= sign;
    const double end = *std::max_element(once.begin(), once.end());
    if (std::count(once.begin(), once.end(), end) < 2 || !find_stray_values(once).values.empty()) continue;
    std::erase(once, end);
    once.push_back(end);
    if (find_stray_values(once).values != std::vector<double>{end}) continue;
    codes.push_back(sign * end + 0.0);
    std::erase(values, codes.back());
  }
  return codes;
}

// Whether each category of a column has one value of a number, as a product has its price: in all but a hundredth of
// the rows, and not because the number hardly varies.
bool determines(const double* category, const double* number, int64_t n, int64_t stride, size_t categories) {
  std::vector<std::map<double, int64_t>> values(categories);  // with their rows
  int64_t exceptions = 0;                                     // so many at least
  for (int64_t i = 0; i < n && exceptions <= n / kRareExceptions; ++i) {
    const double c = category[i * stride], x = number[i * stride];
    if (std::isnan(c) || std::isnan(x)) continue;
    std::map<double, int64_t>& own = values[static_cast<size_t>(c)];
    if (++own[x] == 1 && own.size() > 1) ++exceptions;
  }
  if (exceptions > n / kRareExceptions) return false;
  int64_t again = 0, other = 0;
  for (const std::map<double, int64_t>& own : values) {
    int64_t rows = 0, most = 0;
    for (const auto& [value, count] : own) rows += count, most = std::max(most, count);
    if (rows > 0) again += most - 1, other += rows - most;
  }
  return again >= n / 2 && other <= again / kRareExceptions;
}

// The values of a number that a flow would draw, where some column of categories determines it; else none.
std::vector<double> determined_values(const double* rows, int64_t n, int64_t width, int64_t number,
                                      const std::vector<TableColumn>& columns) {
  std::map<double, int64_t> different;
  int64_t there = 0;
  for (int64_t i = 0; i < n && different.size() <= kMostDetermined; ++i)
    if (const double v = rows[i * width + number]; !std::isnan(v)) ++different[v], ++there;
  if (different.empty() || different.size() > kMostDetermined) return {};
  for (const auto& [value, count] : different)
    if (2 * count > there) return {};
  for (int64_t k = 0; k < width; ++k) {
    const TableColumn& c = columns[static_cast<size_t>(k)];
    if (!c.is_category() || !determines(rows + k, rows + number, n, width, c.categories.size())) continue;
    std::vector<double> out;
    for (const auto& [value, count] : different) out.push_back(value);
    return out;
  }
  return {};
}

}  // namespace

DiscretePart DiscretePart::find(const at::Tensor& rows, const std::vector<TableColumn>& columns) {
  const int64_t n = rows.size(0), width = rows.size(1);
  const double* x = rows.const_data_ptr<double>();
  std::vector<DiscreteColumn> found(static_cast<size_t>(width));
  std::vector<char> constant(static_cast<size_t>(width));  // bytes: written by several threads
  parallel_for(width, [&](int64_t k) {
    DiscreteColumn& out = found[static_cast<size_t>(k)];
    out.column = k;
    std::map<double, int64_t> different;  // with their numbers, as long as they are few
    std::vector<double> there;
    for (int64_t i = 0; i < n; ++i) {
      const double v = x[i * width + k];
      if (std::isnan(v)) continue;
      there.push_back(v);
      if (different.size() <= kFewValues) ++different[v];
    }
    const bool gaps = there.size() < static_cast<size_t>(n);
    const TableColumn& info = columns[static_cast<size_t>(k)];
    constant[static_cast<size_t>(k)] = different.size() == 1 && !gaps;
    if (constant[static_cast<size_t>(k)] || there.empty()) {
      if (there.empty()) out.values = {kNan};
      return;
    }
    // A value that hardly occurs is no code: large counts are rare, and larger ones than were seen may come.
    const bool often =
        std::all_of(different.begin(), different.end(), [](const auto& v) { return v.second >= kOften; });
    const bool few = different.size() <= 2 || (different.size() <= kFewValues && often && !info.asked);
    if (info.is_category()) {
      for (size_t c = 0; c < info.categories.size(); ++c) out.values.push_back(static_cast<double>(c));
    } else if (few) {
      for (const auto& [value, count] : different) out.values.push_back(value);
    } else {
      out.flows = true;
      out.values = {0};
      for (const double value : info.apart)
        if (std::erase(there, value) > 0) out.values.push_back(value);
      if (info.kind != ColumnKind::date)
        for (const auto take : {take_atoms, take_codes})
          for (const double value : take(there)) out.values.push_back(value);
    }
    if (gaps) out.values.push_back(kNan);
    if (out.flows && out.values.size() == 1) out.values.clear();  // nothing discrete about it
  });
  // A flow would blur what a category determines; one column stays with it.
  const auto is_spread = [&](int64_t k) {
    const DiscreteColumn& c = found[static_cast<size_t>(k)];
    return !constant[static_cast<size_t>(k)] && (c.flows || c.values.empty());
  };
  std::vector<std::vector<double>> determined(static_cast<size_t>(width));
  parallel_for(width, [&](int64_t k) {
    const TableColumn& info = columns[static_cast<size_t>(k)];
    if (is_spread(k) && info.kind == ColumnKind::number && !info.asked)
      determined[static_cast<size_t>(k)] = determined_values(x, n, width, k, columns);
  });
  int64_t spread = 0;
  for (int64_t k = 0; k < width; ++k) spread += is_spread(k);
  for (int64_t k = 0; k < width && spread > 1; ++k) {
    std::vector<double>& values = determined[static_cast<size_t>(k)];
    if (values.empty()) continue;
    DiscreteColumn& c = found[static_cast<size_t>(k)];
    if (!c.values.empty() && std::isnan(c.values.back())) values.push_back(kNan);
    c.flows = false, c.values = std::move(values), --spread;
  }
  // A flow needs a column: where all are discrete it gets the codes of the one with the most states.
  int64_t most = -1, flowing = 0;
  for (int64_t k = 0; k < width; ++k) {
    flowing += is_spread(k);
    if (!constant[static_cast<size_t>(k)] &&
        (most < 0 || found[static_cast<size_t>(k)].states() > found[static_cast<size_t>(most)].states()))
      most = k;
  }
  if (flowing == 0 && most >= 0) {
    DiscreteColumn& c = found[static_cast<size_t>(most)];
    const bool gaps = std::isnan(c.values.back()) && c.states() > 1;
    c.flows = true;
    c.values = gaps ? std::vector<double>{0, kNan} : std::vector<double>();
  }
  DiscretePart out;
  for (DiscreteColumn& c : found)
    if (!c.values.empty()) out.list_.push_back(std::move(c));
  out.add_date_parts(rows, columns);
  if (out.empty()) return out;
  const at::Tensor states = out.states_of(rows);
  const int64_t* s = states.const_data_ptr<int64_t>();
  const int64_t heads = states.size(1);
  for (int64_t h = 0; h < heads; ++h) {
    std::vector<double>& shares = out.list_[static_cast<size_t>(h)].shares;
    shares.assign(static_cast<size_t>(out.list_[static_cast<size_t>(h)].states()), 0);
    for (int64_t i = 0; i < n; ++i) shares[static_cast<size_t>(s[i * heads + h])] += 1.0 / static_cast<double>(n);
  }
  return out;
}

void DiscretePart::add_date_parts(const at::Tensor& rows, const std::vector<TableColumn>& columns) {
  const int64_t n = rows.size(0), width = rows.size(1);
  const double* x = rows.const_data_ptr<double>();
  for (int64_t k = 0; k < width; ++k) {
    const TableColumn& info = columns[static_cast<size_t>(k)];
    if (info.kind != ColumnKind::date || (of(k) && !of(k)->flows)) continue;
    const bool seconds = DateForm{info.date_form}.has_time(), has_day = info.date_form.find('D') != std::string::npos;
    const double day = seconds ? kDaySeconds : 1;
    const DiscreteColumn* own = of(k);
    std::vector<double> dates;
    for (int64_t i = 0; i < n; ++i)
      if (const double v = x[i * width + k]; !std::isnan(v) && !(own && own->draws_as_state(v))) dates.push_back(v);
    if (dates.empty()) continue;
    const auto [least, most] = std::minmax_element(dates.begin(), dates.end());
    const double first = *least, last = *most;
    const DateGrid grid = DateGrid::of(dates, seconds);
    const bool monthly = grid.day_of_month > 0;
    const auto add = [&](DatePart part, double least_days) {
      if (!(last - first >= least_days * day)) return;
      const DateCells cells(part, seconds, grid, first, last);
      DiscreteColumn c{.column = k, .part = part, .flows = seconds, .values = cells.values()};
      list_.push_back(std::move(c));
    };
    add(DatePart::year, monthly ? 0 : 2 * kYearDays);
    if (has_day && !monthly) add(DatePart::week, 28);
    if (seconds && grid.unit < kDaySeconds) add(DatePart::day, has_day ? 2 : 1e9);
  }
}

}  // namespace htfm
