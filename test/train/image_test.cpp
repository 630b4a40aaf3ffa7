// Training the U-Net on images, on the CPU at a small size.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/train/trainer.h"

namespace htfm {
namespace {

RunConfig small(std::vector<std::string> more = {}) {
  std::vector<std::string> settings{
      "net.kind=unet",       "unet.base=8",     "unet.groups=4",     "unet.multipliers=1,2", "unet.blocks=1",
      "unet.attention=4",    "unet.heads=2",    "train.batch=8",     "train.epochs=6",       "train.lr=2e-3",
      "clock.family=stable", "clock.alpha=1.7", "train.log_steps=1", "data.flip=true",       "train.ema_warmup=true"};
  settings.insert(settings.end(), more.begin(), more.end());
  return parse_config("", "test", settings);
}

Dataset stripes(int64_t n) {
  Dataset data;
  data.image = ImageShape{1, 8, 8}, data.hash = "stripes", data.origin = "stripes";
  data.rows = at::empty({n, 64}, at::kFloat);
  for (int64_t i = 0; i < n * 64; ++i)
    data.rows.mutable_data_ptr<float>()[i] = (i / 8 + i / 64) % 2 == 0 ? 0.9f : -0.9f;
  return data;
}

TEST(ImageTraining, LearnsStripes) {
  std::vector<double> losses;
  TrainOptions options;
  options.report = [&](const TrainProgress& p) { losses.push_back(p.loss); };
  const Model model = train(small({"train.epochs=40"}), stripes(32), options);
  ASSERT_EQ(model.step, 160);
  double first = 0, last = 0;
  for (size_t k = 0; k < 20; ++k) first += losses[k] / 20, last += losses[losses.size() - 1 - k] / 20;
  EXPECT_LT(last, 0.8 * first);
}

// A batch of 8 out of 20 rows: the last batch of an epoch is smaller. Going on from a checkpoint ends with the same
// bits.
TEST(ImageTraining, ResumesToTheSameBits) {
  const std::string folder = testing::TempDir() + "htfm-image-run";
  std::filesystem::remove_all(folder);
  const Model whole = train(small(), stripes(20));
  TrainOptions options;
  options.folder = folder, options.resume = true;
  struct Stop {};
  options.report = [&](const TrainProgress& p) {
    if (p.step == 7) throw Stop();
  };
  EXPECT_THROW(train(small({"train.checkpoint_steps=3"}), stripes(20), options), Stop);
  options.report = {};
  const Model resumed = train(small({"train.checkpoint_steps=3"}), stripes(20), options);
  EXPECT_EQ(resumed.step, whole.step);
  EXPECT_TRUE(at::equal(resumed.trained.parameters, whole.trained.parameters));
  EXPECT_TRUE(at::equal(resumed.trained.ema, whole.trained.ema));
  std::filesystem::remove_all(folder);
}

TEST(ImageTraining, AsksForImages) {
  Dataset table = stripes(20);
  table.image.reset();
  EXPECT_THROW(train(small(), table), InputError);
}

}  // namespace
}  // namespace htfm
