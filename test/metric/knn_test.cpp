// f1_knn against its definition: every pair of points looked at.
#include <gtest/gtest.h>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/metric/kd_tree.h"
#include "htfm/metric/precision_recall.h"
#include "test/metric/support.h"

namespace htfm {
namespace {

double distance2(const Points& a, int64_t i, const Points& b, int64_t j) {
  double sum = 0;
  for (int64_t d = 0; d < a.dim; ++d) sum += (a.row(i)[d] - b.row(j)[d]) * (a.row(i)[d] - b.row(j)[d]);
  return sum;
}

std::vector<double> radii2_by_definition(const Points& set, int k) {
  std::vector<double> radii;
  for (int64_t i = 0; i < set.n; ++i) {
    std::vector<double> others;
    for (int64_t j = 0; j < set.n; ++j)
      if (j != i) others.push_back(distance2(set, i, set, j));
    std::nth_element(others.begin(), others.begin() + (k - 1), others.end());
    radii.push_back(others[static_cast<size_t>(k - 1)]);
  }
  return radii;
}

double covered_by_definition(const Points& set, const Points& query, int k) {
  const std::vector<double> radii = radii2_by_definition(set, k);
  int64_t count = 0;
  for (int64_t q = 0; q < query.n; ++q)
    for (int64_t i = 0; i < set.n; ++i)
      if (distance2(set, i, query, q) <= radii[static_cast<size_t>(i)]) {
        ++count;
        break;
      }
  return static_cast<double>(count) / static_cast<double>(query.n);
}

void expect_definition(const Points& real, const Points& fake, int k) {
  const KnnScore score = f1_knn(real, fake, k);
  EXPECT_DOUBLE_EQ(score.precision, covered_by_definition(real, fake, k)) << "dim " << real.dim << " k " << k;
  EXPECT_DOUBLE_EQ(score.recall, covered_by_definition(fake, real, k)) << "dim " << real.dim << " k " << k;
  EXPECT_DOUBLE_EQ(score.f1, harmonic_mean(score.precision, score.recall));
}

TEST(Knn, EqualsDefinitionInEveryDimension) {
  for (const int64_t dim : {1, 2, 3, 5, 8, 9, 20}) {
    const Points real = normal_points(157, dim, Key(1).child(static_cast<uint64_t>(dim)));
    const Points fake = normal_points(214, dim, Key(2).child(static_cast<uint64_t>(dim)), 1.3, 0.2);
    for (const int k : {1, 3, 10, 25}) expect_definition(real, fake, k);
  }
}

TEST(Knn, EqualsDefinitionWithTiesAndRepeatedPoints) {
  for (const int64_t dim : {1, 2, 4, 12})
    for (const uint64_t side : {2, 5, 40})
      for (const int k : {1, 2, 10})
        expect_definition(lattice_points(130, dim, side, Key(side)), lattice_points(90, dim, side + 2, Key(side + 1)),
                          k);
}

TEST(Knn, EqualsDefinitionWithHeavyTails) {
  for (const double alpha : {0.5, 1.5})
    for (const int64_t dim : {2, 3})
      expect_definition(stable_points(700, dim, alpha, Key(3)), stable_points(611, dim, 1.9, Key(4)), 10);
}

TEST(Knn, SmallestSets) {
  for (int64_t n = 2; n < 20; ++n)
    expect_definition(normal_points(n, 2, Key(5)), normal_points(21 - n, 2, Key(6), 2.0), 1);
}

TEST(Knn, IdenticalSetsScoreOneAndDistantSetsZero) {
  for (const int64_t dim : {2, 16}) {
    const Points set = normal_points(500, dim, Key(7));
    EXPECT_EQ(f1_knn(set, set).f1, 1.0);
    EXPECT_EQ(f1_knn(set, normal_points(400, dim, Key(8), 1.0, 1e4)).f1, 0.0);
  }
}

TEST(Knn, UnchangedByTranslationScalingAndOrder) {
  const Points real = lattice_points(600, 2, 1000, Key(9)), fake = lattice_points(500, 2, 900, Key(10));
  const KnnScore score = f1_knn(real, fake);
  EXPECT_GT(score.f1, 0.5);
  EXPECT_LT(score.f1, 1.0);
  const auto expect_same = [&](auto&& map) {
    Points a = real, b = fake;
    map(a);
    map(b);
    const KnnScore other = f1_knn(a, b);
    EXPECT_EQ(other.precision, score.precision);
    EXPECT_EQ(other.recall, score.recall);
  };
  expect_same([](Points& p) {
    for (double& x : p.x) x += 12345;
  });
  expect_same([](Points& p) {
    for (double& x : p.x) x *= 0x1p-40;
  });
  expect_same([](Points& p) {
    for (double& x : p.x) x *= -3;
  });
  expect_same([](Points& p) {
    for (int64_t i = 0; i < p.n; ++i) std::swap(p.x[static_cast<size_t>(2 * i)], p.x[static_cast<size_t>(2 * i + 1)]);
  });
  expect_same([](Points& p) { std::reverse(p.x.begin(), p.x.end()); });
}

TEST(Knn, FloatAndDoubleInputAgree) {
  const Points real = lattice_points(300, 3, 50, Key(11)), fake = lattice_points(300, 3, 45, Key(12));
  const KnnScore a = f1_knn(to_tensor(real), to_tensor(fake)),
                 b = f1_knn(to_tensor(real, at::kFloat), to_tensor(fake, at::kFloat));
  EXPECT_EQ(a.precision, b.precision);
  EXPECT_EQ(a.recall, b.recall);
  EXPECT_EQ(a.f1, f1_knn(real, fake).f1);
}

TEST(Knn, SameResultForAnyNumberOfThreads) {
  const Points real = stable_points(3000, 2, 1.5, Key(13)), fake = normal_points(3100, 2, Key(14), 2.0, 1.0);
  const int before = thread_count();
  set_thread_count(1);
  const KnnScore one = f1_knn(real, fake);
  set_thread_count(5);
  const KnnScore five = f1_knn(real, fake);
  set_thread_count(before);
  EXPECT_EQ(one.precision, five.precision);
  EXPECT_EQ(one.recall, five.recall);
}

#if defined(__x86_64__)
TEST(Knn, EveryInstructionSetFindsTheSameRadii) {
  for (const int64_t dim : {1, 2, 3, 6, 8}) {
    const Points points =
        lattice_points(333, dim, 30, Key(15));  // whole numbers: no rounding, so the values must be equal
    std::vector<double> expected = radii2_by_definition(points, 10);
    std::sort(expected.begin(), expected.end());
    const BlockedPoints tree(points, true), flat(points, false);
    const auto check = [&](const BallKernels& kernel) {
      for (const BlockedPoints* set : {&tree, &flat}) {
        std::vector<double> scratch(4 * 11 * kBlock), radii(static_cast<size_t>(set->view().blocks * kBlock));
        (set->has_tree() ? kernel.nearest : kernel.nearest_brute)(set->view(), 0, set->view().blocks, 11,
                                                                  scratch.data(), radii.data());
        radii.resize(static_cast<size_t>(points.n));
        std::sort(radii.begin(), radii.end());
        EXPECT_EQ(radii, expected) << "dim " << dim << " tree " << set->has_tree();
      }
    };
    check(kernel_table<BallKernels, Isa::base>());
    if (isa() >= Isa::v3) check(kernel_table<BallKernels, Isa::v3>());
    if (isa() >= Isa::v4) check(kernel_table<BallKernels, Isa::v4>());
  }
}
#endif

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no InputError";
}

TEST(Knn, BadInputIsNamed) {
  const at::Tensor good = to_tensor(normal_points(30, 2, Key(16)));
  EXPECT_NE(message_of([&] { f1_knn(good, good, 30); }).find("k = 30"), std::string::npos);
  EXPECT_NE(message_of([&] { f1_knn(good, good, 0); }).find("got 0"), std::string::npos);
  EXPECT_NE(message_of([&] { f1_knn(good, to_tensor(normal_points(30, 3, Key(1)))); }).find("real has 2, fake 3"),
            std::string::npos);
  EXPECT_NE(message_of([&] { f1_knn(good, good.to(at::kLong)); }).find("float32 or float64"), std::string::npos);
  EXPECT_NE(message_of([&] { f1_knn(at::empty({0, 2}, at::kFloat), good); }).find("empty"), std::string::npos);
  EXPECT_NE(message_of([&] { f1_knn(at::empty({}, at::kFloat), good); }).find("scalar"), std::string::npos);
  for (const double bad : {double{NAN}, double{INFINITY}, 1e200}) {
    at::Tensor broken = good.clone();
    broken.mutable_data_ptr<double>()[2 * 17 + 1] = bad;
    EXPECT_NE(message_of([&] { f1_knn(good, broken); }).find("row 18, column 2"), std::string::npos);
  }
}

}  // namespace
}  // namespace htfm
