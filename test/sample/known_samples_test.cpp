// Fields whose given means are all 0 have no rain: they are known without a network, and those that are drawn do not
// depend on how the samples are cut into parts.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/field/block_means.h"
#include "htfm/field/field_set.h"
#include "htfm/io/npy.h"
#include "htfm/sample/sample_fields.h"
#include "htfm/train/trainer.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

class KnownFields : public testing::Test {
 protected:
  static constexpr int64_t kFields = 48, kSide = 8, kGrid = 2, kGiven = 30;

  KnownFields() {
    FieldSet set;
    set.fields = at::zeros({kFields, 1, kSide, kSide}, at::kFloat);
    for (int64_t i = 0; i < kFields; i += 2)  // every other one is dry
      for (int64_t k = 0; k < kSide * kSide; ++k) {
        const double u = Key(3).uniform(static_cast<uint64_t>(64 * i + k));
        set.fields.mutable_data_ptr<float>()[64 * i + k] = u < 0.4 ? static_cast<float>(0.1 - 2 * std::log(u)) : 0;
      }
    set.time = at::zeros({kFields}, at::kLong), set.place = at::zeros({kFields, 2}, at::kLong);
    set.held_out = at::zeros({kFields}, at::kByte), set.corners = at::zeros({kFields, 4}, at::kDouble);
    set.channels = {"rain"}, set.units = {"mm/h"};
    set.transform = fit_field_transform({.kind = "scores", .threshold = 0.1, .depth = 1, .reach = 4}, set.fields,
                                        set.held_out, set.channels);
    write_field_set(folder / "rain.fields", set);
    model.emplace(
        train(parse_config("", "test",
                           {"data.kind=fields", "data.path=" + (folder / "rain.fields"), "condition.field=2x2",
                            "net.kind=ncsnpp", "unet.base=8", "unet.multipliers=1,2", "unet.blocks=1",
                            "unet.attention=4", "unet.heads=2", "clock.family=stable", "clock.alpha=1.7",
                            "condition.focus=0.5", "train.batch=16", "train.epochs=2", "sample.nfe=4"})));
    options = sample_options(model->config());
    options.n = kGiven;
    options.condition.rows = at::zeros({kGiven, kGrid * kGrid}, at::kDouble);
    for (int64_t i = 0; i < kGiven; ++i)
      if (!dry(i)) options.condition.rows[i].fill_(0.2 + 0.1 * static_cast<double>(i));
  }
  static bool dry(int64_t row) { return row % 3 == 1 || row < 2; }

  test::TemporaryFolder folder;
  std::optional<Model> model;
  SampleOptions options;
};

TEST_F(KnownFields, HaveNoRainAndCostNothing) {
  const SampleResult drawn = sample(*model, options);
  int64_t known = 0;
  for (int64_t i = 0; i < kGiven; ++i) {
    known += dry(i);
    EXPECT_EQ(drawn.samples[i].abs().max().item<double>() == 0, dry(i)) << i;
    EXPECT_EQ(std::isnan(drawn.area[i].item<double>()), dry(i)) << i;
  }
  EXPECT_NEAR(drawn.evaluations, 4 * static_cast<double>(kGiven - known) / kGiven, 1e-12);
  EXPECT_TRUE(drawn.conditions.equal(options.condition.rows));
  // As the model has them they are dry, too.
  options.as_drawn = true;
  const at::Tensor rows = sample(*model, options).samples, back = model->field()->invert(rows);
  EXPECT_EQ(back[1].abs().max().item<double>(), 0);
  EXPECT_NEAR(rows[1].min().item<double>(), (-1 - model->field()->mean[0]) / model->field()->deviation[0], 0.02);
  // So they are where dry values are drawn, without noise that would count as waves.
  FieldTransform noisy = *model->field();
  noisy.reach = noisy.depth = 0;
  model->set_field(noisy);
  const at::Tensor flat = sample(*model, options).samples;
  EXPECT_EQ((flat[1] - flat[1].min()).abs().max().item<double>(), 0);
  EXPECT_EQ(noisy.invert(flat)[1].abs().max().item<double>(), 0);
  // Nothing but dry fields: nothing is drawn.
  options.as_drawn = false, options.condition.rows.zero_();
  const SampleResult none = sample(*model, options);
  EXPECT_EQ(none.samples.abs().max().item<double>(), 0);
  EXPECT_EQ(none.evaluations, 0);
}

TEST_F(KnownFields, OthersDoNotDependOnParts) {
  for (const int64_t each : {1, 3}) {
    options.condition.each = each, options.n = 2 * each * kGiven - 5;  // the rows come again
    const at::Tensor whole = sample(*model, options).samples;
    for (int64_t i = 0; i < options.n; ++i)
      EXPECT_EQ(whole[i].abs().max().item<double>() == 0, dry(i / each % kGiven)) << i;
    std::vector<at::Tensor> parts;
    for (int64_t first = 0; first < options.n; first += 7) {
      SampleOptions own = options;
      own.first = first, own.n = std::min<int64_t>(7, options.n - first);
      parts.push_back(sample(*model, own).samples);
    }
    EXPECT_LT((at::cat(parts) - whole).abs().max().item<double>(), 1e-4 * whole.abs().max().item<double>()) << each;
  }
  options.condition.each = 1, options.n = kGiven;
  const at::Tensor whole = sample(*model, options).samples;
  sample_fields(*model, options, folder / "s.npy");
  EXPECT_TRUE(read_npy(folder / "s.npy").reshape({kGiven, -1}).to(at::kFloat).equal(whole.to(at::kFloat)));
}

// Of two rows that are drawn the second is the same whether dry ones lie between them or not.
TEST_F(KnownFields, DoNotCountAmongTheOthers) {
  SampleOptions two = options;
  two.n = 2, two.condition.rows = options.condition.rows.index_select(0, at::tensor({2, 3}));
  const at::Tensor expected = sample(*model, two).samples;
  SampleOptions more = two;
  more.n = 4, more.condition.rows = at::zeros({4, 4}, at::kDouble);
  more.condition.rows[1].copy_(two.condition.rows[0]), more.condition.rows[3].copy_(two.condition.rows[1]);
  const at::Tensor drawn = sample(*model, more).samples;
  EXPECT_TRUE(drawn[1].equal(expected[0]));
  EXPECT_TRUE(drawn[3].equal(expected[1]));
}

}  // namespace
}  // namespace htfm
