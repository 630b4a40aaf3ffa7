#include "htfm/condition/condition_groups.h"

#include "htfm/base/error.h"

namespace htfm {

ConditionGroups ConditionGroups::fit(const ConditionTable& table) {
  ConditionGroups out;
  for (size_t k = 0; k < table.columns.size(); ++k)
    if (table.columns[k].is_category()) out.columns_.push_back(static_cast<int64_t>(k));
  if (out.columns_.empty()) return out;
  const int64_t n = table.values.size(0), width = table.values.size(1);
  const double* v = table.values.const_data_ptr<double>();
  // Rows by all their categories; then, one column less at a time, those that have no group yet.
  std::map<Codes, int64_t> left;
  for (int64_t i = 0; i < n; ++i) {
    Codes codes;
    for (const int64_t k : out.columns_) codes.push_back(static_cast<int32_t>(v[i * width + k]));
    ++left[codes];
  }
  for (size_t depth = out.columns_.size(); depth > 0; --depth) {
    std::map<Codes, int64_t> shorter;
    for (const auto& [codes, rows] : left) {
      if (rows >= kFewest) {
        out.keys_.push_back(codes);
        out.group_[codes] = static_cast<int32_t>(out.keys_.size());
      } else {
        shorter[Codes(codes.begin(), codes.end() - 1)] += rows;
      }
    }
    left = std::move(shorter);
  }
  return out;
}

int32_t ConditionGroups::of(const double* values) const {
  Codes codes;
  for (const int64_t k : columns_) codes.push_back(static_cast<int32_t>(values[k]));
  for (; !codes.empty(); codes.pop_back())
    if (const auto found = group_.find(codes); found != group_.end()) return found->second;
  return 0;
}

std::vector<int32_t> ConditionGroups::of(const at::Tensor& values) const {
  const int64_t n = values.size(0), width = values.size(1);
  const double* v = values.const_data_ptr<double>();
  std::vector<int32_t> out(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) out[i] = of(v + i * width);
  return out;
}

std::vector<double> ConditionGroups::numbers() const {
  std::vector<double> out{static_cast<double>(columns_.size())};
  out.insert(out.end(), columns_.begin(), columns_.end());
  for (const Codes& codes : keys_) {
    out.push_back(static_cast<double>(codes.size()));
    out.insert(out.end(), codes.begin(), codes.end());
  }
  return out;
}

ConditionGroups ConditionGroups::from_numbers(std::span<const double> v) {
  ConditionGroups out;
  size_t at = 0;
  const auto take = [&](double most) {
    if (at >= v.size() || !(v[at] >= 0 && v[at] <= most))
      throw InputError("[condition] expected groups of conditions, got {}",
                       at < v.size() ? fmt::format("{} as number {}", v[at], at + 1) : "fewer numbers");
    return v[at++];
  };
  for (auto columns = static_cast<size_t>(take(1000)); columns > 0; --columns) {
    out.columns_.push_back(static_cast<int64_t>(take(1e6)));
    if (out.columns_.size() > 1 && out.columns_.back() <= *(out.columns_.end() - 2))
      throw InputError("[condition] expected ascending columns of conditions, got {} after {}", out.columns_.back(),
                       *(out.columns_.end() - 2));
  }
  while (at < v.size()) {
    Codes codes(static_cast<size_t>(take(static_cast<double>(out.columns_.size()))));
    for (int32_t& code : codes) code = static_cast<int32_t>(take(1e9));
    out.keys_.push_back(codes);
    out.group_[codes] = static_cast<int32_t>(out.keys_.size());
  }
  return out;
}

}  // namespace htfm
