// Feature networks, and neighbours in feature space.
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <array>

#include "htfm/io/hash.h"
#include "htfm/io/npy.h"
#include "htfm/metric/feature_knn.h"
#include "htfm/metric/feature_network.h"
#include "test/data.h"
#include "test/io/support.h"
#include "test/metric/support.h"

namespace htfm {
namespace {

using test::input_error;

std::string network(const std::string& name) { return test::golden_file("metric/" + name); }

at::Tensor images(int64_t n, int64_t channels = 3, int64_t side = 8) {
  return at::arange(n * channels * side * side).remainder(251).to(at::kByte).view({n, channels, side, side});
}

TEST(FeatureNetwork, GivesTheFeaturesOfTheScript) {
  const FeatureNetwork net(network("patches.pt"));
  const at::Tensor x = images(23), f = net(x, 5);
  ASSERT_EQ(f.sizes(), at::IntArrayRef({23, 12}));
  // The script averages quarters of the image.
  const at::Tensor expected = x.to(at::kFloat).view({23, 3, 2, 4, 2, 4}).mean(at::IntArrayRef({3, 5})).flatten(1);
  EXPECT_LT(f.sub(expected).abs().max().item<float>(), 1e-4);
  EXPECT_TRUE(net(x.to(at::kFloat), 23).sub(f).abs().max().item<float>() < 1e-4)
      << "bytes and floats in [0,255] are alike";
}

TEST(FeatureNetwork, IsCalledFidOnlyByItsHash) {
  const FeatureNetwork net(network("patches.pt"));
  EXPECT_EQ(net.hash(), sha256_file(network("patches.pt")));
  EXPECT_EQ(net.distance_name(), "FD[patches]");
  EXPECT_EQ(net.distance_name("0123"), "FD[patches]");
  EXPECT_EQ(net.distance_name(net.hash()), "FID");
}

TEST(FeatureNetwork, SaysInOneLineWhatDoesNotFit) {
  EXPECT_MENTIONS(input_error([] { FeatureNetwork(network("weights.pt")); }),
                  "weights.pt: expected a TorchScript file, got: ");
  EXPECT_MENTIONS(input_error([] { FeatureNetwork(network("scores.json")); }),
                  "scores.json: expected a TorchScript file, got: ");
  EXPECT_MENTIONS(input_error([] { FeatureNetwork(network("absent.pt")); }), "absent.pt");
  EXPECT_MENTIONS(input_error([] { FeatureNetwork(network("maps.pt"))(images(2)); }),
                  "maps.pt: expected a network that gives floats of shape (2, d), got float32 of shape (2, 3, 8, 8)");
  const std::string grey = input_error([] { FeatureNetwork(network("strict.pt"))(images(2, 1)); });
  EXPECT_MENTIONS(grey, "strict.pt: expected a network that takes uint8 images of shape (2, 1, 8, 8), got: ");
  EXPECT_MENTIONS(grey, "to have 3 channels, but got 1 channels");
  EXPECT_MENTIONS(input_error([] { FeatureNetwork(network("broken.pt"))(images(2)); }),
                  "gives finite features, got nan or inf of image 1");
  EXPECT_MENTIONS(input_error([] { FeatureNetwork(network("patches.pt"))(images(2).flatten(1)); }),
                  "expected images n x c x h x w");
}

TEST(FeatureKnn, IsF1KnnInAnyDimension) {
  for (const int64_t dim : {2, 12, 300})
    for (const int k : {1, 3, 10}) {
      const at::Tensor real = to_tensor(stable_points(400, dim, 1.5, Key(1))),
                       fake = to_tensor(stable_points(350, dim, 1.5, Key(2))).mul(1.1);
      const KnnScore expected = f1_knn(real, fake, k), score = feature_neighbours(real, fake, k).score;
      EXPECT_EQ(score.precision, expected.precision) << dim;
      EXPECT_EQ(score.recall, expected.recall) << dim;
      EXPECT_EQ(score.f1, expected.f1) << dim;
    }
}

// Whole numbers: many equal points and equal distances, all of them exact.
TEST(FeatureKnn, TiesAndDuplicatesCountAsInTheDefinition) {
  const at::Tensor real = to_tensor(lattice_points(500, 3, 4, Key(3))),
                   fake = to_tensor(lattice_points(400, 3, 5, Key(4)));
  const KnnScore expected = f1_knn(real, fake, 3), score = feature_neighbours(real, fake, 3).score;
  EXPECT_EQ(score.precision, expected.precision);
  EXPECT_EQ(score.recall, expected.recall);
  // Five copies of each of 80 points that are no whole numbers: all radii are 0, and equal points still cover each
  // other.
  const at::Tensor points = to_tensor(stable_points(80, 40, 1.5, Key(5)), at::kFloat),
                   many = at::cat({points, points, points, points, points});
  EXPECT_EQ(feature_neighbours(many, many.narrow(0, 0, 100), 1).score.precision, 1.0);
}

TEST(FeatureKnn, NearestAndClasses) {
  const at::Tensor real = at::tensor({0.0, 1.0, 10.0, 11.0, 12.0, 30.0}, at::kDouble).view({6, 1});
  const at::Tensor labels = at::tensor({0, 0, 1, 1, 1, 2}, at::kLong);
  const at::Tensor fake = at::tensor({0.4, 0.6, 10.9, 11.2}, at::kDouble).view({4, 1});
  const FeatureNeighbours found = feature_neighbours(real, fake, 1);
  EXPECT_TRUE(found.nearest.equal(at::tensor({0, 1, 3, 3}, at::kLong)));
  EXPECT_NEAR(found.distance.select(0, 2).item<double>(), 0.1, 1e-12);
  EXPECT_TRUE(nearest_features(real, fake).index.equal(found.nearest));
  // Balls of the fake points: radius 0.2 about 0.4 and 0.6, 0.3 about 10.9 and 11.2. They hold 11 alone.
  EXPECT_DOUBLE_EQ(found.score.recall, 1.0 / 6);
  const auto classes = class_coverage(found, labels, 3);
  ASSERT_EQ(classes.size(), 3U);
  const std::array<ClassCoverage, 3> expected = {{{2, 2, 0}, {3, 2, 1.0 / 3}, {1, 0, 0}}};
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(classes[c].real, expected[c].real) << c;
    EXPECT_EQ(classes[c].fake, expected[c].fake) << c;
    EXPECT_DOUBLE_EQ(classes[c].recall, expected[c].recall) << c;
  }
}

TEST(FeatureKnn, RefusesTooFewAndOtherDimensions) {
  const at::Tensor x = at::zeros({3, 2}), y = at::zeros({9, 2});
  EXPECT_MENTIONS(input_error([&] { feature_neighbours(x, y, 3); }),
                  "expected more than k = 3 images in each set, got 3 (real) and 9 (fake)");
  EXPECT_MENTIONS(input_error([&] { feature_neighbours(y, at::zeros({9, 3}), 3); }), "of one dimension, got 2 and 3");
  EXPECT_MENTIONS(input_error([&] { feature_neighbours(y, y, 0); }), "expected k of at least 1");
}

}  // namespace
}  // namespace htfm
