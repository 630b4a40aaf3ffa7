#include <gtest/gtest.h>

#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/data/dataset.h"
#include "htfm/io/file.h"

namespace htfm {
namespace {

TEST(Synthetic, EverySetIsFiniteSeededAndOfItsSize) {
  for (const SyntheticInfo& set : synthetic_sets()) {
    const at::Tensor a = draw_synthetic(Key(1), {set.name, 1.5}, 1001), b = draw_synthetic(Key(1), {set.name, 1.5}, 1001);
    ASSERT_EQ(a.size(0), 1001);
    ASSERT_EQ(a.size(1), 2);
    EXPECT_TRUE(a.equal(b)) << set.name;
    EXPECT_FALSE(a.equal(draw_synthetic(Key(2), {set.name, 1.5}, 1001))) << set.name;
    for (int64_t i = 0; i < a.numel(); ++i) ASSERT_TRUE(std::isfinite(a.const_data_ptr<double>()[i])) << set.name;
  }
}

// Every component has its whole count: weights 18, 8, 14, 6, 9, 10, 16, 7, 12 per cent, in the order of the grid. Components of scale
// 0.01 would be exact; at scale 0.1 a point leaves its cell with probability below P(stable > 10) < 2 %.
TEST(Synthetic, MixtureHasItsCountsOnTheGrid) {
  const int64_t n = 10000;
  const at::Tensor x = draw_synthetic(Key(3), {"mixture2d", 2.0}, n);
  int64_t count[9] = {};
  for (int64_t i = 0; i < n; ++i) {
    const double* r = x.const_data_ptr<double>() + 2 * i;
    const int64_t a = std::clamp<int64_t>(std::llround(r[0] / 2) + 1, 0, 2), b = std::clamp<int64_t>(std::llround(r[1] / 2) + 1, 0, 2);
    ++count[3 * a + b];
  }
  const int64_t expected[9] = {1800, 800, 1400, 600, 900, 1000, 1600, 700, 1200};
  for (int k = 0; k < 9; ++k) EXPECT_EQ(count[k], expected[k]) << k;  // Gaussian components of deviation 0.14: 7 deviations to the border
}

// E cos(<xi, x - m>) = exp(-|0.1 xi|^alpha) for the component; tested on points near no border by subtracting the nearest mean is biased,
// so the characteristic function of the whole mixture is used: sum_k w_k cos(<xi, m_k>) exp(-|0.1 xi|^alpha).
TEST(Synthetic, MixtureCharacteristicFunction) {
  constexpr double w[9] = {0.18, 0.08, 0.14, 0.06, 0.09, 0.10, 0.16, 0.07, 0.12};
  for (const double alpha : {0.7, 1.5, 1.8}) {
    const int64_t n = 200000;
    const at::Tensor x = draw_synthetic(Key(11), {"mixture2d", alpha}, n);
    for (const auto& xi : {std::array<double, 2>{0.5, 0.2}, {3, -1}, {10, 4}, {0, 12}}) {
      double mean = 0, square = 0, exact = 0;
      for (int64_t i = 0; i < n; ++i) {
        const double c = std::cos(xi[0] * x.const_data_ptr<double>()[2 * i] + xi[1] * x.const_data_ptr<double>()[2 * i + 1]);
        mean += c / n, square += c * c / n;
      }
      for (int k = 0; k < 9; ++k)
        exact += w[k] * std::cos(xi[0] * (2 * (k / 3) - 2) + xi[1] * (2 * (k % 3) - 2)) *
                 std::exp(-std::pow(0.1 * std::hypot(xi[0], xi[1]), alpha));
      EXPECT_NEAR(mean, exact, 4 * std::sqrt((square - mean * mean) / n)) << alpha;
    }
  }
}

TEST(Synthetic, BadNamesAndParametersAreRefused) {
  EXPECT_THROW(draw_synthetic(Key(1), {"mixture3d", 1.5}, 10), InputError);
  EXPECT_THROW(draw_synthetic(Key(1), {"mixture2d", 2.5}, 10), InputError);
  EXPECT_THROW(draw_synthetic(Key(1), {"rings", 1.5}, 0), InputError);
}

TEST(Normaliser, InvertsItself) {
  const at::Tensor x = draw_synthetic(Key(1), {"mixture2d", 1.5}, 500);
  for (const char* kind : {"none", "zscore", "robust"}) {
    const Normaliser n = Normaliser::fit(kind, x);
    const at::Tensor y = n.invert(n.apply(x).to(at::kDouble));
    for (int64_t i = 0; i < x.numel(); ++i)
      ASSERT_NEAR(y.const_data_ptr<double>()[i], x.const_data_ptr<double>()[i], 1e-6 * (1 + std::abs(x.const_data_ptr<double>()[i])))
          << kind;
  }
  EXPECT_THROW(Normaliser::fit("minmax", x), InputError);
}

TEST(Dataset, ColumnsOfATable) {
  const std::string path = (std::filesystem::temp_directory_path() / "htfm-columns.csv").string();
  atomic_write(path, "a,b,c\n1,2,3\n4,5,6\n");
  const Dataset d = file_dataset(path, "c,a");
  EXPECT_EQ(d.names, (std::vector<std::string>{"c", "a"}));
  EXPECT_EQ(d.rows.const_data_ptr<double>()[0], 3);
  EXPECT_EQ(d.rows.const_data_ptr<double>()[3], 4);
  EXPECT_THROW(file_dataset(path, "d"), InputError);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace htfm
