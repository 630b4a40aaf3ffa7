// Clusters of one family: found, fitted, tested, and the tail that they give the sizes.
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/parallel.h"
#include "htfm/coupling/cluster_law.h"
#include "htfm/coupling/magnitude_law.h"
#include "htfm/stat/density_peaks.h"

namespace htfm {
namespace {

// Rows about three centres in the plane, shares 0.5, 0.3, 0.2, with scatters that differ.
at::Tensor three_clusters(Key key, int64_t n, const std::function<double(int64_t)>& size_of) {
  constexpr double kCentre[3][2] = {{0, 0}, {12, 0}, {0, 15}}, kRoot[3][3] = {{1, 0, 1}, {0.5, 0.2, 0.8}, {2, -1, 1}};
  at::Tensor rows = at::empty({n, 2}, at::kDouble);
  double* x = rows.mutable_data_ptr<double>();
  std::vector<double> z(static_cast<size_t>(2 * n));
  fill_normal(key.child("normal"), 0, 2 * n, z.data());
  for (int64_t i = 0; i < n; ++i) {
    const double u = key.child("cluster").uniform(static_cast<uint64_t>(i)), r = size_of(i);
    const int k = u < 0.5 ? 0 : u < 0.8 ? 1 : 2;
    x[2 * i] = kCentre[k][0] + r * kRoot[k][0] * z[2 * i];
    x[2 * i + 1] = kCentre[k][1] + r * (kRoot[k][1] * z[2 * i] + kRoot[k][2] * z[2 * i + 1]);
  }
  return rows;
}

at::Tensor stable_clusters(Key key, int64_t n, double alpha) {
  std::vector<double> s(static_cast<size_t>(n));
  fill_positive_stable(key.child("mixing"), alpha / 2, 1, 0, n, s.data());
  return three_clusters(key, n, [&](int64_t i) { return std::sqrt(2 * s[i]); });
}

at::Tensor student_clusters(Key key, int64_t n, double nu) {
  std::vector<double> g(static_cast<size_t>(n));
  fill_log_gamma_draw(key.child("mixing"), nu / 2, 0, n, g.data());
  return three_clusters(key, n, [&](int64_t i) { return std::exp((std::log(nu / 2) - g[i]) / 2); });
}

TEST(DensityPeaks, OneForEachCluster) {
  const at::Tensor rows = student_clusters(Key(3), 1500, 2);
  const std::vector<DensityPeak> peaks = density_peaks(view_points(rows, "rows"), 6);
  ASSERT_EQ(peaks.size(), 6u);
  EXPECT_GT(peaks[2].height(), 3 * peaks[3].height());
}

// The standard error of an index that 8,000 rows tell is about 1.3 times index / sqrt(n).
TEST(ClusterLaw, FindsFamilyIndexAndClusters) {
  for (const bool stable : {true, false}) {
    const double index = stable ? 1.8 : 1.5;
    const at::Tensor rows = stable ? stable_clusters(Key(5), 8000, index) : student_clusters(Key(5), 8000, index);
    const std::optional<ClusterLaw> law = fit_cluster_law(rows);
    ASSERT_TRUE(law);
    EXPECT_EQ(law->family, stable ? RadialFamily::stable : RadialFamily::student) << law->text();
    EXPECT_NEAR(law->index, index, 4 * 1.3 * index / std::sqrt(8000.0));
    ASSERT_EQ(law->clusters.size(), 3u) << law->text();
    EXPECT_TRUE(law->fits()) << law->text() << " " << law->distance << " " << law->even;
    double shares = 0;
    for (const Cluster& c : law->clusters) shares += c.share;
    EXPECT_NEAR(shares, 1, 1e-9);
  }
}

TEST(ClusterLaw, TheSameOnAnyNumberOfThreads) {
  const at::Tensor rows = stable_clusters(Key(6), 2000, 1.6);
  const int before = thread_count();
  set_thread_count(1);
  const ClusterLaw one = *fit_cluster_law(rows);
  set_thread_count(3);
  const ClusterLaw three = *fit_cluster_law(rows);
  set_thread_count(before);
  EXPECT_EQ(one.index, three.index);
  EXPECT_EQ(one.distance, three.distance);
  EXPECT_EQ(one.clusters[0].root, three.clusters[0].root);
}

// Distances from a point by the law equal those of fresh draws.
TEST(ClusterLaw, DistancesFromAPoint) {
  const ClusterLaw law = *fit_cluster_law(stable_clusters(Key(7), 20000, 1.6));
  constexpr int64_t n = 400000;
  const at::Tensor rows = stable_clusters(Key(8), n, 1.6);
  const double* x = rows.const_data_ptr<double>();
  const double point[2] = {2, 1};
  std::vector<double> distance;
  for (int64_t i = 0; i < n; ++i) distance.push_back(std::hypot(x[2 * i] - point[0], x[2 * i + 1] - point[1]));
  std::sort(distance.begin(), distance.end());
  const QuantileTable table = law.distances_from(point);
  for (const double q : {0.9, 0.5, 0.1, 0.01, 0.001}) {
    const auto beyond = static_cast<double>(
        distance.end() - std::lower_bound(distance.begin(), distance.end(), std::exp(table.log_upper_quantile(q))));
    // Four standard errors of 20,000 fitted rows and of the draws.
    EXPECT_NEAR(beyond / n, q, 4 * std::sqrt(q * (1 - q) * (1 / 20000.0 + 1.0 / n))) << q;
  }
}

// Rows of another law are not taken for clusters of these: sizes that end, and tails to one side alone.
TEST(ClusterLaw, OtherLawsDoNotFit) {
  const at::Tensor ends =
      three_clusters(Key(9), 8000, [](int64_t i) { return 0.2 + 3 * Key(10).uniform(static_cast<uint64_t>(i)); });
  EXPECT_FALSE(fit_cluster_law(ends)->fits());
  at::Tensor one_side = student_clusters(Key(11), 8000, 2);
  EXPECT_FALSE(fit_cluster_law(one_side.abs())->fits());
  EXPECT_FALSE(fit_cluster_law(at::zeros({3000, 2}, at::kDouble)));
  EXPECT_FALSE(fit_cluster_law(at::zeros({100, 2}, at::kDouble)));
}

// The tail of the sizes: the power law of the data's index, far beyond the largest row, joined to the ranks.
TEST(MagnitudeLaw, TailOfClusters) {
  const double alpha = 1.8;
  const at::Tensor x = stable_clusters(Key(12), 20000, alpha).to(at::kFloat);
  MagnitudeLaw law(make_size({}, x, {}), x);
  ASSERT_TRUE(law.fit_clusters(x));
  EXPECT_NEAR(law.tail().from, 0.98, 1e-9);
  EXPECT_NEAR(1 / law.tail().shape(), alpha, 0.05);
  const double from = law.tail().from;
  EXPECT_NEAR(law.quantile(from + 1e-9) / law.quantile(from - 1e-9), 1, 0.01);
  // P(|x| > r) ~ c r^-alpha with the mean of |root direction|^alpha over clusters and directions: by 10^7 draws of it.
  const QuantileTable truth = [&] {
    ClusterLaw made;
    made.family = RadialFamily::stable, made.index = alpha;
    made.clusters = {{0.5, {0, 0}, {1, 0, 0, 1}}, {0.3, {12, 0}, {0.5, 0, 0.2, 0.8}}, {0.2, {0, 15}, {2, 0, -1, 1}}};
    return made.distances_from(law.centre().const_data_ptr<double>());
  }();
  EXPECT_NEAR(std::log(law.upper_quantile(1e-6)), truth.log_upper_quantile(1e-6), 0.2);
  EXPECT_NEAR(std::log(law.upper_quantile(1e-5)), truth.log_upper_quantile(1e-5), 0.15);
}

// One law in forty that is right is refused for its distance, and one in a hundred for each test of directions.
TEST(ClusterLawSlow, TheTestKeepsItsLevel) {
  int refused = 0, draws = 0;
  for (uint64_t draw = 0; draw < 12; ++draw)
    for (const bool stable : {true, false}) {
      const Key key(100 + draw);
      const ClusterLaw law =
          *fit_cluster_law(stable ? stable_clusters(key, 6000, 1.7) : student_clusters(key, 6000, 2.5));
      refused += !law.fits(), ++draws;
    }
  // Of 24 one or two are expected; six lie four deviations beyond.
  EXPECT_LE(refused, 6);
}

}  // namespace
}  // namespace htfm
