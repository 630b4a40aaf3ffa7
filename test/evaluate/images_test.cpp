#include "htfm/evaluate/images.h"

#include <gtest/gtest.h>

#include <limits>

#include "htfm/base/error.h"
#include "test/data.h"
#include "test/evaluate/support.h"

namespace htfm {
namespace {

ImageReference small_reference() {
  return make_image_reference(test::small_images(), {.network = test::golden_file("metric/patches.pt"), .batch = 16});
}

TEST(EvaluateImages, RealImagesScoreAsPerfect) {
  const ImageReference real = small_reference();
  const ImageEvaluation e = evaluate_images(real, sampled_images(real.images.pixels, "real"));
  EXPECT_NEAR(e.scores.distance.value, 0, 1e-5);
  EXPECT_EQ(e.scores.neighbours.score.precision, 1);
  EXPECT_EQ(e.scores.neighbours.score.recall, 1);
  EXPECT_EQ(e.nonfinite, 0);
  EXPECT_EQ(e.dimension, real.reference.features.size(1));
  double expected = 0;
  for (size_t c = 0; c < e.scores.classes.size(); ++c) expected += e.expected(c);
  EXPECT_DOUBLE_EQ(expected, static_cast<double>(e.scores.fake));
}

TEST(EvaluateImages, ARealImageIsNearestToItself) {
  const ImageReference real = small_reference();
  const Nearest nearest = nearest_images(real, sampled_images(real.images.pixels, "real"));
  EXPECT_EQ(nearest.index[17].item<int64_t>(), 17);
  EXPECT_NEAR(nearest.distance.max().item<double>(), 0, 1e-3);
}

TEST(EvaluateImages, ImagesThatAreNotFiniteAreLeftOutAndCounted) {
  at::Tensor samples = at::zeros({4, 3, 32, 32}, at::kFloat);
  samples.mutable_data_ptr<float>()[3072] = std::numeric_limits<float>::quiet_NaN();
  samples.mutable_data_ptr<float>()[0] = 3;
  const SampledImages images = sampled_images(samples, "samples");
  EXPECT_EQ(images.nonfinite, 1);
  EXPECT_EQ(images.pixels.size(0), 3);
  EXPECT_DOUBLE_EQ(images.clipped_share, 1.0 / (3 * 3072));
  samples.fill_(std::numeric_limits<float>::infinity());
  EXPECT_THROW(sampled_images(samples, "samples"), InputError);
}

}  // namespace
}  // namespace htfm
