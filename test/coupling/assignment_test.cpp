// The exact assignment against brute force and by its own certificate, and the entropic pairing.
#include "htfm/coupling/assignment.h"

#include <gtest/gtest.h>

#include <numeric>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/base/random.h"
#include "htfm/clock/clock.h"
#include "htfm/coupling/assignment_kernels.h"
#include "htfm/coupling/sinkhorn.h"

namespace htfm {
namespace {

std::vector<double> normals(Key key, int64_t n, double scale = 1) {
  std::vector<double> x(static_cast<size_t>(n));
  fill_normal(key, 0, n, x.data());
  for (double& v : x) v *= scale;
  return x;
}

std::vector<double> source(const ClockSpec& spec, int64_t n, int64_t dim, Key key) {
  const at::Tensor x =
      sample_source(key.child("z"), make_clock(spec)->sample(key, {.count = n, .paths = false}).area, dim);
  return {x.const_data_ptr<double>(), x.const_data_ptr<double>() + n * dim};
}
const ClockSpec kHeavy{"inverse-gamma", {{"nu", 1.5}}, 1};

std::vector<double> costs(int64_t n, const std::vector<double>& x0, const std::vector<double>& x1, int64_t dim,
                          double p) {
  std::vector<double> c(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double square = 0;
      for (int64_t d = 0; d < dim; ++d) square += std::pow(x1[i * dim + d] - x0[j * dim + d], 2);
      c[i * n + j] = std::pow(square, p / 2);
    }
  return c;
}

double total(int64_t n, const std::vector<double>& c, const std::vector<int64_t>& column) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += c[i * n + column[i]];
  return sum;
}

bool is_permutation_of_all(std::vector<int64_t> x) {
  std::sort(x.begin(), x.end());
  std::vector<int64_t> all(x.size());
  std::iota(all.begin(), all.end(), 0);
  return x == all;
}

// Prices that nowhere exceed the cost and meet it on the pairs prove that no other pairing is cheaper.
void expect_certified(int64_t n, const std::vector<double>& c, const Assignment& a) {
  ASSERT_TRUE(is_permutation_of_all(a.column));
  double largest = 0;
  for (const double x : c) largest = std::max(largest, std::abs(x));
  const double rounding = 1e-13 * static_cast<double>(n) * largest;
  for (int64_t i = 0; i < n; ++i) {
    EXPECT_NEAR(a.row_price[i] + a.column_price[a.column[i]], c[i * n + a.column[i]], rounding);
    for (int64_t j = 0; j < n; ++j) ASSERT_LE(a.row_price[i] + a.column_price[j], c[i * n + j] + rounding);
  }
}

TEST(Assignment, CheapestOfAllPermutations) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const int64_t n = 1 + static_cast<int64_t>(seed % 8);
    // Costs of any sign; every third case has whole numbers and so many ties.
    std::vector<double> c = normals(Key(seed), n * n, 3);
    if (seed % 3 == 0)
      for (double& x : c) x = std::round(x);
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    double best = INFINITY;
    do best = std::min(best, total(n, c, order));
    while (std::next_permutation(order.begin(), order.end()));
    const Assignment a = assign_costs(n, c.data());
    ASSERT_TRUE(is_permutation_of_all(a.column));
    EXPECT_NEAR(total(n, c, a.column), best, 1e-12 * static_cast<double>(n)) << n;
    expect_certified(n, c, a);
  }
}

TEST(Assignment, CertifiedForPointsOfAnyTailAndPower) {
  for (const ClockSpec& spec : {ClockSpec{}, kHeavy})
    for (const double p : {1.0, 1.3, 1.5, 2.0, 3.0, 4.5})
      for (const auto& [n, dim] : {std::pair<int64_t, int64_t>{1024, 2}, {333, 5}}) {
        const std::vector<double> x0 = source(spec, n, dim, Key(1)), x1 = source(kHeavy, n, dim, Key(2)),
                                  c = costs(n, x0, x1, dim, p);
        const Assignment a = assign_points(n, x0.data(), x1.data(), dim, p);
        expect_certified(n, c, a);
        EXPECT_EQ(assign(n, x0.data(), x1.data(), dim, p), a.column);
        EXPECT_NEAR(total(n, c, assign_costs(n, c.data()).column) / total(n, c, a.column), 1, 1e-12);
      }
}

TEST(Assignment, OnALineTheSortedOrder) {
  const int64_t n = 500;
  const std::vector<double> x0 = normals(Key(3), n), x1 = normals(Key(4), n, 2);
  const auto ranks = [](const std::vector<double>& x) {
    std::vector<int64_t> by(x.size()), rank(x.size());
    std::iota(by.begin(), by.end(), 0);
    std::sort(by.begin(), by.end(), [&](int64_t a, int64_t b) { return x[a] < x[b]; });
    for (size_t k = 0; k < by.size(); ++k) rank[by[k]] = static_cast<int64_t>(k);
    return rank;
  };
  const std::vector<int64_t> r0 = ranks(x0), r1 = ranks(x1);
  for (const double p : {1.5, 2.0, 3.0}) {  // whatever the convex cost
    const std::vector<int64_t> column = assign(n, x0.data(), x1.data(), 1, p);
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(r0[column[i]], r1[i]) << p;
  }
  // With a high power what near points cost is less than the rounding of what far ones do: the sum is the same.
  const std::vector<double> c = costs(n, x0, x1, 1, 6);
  std::vector<int64_t> sorted(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) sorted[i] = std::find(r0.begin(), r0.end(), r1[i]) - r0.begin();
  const double largest = *std::max_element(c.begin(), c.end());
  EXPECT_NEAR(total(n, c, assign(n, x0.data(), x1.data(), 1, 6)), total(n, c, sorted), 1e-16 * n * largest);
}

TEST(Assignment, EqualPointsAndEqualCosts) {
  const std::vector<double> same(300, 1.5), zero(100 * 100, 0);
  EXPECT_TRUE(is_permutation_of_all(assign(150, same.data(), same.data(), 2, 1)));
  expect_certified(100, zero, assign_costs(100, zero.data()));
  EXPECT_TRUE(assign(0, nullptr, nullptr, 2, 1).empty());
}

TEST(Assignment, SameForAnyNumberOfThreads) {
  const std::vector<double> x0 = source(kHeavy, 700, 2, Key(5)), x1 = source(kHeavy, 700, 2, Key(6));
  set_thread_count(1);
  const std::vector<int64_t> one = assign(700, x0.data(), x1.data(), 2, 1.5),
                             drawn = sinkhorn_coupling(Key(7), 700, x0.data(), x1.data(), 2, 1.5);
  set_thread_count(3);
  EXPECT_EQ(assign(700, x0.data(), x1.data(), 2, 1.5), one);
  EXPECT_EQ(sinkhorn_coupling(Key(7), 700, x0.data(), x1.data(), 2, 1.5), drawn);
  set_thread_count(0);
  EXPECT_NE(sinkhorn_coupling(Key(8), 700, x0.data(), x1.data(), 2, 1.5), drawn);
}

TEST(Assignment, RefusesWhatItCannotPair) {
  std::vector<double> x(8, 1.0);
  EXPECT_THROW(assign(4, x.data(), x.data(), 2, 0.5), InputError);
  EXPECT_THROW(assign(4, x.data(), x.data(), 2, 17), InputError);
  EXPECT_THROW(assign(4, x.data(), x.data(), 0, 2), InputError);
  EXPECT_THROW(sinkhorn_coupling(Key(1), 4, x.data(), x.data(), 2, 3), InputError);
  EXPECT_THROW(sinkhorn_coupling(Key(1), 4, x.data(), x.data(), 2, 2, {.epsilon = 0}), InputError);
  for (const double bad : {double{NAN}, double{INFINITY}, 1e200}) {
    x[5] = bad;
    EXPECT_THROW(assign(4, x.data(), x.data(), 2, 2), InputError);
    EXPECT_THROW(sinkhorn_coupling(Key(1), 4, x.data(), x.data(), 2, 2), InputError);
  }
  EXPECT_THROW(assign_costs(2, std::vector<double>{1, 2, NAN, 4}.data()), InputError);
}

// The scans of each instruction set give the same numbers, at sizes with and without a rest.
TEST(AssignmentKernels, AgreeBetweenInstructionSets) {
#if defined(__x86_64__)
  std::vector<const AssignmentKernels*> tables{&kernel_table<AssignmentKernels, Isa::base>()};
  if (isa() >= Isa::v3) tables.push_back(&kernel_table<AssignmentKernels, Isa::v3>());
  if (isa() >= Isa::v4) tables.push_back(&kernel_table<AssignmentKernels, Isa::v4>());
  for (const int64_t n : {1, 7, 32, 33, 200}) {
    std::vector<double> cost = normals(Key(9), n), price = normals(Key(10), n);
    for (double& c : cost) c = std::round(4 * c);
    for (double& v : price) v = std::round(4 * v);
    std::vector<double> value(static_cast<size_t>(n));
    for (int64_t j = 0; j < n; ++j) value[j] = cost[j] - price[j];
    std::vector<double> sorted = value;
    std::sort(sorted.begin(), sorted.end());
    const auto first = std::min_element(value.begin(), value.end()) - value.begin();
    for (const AssignmentKernels* t : tables) {
      const BestTwo two = t->best_two(n, cost.data(), price.data());
      EXPECT_EQ(two.at, first);
      EXPECT_EQ(two.best, sorted[0]);
      EXPECT_EQ(two.second, n > 1 ? sorted[1] : INFINITY);
      std::vector<double> distance(static_cast<size_t>(n), 1), from(static_cast<size_t>(n), -1);
      const Nearest nearest = t->relax(n, cost.data(), price.data(), 2, 5, distance.data(), from.data());
      EXPECT_EQ(nearest.distance, std::min(1.0, sorted[0] + 2));
      for (int64_t j = 0; j < n; ++j) {
        EXPECT_EQ(distance[j], std::min(1.0, value[j] + 2));
        EXPECT_EQ(from[j], value[j] + 2 < 1 ? 5 : -1);
      }
      EXPECT_EQ(nearest.at, std::min_element(distance.begin(), distance.end()) - distance.begin());
    }
  }
#endif
}

// With hardly any entropy the pairing costs what the cheapest one costs; with more it lies between that and chance.
TEST(Sinkhorn, APermutationBetweenTheCheapestAndChance) {
  for (const ClockSpec& spec : {ClockSpec{}, kHeavy})
    for (const double p : {1.0, 1.5, 2.0})
      for (const auto& [n, dim] : {std::pair<int64_t, int64_t>{1, 2}, {600, 1}, {1000, 2}, {400, 7}}) {
        const std::vector<double> x0 = source(spec, n, dim, Key(11)), x1 = source(kHeavy, n, dim, Key(12)),
                                  c = costs(n, x0, x1, dim, p);
        std::vector<int64_t> chance(static_cast<size_t>(n));
        std::iota(chance.begin(), chance.end(), 0);
        const double cheapest = total(n, c, assign(n, x0.data(), x1.data(), dim, p)), by_chance = total(n, c, chance);
        const std::vector<int64_t> sharp =
                                       sinkhorn_coupling(Key(13), n, x0.data(), x1.data(), dim, p, {.epsilon = 0.003}),
                                   soft = sinkhorn_coupling(Key(13), n, x0.data(), x1.data(), dim, p, {.epsilon = 0.1});
        EXPECT_TRUE(is_permutation_of_all(sharp));
        EXPECT_TRUE(is_permutation_of_all(soft));
        EXPECT_LE(total(n, c, sharp), cheapest + 0.05 * (by_chance - cheapest) + 1e-9) << n << ' ' << p;
        EXPECT_LE(total(n, c, soft), cheapest + 0.35 * (by_chance - cheapest) + 1e-9) << n << ' ' << p;
      }
}

// With endless entropy every source is as likely as any other. The last n/32 and the dearest n/16 pairs are not left to
// chance, so the points lie on a circle with the data in its middle: all costs are equal.
TEST(Sinkhorn, UniformWhereCostsAreEqual) {
  const int64_t n = 64, runs = 3200;
  std::vector<double> x0(2 * n), x1(2 * n, 0);
  for (int64_t i = 0; i < n; ++i) x0[2 * i] = std::cos(i), x0[2 * i + 1] = std::sin(i);
  std::vector<double> count(static_cast<size_t>(n));
  for (int64_t r = 0; r < runs; ++r) ++count[sinkhorn_coupling(Key(14).child(r), n, x0.data(), x1.data(), 2, 2)[10]];
  // Binomial counts of mean 50 and deviation 7; 64 of them, so 5 deviations.
  for (const double k : count) EXPECT_NEAR(k, 50, 35);
}

// Two data points and two sources, the others far away: the odds of the two pairings are those of the Gibbs law.
TEST(Sinkhorn, FollowsThePlansOdds) {
  const int64_t n = 2, runs = 20'000;
  const std::vector<double> x0{0, 1}, x1{0.2, 0.7};
  // n / 32 = 0 and n / 16 = 0: nothing is assigned exactly. Median of the two costs that are looked at: |x0_i - x1_i|^2
  // in some order.
  const std::vector<double> c = costs(2, x0, x1, 1, 2);
  int64_t straight = 0;
  const double epsilon = 2;
  for (int64_t r = 0; r < runs; ++r)
    straight += sinkhorn_coupling(Key(15).child(r), n, x0.data(), x1.data(), 1, 2,
                                  {.epsilon = epsilon, .tolerance = 1e-4})[0] == 0;
  // The balanced 2 x 2 plan has diagonal w / (1 + w), w = exp((c01 + c10 - c00 - c11) / (2 e)), e relative to the
  // larger of c_01, c_10 (the entries that the median looks at).
  const double e = epsilon * std::max(c[1], c[2]), w = std::exp((c[1] + c[2] - c[0] - c[3]) / (2 * e)),
               diagonal = w / (1 + w);
  // Both rows draw: the first draw that settles is diagonal when row 0 wins its own or row 1 wins its own.
  const double share = static_cast<double>(straight) / runs;
  EXPECT_NEAR(share, diagonal, 4 * std::sqrt(0.25 / runs)) << diagonal;
}

}  // namespace
}  // namespace htfm
