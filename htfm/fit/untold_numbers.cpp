#include "htfm/fit/untold_numbers.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>

#include <algorithm>

#include "htfm/condition/condition_groups.h"
#include "htfm/stat/independence.h"

namespace htfm {

namespace {

constexpr int64_t kFewestRowsToTell = 1000;  // of which dependence can be told
constexpr int64_t kMostColumns = 12;
constexpr double kTests = 3;      // in one of test_independence
constexpr double kChance = 0.05;  // that a number without a say is taken for one that has, over all tests of it

// The columns, then the products of two of them.
at::Tensor with_products(const at::Tensor& scores) {
  std::vector<at::Tensor> out;
  for (int64_t a = 0; a < scores.size(1); ++a) out.push_back(scores.select(1, a));
  for (int64_t a = 0; a < scores.size(1); ++a)
    for (int64_t b = a + 1; b < scores.size(1); ++b) out.push_back(scores.select(1, a) * scores.select(1, b));
  return at::stack(out, 1);
}

// Of two numbers by their ranks: what goes with both of them together.
std::vector<double> ranks_of_product(const std::vector<double>& a, const std::vector<double>& b, Key key) {
  at::Tensor product = at::empty({static_cast<int64_t>(a.size()), 1}, at::kDouble);
  double* p = product.mutable_data_ptr<double>();
  for (size_t i = 0; i < a.size(); ++i) p[i] = (a[i] - 0.5) * (b[i] - 0.5);
  return random_ranks(product, 0, key.child("product"));
}

// All rows, and those of each group that is large enough.
std::vector<std::vector<int64_t>> parts_of(const ConditionTable& given) {
  const ConditionGroups groups = ConditionGroups::fit(given);
  std::vector<std::vector<int64_t>> out(static_cast<size_t>(groups.count() + 1));
  const std::vector<int32_t> group = groups.of(given.values);
  for (size_t i = 0; i < group.size(); ++i)
    for (const size_t part : {size_t{0}, static_cast<size_t>(group[i]) + 1})
      out[part].push_back(static_cast<int64_t>(i));
  std::erase_if(out, [&](const std::vector<int64_t>& part) {
    return static_cast<int64_t>(part.size()) < kFewestRowsToTell || (&part != &out[0] && part.size() == group.size());
  });
  return out;
}

at::Tensor rows_of(const at::Tensor& rows, std::vector<int64_t>& part) {
  return rows.index_select(0, at::from_blob(part.data(), {static_cast<int64_t>(part.size())}, at::kLong)).contiguous();
}

}  // namespace

std::vector<std::string> untold_numbers(const at::Tensor& scores, const ConditionTable& given, Key key) {
  std::vector<std::string> out;
  if (scores.size(0) < kFewestRowsToTell || scores.size(1) > kMostColumns) return out;
  std::vector<size_t> numbers;
  for (size_t c = 0; c < given.columns.size(); ++c)
    if (!given.columns[c].is_category() && given.columns[c].name.find(',') == std::string::npos) numbers.push_back(c);
  if (numbers.empty() || static_cast<int64_t>(numbers.size()) > kMostColumns) return out;
  const at::Tensor seen = with_products(scores);
  std::vector<std::vector<int64_t>> parts = parts_of(given);
  const size_t pairs = numbers.size() * (numbers.size() - 1) / 2;
  const double tests = static_cast<double>(parts.size() * (numbers.size() + pairs)) * static_cast<double>(seen.size(1));
  std::vector<char> matters(numbers.size());
  for (std::vector<int64_t>& part : parts) {
    const at::Tensor own = rows_of(seen, part), conditions = rows_of(given.values, part);
    std::vector<std::vector<double>> score, number;  // ranks
    for (int64_t k = 0; k < own.size(1); ++k)
      score.push_back(random_ranks(own, k, key.child("score").child(static_cast<uint64_t>(k))));
    for (const size_t c : numbers)
      number.push_back(random_ranks(conditions, static_cast<int64_t>(c), key.child("given").child(c)));
    const auto matter = [&](const std::vector<double>& u) {
      return std::any_of(score.begin(), score.end(), [&](const std::vector<double>& v) {
        return kTests * test_independence(u, v).least() < kChance / tests;
      });
    };
    for (size_t a = 0; a < numbers.size(); ++a) {
      if (!matters[a]) matters[a] = matter(number[a]);
      for (size_t b = 0; b < a; ++b)
        if ((!matters[a] || !matters[b]) && matter(ranks_of_product(number[a], number[b], key)))
          matters[a] = matters[b] = true;
    }
  }
  for (size_t a = 0; a < numbers.size(); ++a)
    if (!matters[a]) out.push_back(given.columns[numbers[a]].name);
  return out;
}

}  // namespace htfm
