#include "htfm/condition/condition_neighbours.h"

#include <algorithm>
#include <span>

#include "htfm/condition/condition_groups.h"

namespace htfm {

namespace {

constexpr size_t kRowsOfLeaf = 250;
constexpr int kMostHalvings = 6;

class LeafMaker {
 public:
  LeafMaker(const ConditionTable& table, ConditionNeighbours& out)
      : width_(static_cast<int64_t>(table.columns.size())), values_(table.values.const_data_ptr<double>()), out_(out) {
    for (int64_t k = 0; k < width_; ++k)
      if (!table.columns[static_cast<size_t>(k)].is_category()) numbers_.push_back(k);
  }

  void part(std::span<int64_t> rows, int depth) {
    for (size_t tried = 0; depth < kMostHalvings && rows.size() >= 2 * kRowsOfLeaf && tried < numbers_.size();
         ++tried) {
      const int64_t column = numbers_[(static_cast<size_t>(depth) + tried) % numbers_.size()];
      const auto c = [&](int64_t i) { return values_[i * width_ + column]; };
      std::sort(rows.begin(), rows.end(), [&](int64_t a, int64_t b) { return c(a) < c(b) || (c(a) == c(b) && a < b); });
      // Equal numbers stay together.
      size_t cut = rows.size() / 2;
      while (cut < rows.size() && c(rows[cut]) == c(rows[cut - 1])) ++cut;
      if (cut < kRowsOfLeaf || rows.size() - cut < kRowsOfLeaf) continue;
      part(rows.first(cut), depth + 1);
      part(rows.subspan(cut), depth + 1);
      return;
    }
    for (const int64_t row : rows) out_.leaf[static_cast<size_t>(row)] = static_cast<int32_t>(out_.leaves);
    ++out_.leaves;
  }

 private:
  int64_t width_;
  const double* values_;
  ConditionNeighbours& out_;
  std::vector<int64_t> numbers_;
};

}  // namespace

ConditionNeighbours find_neighbours(const ConditionTable& table) {
  if (table.field.there()) return find_neighbours({{{"mean"}}, table.values.mean(1, true)});
  const ConditionGroups groups = ConditionGroups::fit(table);
  ConditionNeighbours out{.group = groups.of(table.values), .leaf = {}, .groups = groups.count(), .leaves = 0};
  out.leaf.resize(out.group.size());
  std::vector<std::vector<int64_t>> rows(static_cast<size_t>(out.groups));
  for (size_t i = 0; i < out.group.size(); ++i)
    rows[static_cast<size_t>(out.group[i])].push_back(static_cast<int64_t>(i));
  LeafMaker leaves(table, out);
  for (std::vector<int64_t>& group : rows)
    if (!group.empty()) leaves.part(group, 0);
  return out;
}

}  // namespace htfm
