// Which columns of a table, and which of their values, are discrete.
#include <algorithm>
#include <cmath>
#include <limits>
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
  // A flow needs a column: where all are discrete it gets the codes of the one with the most states.
  const auto in_flow = [&](int64_t k) {
    return !constant[static_cast<size_t>(k)] &&
           (found[static_cast<size_t>(k)].flows || found[static_cast<size_t>(k)].values.empty());
  };
  int64_t most = -1, flowing = 0;
  for (int64_t k = 0; k < width; ++k) {
    flowing += in_flow(k);
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
    const bool seconds = DateForm{info.date_form}.has_time();
    const double day = seconds ? kDaySeconds : 1;
    const DiscreteColumn* own = of(k);
    double first = std::numeric_limits<double>::infinity(), last = -first;
    for (int64_t i = 0; i < n; ++i)
      if (const double v = x[i * width + k]; !std::isnan(v) && !(own && own->draws_as_state(v)))
        first = std::min(first, v), last = std::max(last, v);
    const auto add = [&](DatePart part, double least_days) {
      if (!(last - first >= least_days * day)) return;
      DiscreteColumn c{.column = k, .part = part, .flows = seconds};
      c.values.assign(static_cast<size_t>(cells_of(part, seconds).count), 0);
      c.values[0] = first, c.values[1] = last;
      list_.push_back(std::move(c));
    };
    add(DatePart::year, 2 * kYearDays);
    if (info.date_form.find('D') != std::string::npos) add(DatePart::week, 28);
    if (seconds) add(DatePart::day, info.date_form.find('D') == std::string::npos ? 1e9 : 2);
  }
}

}  // namespace htfm
