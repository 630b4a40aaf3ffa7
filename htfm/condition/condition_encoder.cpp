#include "htfm/condition/condition_encoder.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "htfm/base/error.h"
#include "htfm/base/parse_number.h"
#include "htfm/io/dtype.h"
#include "htfm/stat/order.h"
#include "htfm/stat/score_law.h"

namespace htfm {

namespace {

constexpr const char *kSeen = "condition.seen", *kCounts = "condition.counts", *kLaw = "condition.law.",
                     *kField = "condition.field";
constexpr int kScores = 65;             // quantiles that are kept of a number
constexpr double kFarScore = 3.2;       // the outermost of them
constexpr int64_t kMostSeen = 1 << 16;  // rows of conditions that are kept, and values of fields
constexpr int64_t kMostFieldValues = 1 << 20;
constexpr size_t kNearest = 200;  // of those, the nearest to numbers that are given
constexpr double kMostEntry = 4;  // of a category among many

double score_at(int k) { return kFarScore * (2.0 * k / (kScores - 1) - 1); }

std::string list_text(const std::vector<std::string>& names) {
  constexpr size_t kShown = 20;
  std::string out;
  for (size_t k = 0; k < std::min(kShown, names.size()); ++k) out += (k == 0 ? "" : ", ") + names[k];
  return names.size() > kShown ? fmt::format("{} and {} more", out, names.size() - kShown) : out;
}

}  // namespace

double ConditionEncoder::Law::score(double x) const {
  const auto low = std::lower_bound(quantile.begin(), quantile.end(), x),
             high = std::upper_bound(low, quantile.end(), x);
  if (low != high)  // one or several quantiles are equal to x
    return (score_at(static_cast<int>(low - quantile.begin())) +
            score_at(static_cast<int>(high - quantile.begin()) - 1)) /
           2;
  if (low == quantile.begin()) return -kFarScore;
  if (low == quantile.end()) return kFarScore;
  const auto k = static_cast<int>(low - quantile.begin());
  return std::lerp(score_at(k - 1), score_at(k), (x - *(low - 1)) / (*low - *(low - 1)));
}

double ConditionEncoder::Law::standard(double x) const {
  const double median = quantile[kScores / 2], quarter = quantile_of_sorted(quantile, 0.5 - 0.1054),
               three = quantile_of_sorted(quantile, 0.5 + 0.1054);
  double scale = (three - quarter) / 1.349;
  if (!(scale > 0)) scale = (quantile.back() - quantile.front()) / (2 * kFarScore);
  return scale > 0 ? std::asinh((x - median) / scale) : 0;
}

ConditionEncoder ConditionEncoder::fit(const ConditionTable& table, bool may_be_absent, Key key) {
  ConditionEncoder out;
  out.columns_ = table.columns, out.may_be_absent_ = may_be_absent;
  if (table.field.there()) {
    out.field_ = FieldEncoding::fit(table.field, table.values);
    out.set_sizes();
    out.keep_rows(table.values, key);
    return out;
  }
  const int64_t n = table.values.size(0), width = out.width();
  const double* v = table.values.const_data_ptr<double>();
  const ScoreLaw normal = ScoreLaw::named("normal");
  for (int64_t k = 0; k < width; ++k) {
    std::vector<double> column(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      column[i] = v[i * width + k];
      if (!std::isfinite(column[i]))
        throw InputError("[condition.columns] row {}, {}: expected a value in every row of a given column, got {}",
                         i + 1, out.columns_[k].name,
                         std::isnan(column[i]) ? "none (data.missing = drop leaves such rows out)" : "an infinite one");
    }
    out.laws_.emplace_back();
    if (out.columns_[k].is_category()) continue;
    std::sort(column.begin(), column.end());
    std::vector<double>& quantile = out.laws_.back().quantile;
    for (int s = 0; s < kScores; ++s)
      quantile.push_back(s == 0             ? column.front()
                         : s == kScores - 1 ? column.back()
                                            : quantile_of_sorted(column, normal.place(score_at(s)).level()));
  }
  out.set_sizes();
  out.keep_rows(table.values, key);
  return out;
}

void ConditionEncoder::set_sizes() {
  size_ = (may_be_absent_ ? 1 : 0) + field_.told().size();
  for (const ConditionColumn& c : columns_) size_ += c.is_category() ? static_cast<int64_t>(c.categories.size()) : 2;
}

void ConditionEncoder::keep_rows(const at::Tensor& values, Key key) {
  const int64_t n = values.size(0), width = this->width();
  const double* v = values.const_data_ptr<double>();
  std::vector<int64_t> order(static_cast<size_t>(n)), kept;
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto less = [&](int64_t a, int64_t b) {
    return std::lexicographical_compare(v + a * width, v + (a + 1) * width, v + b * width, v + (b + 1) * width);
  };
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return less(a, b) || (!less(b, a) && a < b); });
  for (const int64_t i : order) {
    if (!kept.empty() && !less(kept.back(), i)) {
      ++counts_.back();
      continue;
    }
    kept.push_back(i), counts_.push_back(1);
  }
  const int64_t most = field_.there() ? std::max<int64_t>(1, kMostFieldValues / width) : kMostSeen;
  if (static_cast<int64_t>(kept.size()) > most) {
    fill_permutation(key, n, order.data());
    kept.assign(order.begin(), order.begin() + most);
    counts_.assign(kept.size(), 1.0);
  }
  seen_ =
      values.index_select(0, at::from_blob(kept.data(), {static_cast<int64_t>(kept.size())}, at::kLong)).contiguous();
}

at::Tensor ConditionEncoder::encode(const at::Tensor& values) const {
  const int64_t n = values.size(0), width = this->width();
  at::Tensor out = at::zeros({n, size_}, at::kFloat);
  if (field_.there()) {
    out.narrow(1, size_ - field_.told().size(), field_.told().size()).copy_(field_.encode(values));
    return out;
  }
  const double* v = values.const_data_ptr<double>();
  float* to = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < n; ++i, to += size_) {
    int64_t at = 0;
    for (int64_t k = 0; k < width; ++k) {
      const double value = v[i * width + k];
      if (columns_[k].is_category()) {
        const auto count = static_cast<int64_t>(columns_[k].categories.size()), code = static_cast<int64_t>(value);
        if (!(value >= 0 && code < count))
          throw Error("[condition] {}: expected a code from 0 to {}, got {}", columns_[k].name, count - 1, value);
        // All entries together as large as a standardised feature's, so that the first layer starts alike.
        to[at + code] = static_cast<float>(std::min(std::sqrt(static_cast<double>(count)), kMostEntry));
        at += count;
      } else {
        if (columns_[k].told)
          to[at] = static_cast<float>(laws_[k].score(value)), to[at + 1] = static_cast<float>(laws_[k].standard(value));
        at += 2;
      }
    }
  }
  return out;
}

at::Tensor ConditionEncoder::absent(int64_t rows) const {
  if (!may_be_absent_)
    throw InputError(
        "[sample.guidance] expected a run that was also trained without its condition (condition.drop = 0.1), got one "
        "that was not");
  at::Tensor out = at::zeros({rows, size_}, at::kFloat);
  out.select(1, absent_entry()).fill_(1);
  return out;
}

void ConditionEncoder::leave_out(at::Tensor& encoded, double share, Key key) const {
  float* row = encoded.mutable_data_ptr<float>();
  for (int64_t i = 0; i < encoded.size(0); ++i, row += size_) {
    if (!(key.uniform(static_cast<uint64_t>(i)) < share)) continue;
    std::fill_n(row, size_, 0.0F);
    row[absent_entry()] = 1;
  }
}

int64_t ConditionEncoder::place_of(const std::string& name) const {
  std::vector<std::string> names;
  for (const ConditionColumn& c : columns_) {
    if (c.name == name) return &c - columns_.data();
    names.push_back(c.name);
  }
  throw InputError("[--given] expected one of {}, got '{}'", list_text(names), name);
}

double ConditionEncoder::value_of(int64_t column, const std::string& text) const {
  const ConditionColumn& c = columns_[static_cast<size_t>(column)];
  const std::optional<double> number = parse_finite(text);
  if (!c.is_category()) {
    if (number) return *number;
    throw InputError("[--given] {}: expected a number, got '{}'", c.name, text);
  }
  for (size_t code = 0; code < c.categories.size(); ++code) {
    if (c.categories[code] == text) return static_cast<double>(code);
    // 3, 3.0 and 03 are the same category of a column of numbers.
    if (number && parse_finite(c.categories[code]) == number) return static_cast<double>(code);
  }
  throw InputError("[--given] {}: expected a category that was seen in training ({}), got '{}'", c.name,
                   list_text(c.categories), text);
}

at::Tensor ConditionEncoder::as_numbers(const at::Tensor& values) const {
  at::Tensor out = values.clone();
  double* v = out.mutable_data_ptr<double>();
  for (int64_t k = 0; k < width(); ++k) {
    if (!columns_[k].numbered()) continue;
    std::vector<double> number;
    for (const std::string& name : columns_[k].categories) number.push_back(parse_finite(name).value_or(0));
    for (int64_t i = 0; i < out.size(0); ++i) v[i * width() + k] = number[static_cast<size_t>(v[i * width() + k])];
  }
  return out;
}

std::string ConditionEncoder::text_of(int64_t column, double value) const {
  const ConditionColumn& c = columns_[static_cast<size_t>(column)];
  return c.is_category() ? c.categories[static_cast<size_t>(value)] : fmt::format("{}", value);
}

// The rows seen in training that agree with what is given: in its categories, where some do, and the nearest in its
// numbers.
std::vector<int64_t> ConditionEncoder::matching(const double* given) const {
  const int64_t n = seen_.size(0), width = this->width();
  const double* v = seen_.const_data_ptr<double>();
  std::vector<int64_t> left(static_cast<size_t>(n));
  std::iota(left.begin(), left.end(), int64_t{0});
  if (field_.there()) return left;  // it is given as a whole, or not at all
  bool near = false;
  for (int64_t k = 0; k < width; ++k) {
    if (std::isnan(given[k])) continue;
    if (!columns_[k].is_category()) {
      near = true;
      continue;
    }
    std::vector<int64_t> same;
    for (const int64_t i : left)
      if (v[i * width + k] == given[k]) same.push_back(i);
    if (!same.empty()) left = std::move(same);
  }
  if (!near || left.size() <= kNearest) return left;
  const auto distance = [&](int64_t i) {
    double sum = 0;
    for (int64_t k = 0; k < width; ++k) {
      if (std::isnan(given[k]) || columns_[k].is_category()) continue;
      const double d = laws_[k].score(v[i * width + k]) - laws_[k].score(given[k]);
      sum += d * d;
    }
    return sum;
  };
  std::vector<std::pair<double, int64_t>> by_distance;
  for (const int64_t i : left) by_distance.emplace_back(distance(i), i);
  std::nth_element(by_distance.begin(), by_distance.begin() + kNearest, by_distance.end());
  left.clear();
  for (size_t k = 0; k < kNearest; ++k) left.push_back(by_distance[k].second);
  std::sort(left.begin(), left.end());
  return left;
}

at::Tensor ConditionEncoder::completed(const at::Tensor& values, Key key, int64_t first) const {
  at::Tensor out = values.clone();
  const int64_t n = out.size(0), width = this->width();
  double* to = out.mutable_data_ptr<double>();
  const double* given = values.const_data_ptr<double>();
  const double* seen = seen_.const_data_ptr<double>();
  std::vector<int64_t> rows;
  std::vector<double> sums, of;  // of the row of conditions that they belong to
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  for (int64_t i = 0; i < n; ++i) {
    const double* own = given + i * width;
    if (std::none_of(own, own + width, [](double v) { return std::isnan(v); })) continue;
    if (of.empty() || !std::equal(of.begin(), of.end(), own, same)) {
      rows = matching(own), of.assign(own, own + width);
      sums.clear();
      double sum = 0;
      for (const int64_t row : rows) sums.push_back(sum += counts_[static_cast<size_t>(row)]);
    }
    const double u = key.uniform(static_cast<uint64_t>(first + i)) * sums.back();
    const auto found = std::upper_bound(sums.begin(), sums.end() - 1, u);
    const double* drawn = seen + rows[static_cast<size_t>(found - sums.begin())] * width;
    for (int64_t k = 0; k < width; ++k)
      if (std::isnan(own[k])) to[i * width + k] = drawn[k];
  }
  return out;
}

std::vector<std::string> ConditionEncoder::warnings(const at::Tensor& values) const {
  const int64_t n = values.size(0), width = this->width();
  const double* v = values.const_data_ptr<double>();
  std::vector<std::string> out;
  if (field_.there()) return field_.warnings(values);
  for (int64_t k = 0; k < width; ++k) {
    if (columns_[k].is_category()) continue;
    const double least = laws_[k].quantile.front(), most = laws_[k].quantile.back(), beyond = (most - least) / 10;
    int64_t far = 0;
    double example = 0;
    for (int64_t i = 0; i < n; ++i)
      if (const double x = v[i * width + k]; x < least - beyond || x > most + beyond) example = x, ++far;
    if (far > 0)
      out.push_back(fmt::format("{}: {} is far from what was seen in training, {:.6g} to {:.6g}{}", columns_[k].name,
                                example, least, most, n > 1 ? fmt::format(" ({} of {} rows)", far, n) : ""));
  }
  // Categories that were seen, but not together.
  const int64_t seen = seen_.size(0);
  const double* s = seen_.const_data_ptr<double>();
  constexpr int64_t kLookedAt = 1000;
  for (int64_t i = 0; i < std::min(n, kLookedAt); ++i) {
    bool found = false;
    for (int64_t r = 0; r < seen && !found; ++r) {
      found = true;
      for (int64_t k = 0; k < width; ++k)
        found = found &&
                (!columns_[k].is_category() || std::isnan(v[i * width + k]) || v[i * width + k] == s[r * width + k]);
    }
    if (found) continue;
    std::string text;
    for (int64_t k = 0; k < width; ++k)
      if (columns_[k].is_category() && !std::isnan(v[i * width + k]))
        text += fmt::format("{}{}={}", text.empty() ? "" : ",", columns_[k].name, text_of(k, v[i * width + k]));
    out.push_back(fmt::format("{}: these categories were not seen together in training", text));
    break;
  }
  return out;
}

std::string ConditionEncoder::describe() const {
  if (field_.there()) return field_.describe();
  std::string out;
  for (int64_t k = 0; k < width(); ++k) {
    const ConditionColumn& c = columns_[static_cast<size_t>(k)];
    out += fmt::format("{}{} ", k == 0 ? "" : ", ", c.name);
    out += c.is_category()
               ? fmt::format("(one of {}: {})", c.categories.size(), list_text(c.categories))
               : fmt::format("(a number from {:.6g} to {:.6g})", laws_[k].quantile.front(), laws_[k].quantile.back());
  }
  return out;
}

void ConditionEncoder::save_state(std::map<std::string, at::Tensor>& out) const {
  if (!there()) return;
  const auto tensor = [](const std::vector<double>& v) {
    at::Tensor t = at::empty({static_cast<int64_t>(v.size())}, at::kDouble);
    std::copy(v.begin(), v.end(), t.mutable_data_ptr<double>());
    return t;
  };
  out[kSeen] = seen_, out[kCounts] = tensor(counts_);
  if (field_.there()) {
    out[kField] = tensor(field_.numbers());
    return;
  }
  for (int64_t k = 0; k < width(); ++k)
    if (!columns_[k].is_category()) out[kLaw + std::to_string(k)] = tensor(laws_[k].quantile);
}

ConditionEncoder ConditionEncoder::load_state(std::vector<ConditionColumn> columns, bool may_be_absent,
                                              const std::map<std::string, at::Tensor>& in, const std::string& path) {
  ConditionEncoder out;
  out.columns_ = std::move(columns), out.may_be_absent_ = may_be_absent;
  if (const auto found = in.find(kField); found != in.end() && out.columns_.empty()) {
    const at::Tensor numbers = found->second.to(at::kDouble).contiguous();
    out.field_ = FieldEncoding::from_numbers({numbers.const_data_ptr<double>(), static_cast<size_t>(numbers.numel())});
  }
  const auto find = [&](const std::string& name, int64_t rows, int64_t width) -> const at::Tensor& {
    const auto found = in.find(name);
    const bool good =
        found != in.end() && found->second.scalar_type() == at::kDouble && found->second.numel() == rows * width;
    if (!good)
      throw InputError("[checkpoint] {}: expected the tensor '{}' of {} x {} float64, got {}", path, name, rows, width,
                       found == in.end() ? "none" : tensor_text(found->second));
    return found->second;
  };
  const auto seen = in.find(kSeen);
  const int64_t rows = seen != in.end() && seen->second.dim() == 2 ? seen->second.size(0) : 0;
  if (rows < 1) throw InputError("[checkpoint] {}: expected the conditions of training in '{}', got none", path, kSeen);
  out.seen_ = find(kSeen, rows, out.width()).contiguous();
  const at::Tensor& counts = find(kCounts, rows, 1);
  out.counts_.assign(counts.const_data_ptr<double>(), counts.const_data_ptr<double>() + rows);
  if (const at::Tensor finite = out.seen_.isfinite(); out.field_.there() && !finite.all().item<bool>())
    throw InputError("[checkpoint] {}: expected finite fields in '{}', got nan or inf in field {}", path, kSeen,
                     finite.all(1).logical_not().nonzero()[0].item<int64_t>() + 1);
  for (int64_t k = 0; k < static_cast<int64_t>(out.columns_.size()); ++k) {
    out.laws_.emplace_back();
    const int64_t count = static_cast<int64_t>(out.columns_[k].categories.size());
    for (int64_t i = 0; i < rows; ++i)
      if (const double v = out.seen_.const_data_ptr<double>()[i * out.width() + k];
          !std::isfinite(v) || (count > 0 && !(v >= 0 && v < static_cast<double>(count))))
        throw InputError("[checkpoint] {}: expected {} for '{}' in '{}', got {} in row {}", path,
                         count > 0 ? fmt::format("one of {} categories", count) : "finite numbers",
                         out.columns_[k].name, kSeen, v, i + 1);
    if (count > 0) continue;
    const at::Tensor& q = find(kLaw + std::to_string(k), kScores, 1);
    out.laws_.back().quantile.assign(q.const_data_ptr<double>(), q.const_data_ptr<double>() + kScores);
  }
  out.set_sizes();
  return out;
}

}  // namespace htfm
