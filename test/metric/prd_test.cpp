// f1_prd: closed forms of the curve, laws of the clustering, and its promises to users.
#include "htfm/metric/prd.h"

#include <gtest/gtest.h>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/metric/kmeans.h"
#include "test/metric/support.h"

namespace htfm {
namespace {

TEST(Prd, HistogramsThatAgreeScoreOneAndDisjointOnesZero) {
  EXPECT_NEAR(prd_of_histograms({0.2, 0.3, 0.5}, {0.2, 0.3, 0.5}).f1, 1.0, 1e-12);
  EXPECT_EQ(prd_of_histograms({0.5, 0.5, 0, 0}, {0, 0, 0.3, 0.7}).f1, 0.0);
}

TEST(Prd, CurveOfTwoBins) {
  // p = (1, 0), q = (1/2, 1/2): precision min(lambda, 1/2), recall min(1, 1/(2 lambda)).
  const PrdScore score = prd_of_histograms({1, 0}, {0.5, 0.5});
  ASSERT_EQ(score.curve_precision.size(), 201u);
  for (int a = 0; a < 201; ++a) {
    const double slope = std::tan(1e-10 + a / 200.0 * (M_PI / 2 - 2e-10));
    EXPECT_NEAR(score.curve_precision[static_cast<size_t>(a)], std::min(slope, 0.5), 1e-12);
    EXPECT_NEAR(score.curve_recall[static_cast<size_t>(a)], std::min(1.0, 0.5 / slope), 1e-12);
  }
  // The corner (1/2, 1) has the largest F; the nearest of the angles is at most half a step away, and d(log
  // lambda)/d(angle) = 5/2 there.
  const double corner_error = 2.5 * M_PI / 2 / 200;
  EXPECT_NEAR(score.precision, 65 * 0.5 / (64 * 0.5 + 1), corner_error);
  EXPECT_NEAR(score.recall, (1 + 1.0 / 64) * 0.5 / (0.5 / 64 + 1), corner_error);
}

TEST(Prd, ExchangingTheHistogramsExchangesPrecisionAndRecall) {
  const std::vector<double> p = {0.1, 0.2, 0.3, 0.4, 0.0}, q = {0.3, 0.1, 0.1, 0.2, 0.3};
  const PrdScore a = prd_of_histograms(p, q), b = prd_of_histograms(q, p);
  EXPECT_NEAR(a.precision, b.recall, 1e-8);  // the angles mirror each other at pi/4
  EXPECT_NEAR(a.f1, b.f1, 1e-8);
}

TEST(Prd, IdenticalSetsScoreOneAndDistantSetsZero) {
  const Points set = stable_points(3000, 2, 1.5, Key(1));
  EXPECT_NEAR(f1_prd(set, set).f1, 1.0, 1e-9);
  EXPECT_EQ(f1_prd(normal_points(1000, 3, Key(2)), normal_points(1000, 3, Key(3), 1.0, 1e4)).f1, 0.0);
}

TEST(Prd, DefaultsFollowTheSize) {
  const Points large = normal_points(2501, 2, Key(4)), small = normal_points(2500, 2, Key(5));
  EXPECT_EQ(f1_prd(large, large).clusters, 100);
  const PrdScore score = f1_prd(large, small);
  EXPECT_EQ(score.clusters, 20);
  EXPECT_EQ(score.points, 2500);
  EXPECT_EQ(score.f1, f1_prd(first_points(large, 2500), small).f1);
}

TEST(Prd, LowerForAWorseModel) {
  // Two fresh draws against the same with 0.3 of noise, three times the scale of a component.
  const Points real = stable_points(8000, 2, 1.5, Key(6)), fake = stable_points(8000, 2, 1.5, Key(7));
  Points noisy = fake;
  const Points noise = normal_points(8000, 2, Key(8), 0.3);
  for (size_t i = 0; i < noisy.x.size(); ++i) noisy.x[i] += noise.x[i];
  const double fresh = f1_prd(real, fake).f1, worse = f1_prd(real, noisy).f1;
  EXPECT_GT(fresh, 0.98);
  EXPECT_LT(worse, fresh - 0.03);
}

TEST(Prd, SameSeedSameBitsForAnyNumberOfThreads) {
  const Points real = stable_points(4000, 2, 1.5, Key(9)), fake = stable_points(4000, 2, 1.8, Key(10));
  const int before = thread_count();
  set_thread_count(1);
  const PrdScore one = f1_prd(real, fake);
  set_thread_count(4);
  const PrdScore four = f1_prd(real, fake);
  set_thread_count(before);
  EXPECT_EQ(one.f1, four.f1);
  EXPECT_EQ(one.curve_precision, four.curve_precision);
  PrdOptions other;
  other.seed = 1;
  EXPECT_NE(f1_prd(real, fake, other).f1, one.f1);
}

TEST(KMeans, FindsClustersThatLieApart) {
  for (const int64_t dim : {2, 5}) {
    Points points = normal_points(3000, dim, Key(11), 0.01);
    for (int64_t i = 0; i < points.n; ++i) points.x[static_cast<size_t>(i * dim)] += static_cast<double>(10 * (i % 7));
    KMeansOptions options;
    options.clusters = 7;
    const KMeansResult result = mini_batch_kmeans(points, options, Key(12));
    for (int64_t i = 7; i < points.n; ++i)
      ASSERT_EQ(result.labels[static_cast<size_t>(i)], result.labels[static_cast<size_t>(i % 7)]) << "point " << i;
    // n dim sigma^2, relative standard deviation sqrt(2 / (n dim)); centres from batches add at most a few per cent.
    const double expected = static_cast<double>(points.n * dim) * 1e-4;
    EXPECT_NEAR(result.inertia, expected, expected * (4 * std::sqrt(2.0 / static_cast<double>(points.n * dim)) + 0.05));
  }
}

TEST(KMeans, LabelsNameTheNearestCentre) {
  for (const int64_t dim : {1, 2, 3, 10}) {
    const Points points = stable_points(1003, dim, 1.2, Key(13));
    KMeansOptions options;
    options.clusters = 33;
    const KMeansResult result = mini_batch_kmeans(points, options, Key(14));
    ASSERT_EQ(result.labels.size(), 1003u);
    ASSERT_EQ(result.centers.size(), static_cast<size_t>(33 * dim));
    double inertia = 0;
    for (int64_t i = 0; i < points.n; ++i) {
      std::vector<double> distance2;
      for (int64_t c = 0; c < 33; ++c) {
        double sum = 0;
        for (int64_t d = 0; d < dim; ++d)
          sum += std::pow(points.row(i)[d] - result.centers[static_cast<size_t>(c * dim + d)], 2);
        distance2.push_back(sum);
      }
      const double least = *std::min_element(distance2.begin(), distance2.end());
      ASSERT_LE(distance2[static_cast<size_t>(result.labels[static_cast<size_t>(i)])], least * (1 + 1e-12));
      inertia += least;
    }
    EXPECT_NEAR(result.inertia, inertia, 1e-10 * inertia);
  }
}

TEST(KMeans, EqualPointsAndAsManyClustersAsPoints) {
  Points same{50, 2, std::vector<double>(100, 3.0)};
  KMeansOptions options;
  options.clusters = 50;
  EXPECT_EQ(mini_batch_kmeans(same, options, Key(15)).inertia, 0.0);
  options.clusters = 51;
  EXPECT_THROW(mini_batch_kmeans(same, options, Key(15)), InputError);
}

TEST(Prd, BadInputIsRefused) {
  const Points set = normal_points(30, 2, Key(16));
  PrdOptions options;
  options.clusters = 61;  // more than the pooled points
  EXPECT_THROW(f1_prd(set, set, options), InputError);
  options = {};
  options.clusterings = 0;
  EXPECT_THROW(f1_prd(set, set, options), InputError);
  options = {};
  options.angles = 1;
  EXPECT_THROW(f1_prd(set, set, options), InputError);
  EXPECT_THROW(f1_prd(set, normal_points(30, 3, Key(17))), InputError);
  EXPECT_THROW(prd_of_histograms({1.0}, {0.5, 0.5}), InputError);
}

}  // namespace
}  // namespace htfm
