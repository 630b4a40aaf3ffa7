// References of image scores and their file; the scores together.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <filesystem>

#include "htfm/base/random.h"
#include "htfm/io/safetensors.h"
#include "htfm/metric/image_scores.h"
#include "test/data.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using test::input_error;

std::string reference_network(const std::string& name) { return test::golden_file("metric/" + name); }

at::Tensor noise(Key key, int64_t n) {
  at::Tensor x = at::empty({n, 3, 8, 8}, at::kByte);
  auto* p = x.mutable_data_ptr<uint8_t>();
  for (int64_t i = 0; i < x.numel(); ++i) p[i] = static_cast<uint8_t>(key.below(256, static_cast<uint64_t>(i)));
  return x;
}

TEST(Reference, IsMadeOnceAndReadBackEqual) {
  const test::TemporaryFolder folder;
  const FeatureNetwork net(reference_network("patches.pt"));
  const at::Tensor x = noise(Key(1), 60);
  const std::string cache = folder / "r.safetensors";
  const FeatureReference made = cached_reference(net, x, "data", cache, 7);
  ASSERT_TRUE(std::filesystem::exists(cache));
  EXPECT_TRUE(made.features.equal(net(x)));
  // Other images under the same hash: what is in the file is believed, nothing is computed.
  const FeatureReference read = cached_reference(net, noise(Key(2), 60), "data", cache);
  EXPECT_TRUE(read.features.equal(made.features));
  EXPECT_TRUE(read.moments.mean.equal(made.moments.mean));
  EXPECT_TRUE(read.moments.covariance.equal(made.moments.covariance));
  EXPECT_EQ(read.moments.n, 60);
  EXPECT_EQ(cached_reference(net, x, "data", "", 7).moments.mean.equal(made.moments.mean), true);
}

TEST(Reference, RefusesWhatDoesNotBelong) {
  const test::TemporaryFolder folder;
  const FeatureNetwork net(reference_network("patches.pt")), other(reference_network("strict.pt"));
  const std::string cache = folder / "r.safetensors";
  const at::Tensor x = noise(Key(1), 10);
  cached_reference(net, x, "data", cache);
  EXPECT_MENTIONS(input_error([&] { cached_reference(net, x, "others", cache); }),
                  "r.safetensors: expected features of the images with hash others, got those of data");
  EXPECT_MENTIONS(
      input_error([&] { cached_reference(other, x, "data", cache); }),
      fmt::format("expected features of the network with SHA-256 {}, got those of {}", other.hash(), net.hash()));
  std::string bytes = test::slurp(cache);
  bytes[bytes.size() - 5] = static_cast<char>(bytes[bytes.size() - 5] ^ 1);
  test::spill(cache, bytes);
  EXPECT_MENTIONS(input_error([&] { cached_reference(net, x, "data", cache); }), "r.safetensors");
  write_safetensors(cache, {{{"w", at::ones({2})}}, {}});
  EXPECT_MENTIONS(input_error([&] { cached_reference(net, x, "data", cache); }), "expected a file of features");
  write_safetensors(cache, {{{"features", at::ones({2, 2})}},
                            {{"format", "htfm.features/1"},
                             {"data_hash", "data"},
                             {"network_sha256", net.hash()},
                             {"n", "3"},
                             {"dim", "2"}}});
  EXPECT_MENTIONS(input_error([&] { cached_reference(net, x, "data", cache); }),
                  "expected 'features' in float32 of shape (3, 2), got");
}

TEST(ImageScores, OfTheRealImagesThemselvesArePerfect) {
  const FeatureNetwork net(reference_network("patches.pt"));
  const at::Tensor x = noise(Key(3), 90), labels = at::arange(90, at::kLong).remainder(3);
  const FeatureReference reference = make_reference(net, x, "x");
  const ImageScores same = image_scores(reference, reference.features, labels, 3);
  EXPECT_NEAR(same.distance.value, 0, 1e-8 * reference.moments.covariance.diagonal().sum().item<double>());
  EXPECT_EQ(same.neighbours.score.precision, 1.0);
  EXPECT_EQ(same.neighbours.score.recall, 1.0);
  EXPECT_EQ(same.class_distance, 0.0);
  for (const ClassCoverage& c : same.classes) EXPECT_EQ(c.fake, 30);
  // Samples of one class alone: the others are lacking, two thirds of the mass is in the wrong place.
  const ImageScores one = image_scores(reference, reference.features.index_select(0, at::arange(0, 90, 3)), labels, 3);
  EXPECT_EQ(one.classes[0].fake, 30);
  EXPECT_EQ(one.classes[0].recall, 1.0);
  EXPECT_EQ(one.classes[1].fake + one.classes[2].fake, 0);
  EXPECT_NEAR(one.class_distance, 2.0 / 3, 1e-12);
  EXPECT_TRUE(image_scores(reference, reference.features).classes.empty());
}

}  // namespace
}  // namespace htfm
