// Scores of samples that were drawn class by class.
#include "htfm/metric/class_scores.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/random.h"

namespace htfm {
namespace {

// n standard normal points about (centre, centre).
at::Tensor cloud(Key key, int64_t n, double centre) {
  at::Tensor x = at::empty({n, 2}, at::kDouble);
  fill_normal(key, 0, 2 * n, x.mutable_data_ptr<double>());
  return x.add_(centre);
}

at::Tensor two_labels(int64_t first, int64_t second) {
  return at::cat({at::full({first}, 0, at::kLong), at::full({second}, 1, at::kLong)});
}

TEST(ClassScores, RealImagesScoreAsPerfectAndSwappedClassesAsWrong) {
  const at::Tensor real = at::cat({cloud(Key(1), 40, 0), cloud(Key(2), 10, 30)}), labels = two_labels(40, 10);
  const ClassScores own = class_scores(real, labels, real, labels, 2);
  EXPECT_NEAR(own.distance, 0, 1e-6);
  EXPECT_EQ(own.accuracy, 1);
  EXPECT_EQ(own.nearest, 1);
  EXPECT_EQ(own.classes[1].real, 10);
  EXPECT_EQ(own.classes[1].fake, 10);
  const ClassScores swapped = class_scores(real, labels, real, 1 - labels, 2);
  EXPECT_EQ(swapped.accuracy, 0);
  EXPECT_EQ(swapped.nearest, 0);
  // Means 30 apart in two dimensions: 1800 at the least, up to the noise of means of 10 and 40 points.
  EXPECT_NEAR(swapped.distance, 1800, 4 * 2 * 42.5 * std::sqrt(1 / 10.0 + 1 / 40.0));
}

TEST(ClassScores, ADistanceIsThatOfGaussiansOfTheClass) {
  // The same points moved by (3, 4): the means differ by 5, the covariances do not.
  const at::Tensor real = cloud(Key(3), 50, 0), labels = at::full({50}, 0, at::kLong);
  const ClassScores own = class_scores(real, labels, real + at::tensor({3.0, 4.0}), labels, 1);
  EXPECT_NEAR(own.distance, 25, 1e-6);
}

TEST(ClassScores, ClassesWithoutSamplesDoNotCountInMeans) {
  const at::Tensor real = at::cat({cloud(Key(1), 20, 0), cloud(Key(2), 20, 30)}), labels = two_labels(20, 20);
  const ClassScores own = class_scores(real, labels, real.narrow(0, 0, 20), at::full({20}, 0, at::kLong), 2);
  EXPECT_TRUE(std::isnan(own.classes[1].distance));
  EXPECT_TRUE(std::isnan(own.classes[1].accuracy));
  EXPECT_EQ(own.accuracy, 1);
  EXPECT_NEAR(own.distance, 0, 1e-6);
  EXPECT_THROW(class_scores(real, labels.narrow(0, 0, 3), real, labels, 2), InputError);
}

TEST(ClassScores, ARealImageIsLeftOutOfItsOwnMean) {
  // Class 0: -1 and 1, whose mean without itself is the other one, 2 away; class 1 about 0.4 and -0.4.
  const at::Tensor real = at::tensor({-1.0, 1.0, 0.5, 0.3, 0.4}).view({5, 1}), labels = two_labels(2, 3);
  const std::vector<double> own = real_class_accuracy(real, labels, 2);
  EXPECT_EQ(own[0], 0) << "-1 and 1 are nearer to 0.4 than to each other";
  // To the mean of class 0, which is 0, they are 0.5, 0.3 and 0.4; to their own mean 0.15, 0.15 and 0 with them left
  // out.
  EXPECT_EQ(own[1], 1);
  EXPECT_TRUE(std::isnan(real_class_accuracy(real, two_labels(4, 1), 2)[1]));
}

}  // namespace
}  // namespace htfm
