// Models with conditions, from the data set to samples.
#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/data/condition_columns.h"
#include "htfm/field/block_means.h"
#include "htfm/io/csv.h"
#include "htfm/io/file.h"
#include "htfm/sample/sample_file.h"
#include "htfm/sample/sampler.h"
#include "htfm/train/trainer.h"
#include "test/conditional_data.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

RunConfig small(std::vector<std::string> more = {}) {
  std::vector<std::string> settings{"condition.columns=kind,c", "train.batch=256", "train.epochs=3", "sample.nfe=6",
                                    "sample.solver=ab2"};
  settings.insert(settings.end(), more.begin(), more.end());
  return parse_config("", "test", settings);
}

TEST(Conditions, LeaveTheRows) {
  const Dataset data = with_conditions(test::conditional_data(Key(1), 1000), small().condition);
  ASSERT_EQ(data.rows.size(1), 1);
  EXPECT_EQ(data.names, std::vector<std::string>{"x"});
  ASSERT_EQ(data.conditions.columns.size(), 2U);
  EXPECT_EQ(data.conditions.columns[0], (ConditionColumn{"kind", {"0", "1", "2"}}));
  EXPECT_EQ(data.conditions.columns[1], (ConditionColumn{"c", {}}));
  EXPECT_TRUE(with_conditions(data, small().condition).rows.is_same(data.rows));
  EXPECT_THROW(with_conditions(test::conditional_data(Key(1), 10), small({"condition.columns=x,kind,c"}).condition),
               InputError);
  EXPECT_THROW(with_conditions(test::conditional_data(Key(1), 10), small({"condition.columns=line"}).condition),
               InputError);
  EXPECT_THROW(with_conditions(test::conditional_data(Key(1), 10), small({"condition.numbers=x"}).condition),
               InputError);
  const Dataset number =
      with_conditions(test::conditional_data(Key(1), 10), small({"condition.numbers=kind"}).condition);
  EXPECT_FALSE(number.conditions.columns[0].is_category());
}

// Every method takes conditions, keeps them in a checkpoint, and draws the same samples from it, in parts too.
TEST(Conditions, OfEveryMethod) {
  const test::TemporaryFolder folder;
  const Dataset data = test::conditional_data(Key(1), 1500);
  for (const MethodInfo& info : methods()) {
    const bool student = info.name.starts_with('t');
    const RunConfig config = small({"method=" + info.name, "clock.nu=3", "clock.alpha=1.7",
                                    std::string("clock.family=") + (student ? "inverse-gamma" : "stable")});
    const Model model = train(config, data);
    model.save(folder / "model.safetensors");
    const Model loaded = Model::load(folder / "model.safetensors");
    EXPECT_EQ(loaded.describe().condition, model.describe().condition);
    SampleOptions options = sample_options(config);
    options.n = 1000;
    options.condition = parse_given(model.condition(), "kind=2");
    const SampleResult a = sample(model, options), b = sample(loaded, options);
    EXPECT_TRUE(a.samples.equal(b.samples)) << info.name;
    EXPECT_EQ(a.samples.size(1), 1);
    EXPECT_EQ(a.diverged, 0) << info.name;
    EXPECT_EQ(a.conditions.select(1, 0).min().item<double>(), 2);
    options.condition = parse_given(model.condition(), "kind=0");
    EXPECT_FALSE(sample(model, options).samples.equal(a.samples)) << info.name;
  }
}

// What is drawn differs by centre and scale alone, out of a checkpoint too.
TEST(Conditions, ANumberThatIsNotToldMovesAndStretches) {
  const test::TemporaryFolder folder;
  const RunConfig config = small({"data.normalise=scores", "condition.untold=c"});
  train(config, test::conditional_data(Key(1), 3000)).save(folder / "model.safetensors");
  const Model model = Model::load(folder / "model.safetensors");
  EXPECT_FALSE(model.condition().columns()[1].told);
  const auto drawn = [&](const char* given) {
    SampleOptions options = sample_options(config);
    options.n = 64, options.condition = parse_given(model.condition(), given);
    return sample(model, options).samples.view({-1});
  };
  const at::Tensor low = drawn("kind=1,c=0.2"), high = drawn("kind=1,c=0.8");
  // One map x -> a + b x for all samples, by its values at two of them.
  const double* x = low.const_data_ptr<double>();
  const double* y = high.const_data_ptr<double>();
  const double b = (y[1] - y[0]) / (x[1] - x[0]), a = y[0] - b * x[0];
  EXPECT_GT(b, 1.2);
  for (int64_t i = 0; i < 64; ++i) EXPECT_NEAR(y[i], a + b * x[i], 1e-9 * (1 + std::abs(y[i])) / std::abs(x[1] - x[0]));
}

TEST(Conditions, ResumeGivesTheSameBits) {
  const test::TemporaryFolder folder;
  const Dataset data = test::conditional_data(Key(1), 1500);
  const RunConfig config = small({"coupling.kind=pool", "precondition.scale=clock", "clock.family=inverse-gamma",
                                  "clock.nu=3", "condition.drop=0.2", "train.validation=0.1", "data.normalise=scores"});
  const Model whole = train(config, data);
  int64_t steps = 0;
  EXPECT_THROW(train(config, data, {.folder = folder / "run", .stop = [&] { return ++steps == 7; }}), Interrupted);
  const Model resumed = train(config, data, {.folder = folder / "run", .resume = true});
  EXPECT_EQ(resumed.weights_hash(), whole.weights_hash());
}

// Two classes far apart: what is drawn under a class lies where it does, with guidance too.
TEST(Conditions, AreFollowedAndGuided) {
  constexpr int64_t kRows = 4000;
  Dataset data{.rows = at::empty({kRows, 2}, at::kDouble), .names = {"x", "side"}, .hash = "sides", .origin = "sides"};
  std::vector<double> z(kRows);
  fill_normal(Key(1), 0, kRows, z.data());
  for (int64_t i = 0; i < kRows; ++i) {
    data.rows.mutable_data_ptr<double>()[2 * i] = z[i] + (i % 2 == 1 ? 4 : -4);
    data.rows.mutable_data_ptr<double>()[2 * i + 1] = static_cast<double>(i % 2);
  }
  const RunConfig config =
      parse_config("", "test",
                   {"condition.columns=side", "condition.drop=0.2", "train.batch=512", "train.epochs=60",
                    "sample.nfe=12", "sample.solver=ab2", "data.normalise=zscore"});
  const Model model = train(config, data);
  SampleOptions options = sample_options(config);
  options.n = 2000;
  for (const double side : {0.0, 1.0}) {
    options.condition = parse_given(model.condition(), side == 1 ? "side=1" : "side=0");
    options.guidance = 0;
    const at::Tensor plain = sample(model, options).samples;
    EXPECT_NEAR(plain.mean().item<double>(), side == 1 ? 4 : -4, 0.5);
    EXPECT_NEAR(plain.std().item<double>(), 1, 0.35);
    options.guidance = 2;
    const SampleResult guided = sample(model, options);
    EXPECT_FALSE(guided.samples.equal(plain));
    EXPECT_GT((side == 1 ? 1 : -1) * guided.samples.mean().item<double>(), 3.5);
  }
  // Nothing given: both sides come, as often as in training.
  options.condition = {}, options.guidance = 0;
  const SampleResult both = sample(model, options);
  EXPECT_NEAR(both.conditions.mean().item<double>(), 0.5, 4 * 0.5 / std::sqrt(2000.0));
  const at::Tensor right = both.samples.gt(0).to(at::kDouble).view({-1}), told = both.conditions.view({-1});
  EXPECT_LT(right.sub(told).abs().mean().item<double>(), 0.02);
}

TEST(Conditions, RefusesWhatCannotBe) {
  const Model model = train(small(), test::conditional_data(Key(1), 600));
  SampleOptions options = sample_options(model.config());
  options.n = 10, options.guidance = 1;
  EXPECT_THROW(sample(model, options), InputError);  // never trained without
  const Model plain = train(parse_config("", "test", {"data.n=600", "train.epochs=1"}));
  SampleOptions other = sample_options(plain.config());
  other.n = 10, other.solver = "euler", other.condition.rows = at::zeros({1, 1}, at::kDouble);
  EXPECT_THROW(sample(plain, other), InputError);
}

TEST(Conditions, AreColumnsOfAFile) {
  const test::TemporaryFolder folder;
  const Model model = train(small(), test::conditional_data(Key(1), 600));
  SampleOptions options = sample_options(model.config());
  options.n = 300;
  options.condition = parse_given(model.condition(), "kind=1");
  sample_to_file(model, options, {.path = folder / "s.csv"});
  const Table table = read_csv(folder / "s.csv");
  EXPECT_EQ(table.names, (std::vector<std::string>{"x", "kind", "c"}));
  EXPECT_EQ(table.values.size(0), 300);
  for (int64_t i = 0; i < 300; ++i) EXPECT_EQ(table.values.const_data_ptr<double>()[3 * i + 1], 1);
  // The same rows, drawn in parts.
  const SampleResult all = sample(model, options);
  SampleOptions part = options;
  part.first = 128, part.n = 64;
  EXPECT_TRUE(sample(model, part).conditions.equal(all.conditions.narrow(0, 128, 64)));
}

// Classes of images: dark ones and bright ones. A U-Net is told the class.
TEST(Conditions, ClassesOfImages) {
  const test::TemporaryFolder folder;
  constexpr int64_t kImages = 64;
  Dataset data{.rows = at::empty({kImages, 64}, at::kFloat), .hash = "shades", .origin = "shades"};
  data.image = ImageShape{1, 8, 8};
  data.labels = at::empty({kImages}, at::kLong);
  data.classes = {"dark", "bright"};
  for (int64_t i = 0; i < kImages; ++i) {
    data.labels.mutable_data_ptr<int64_t>()[i] = i % 2;
    for (int64_t k = 0; k < 64; ++k)
      data.rows.mutable_data_ptr<float>()[64 * i + k] =
          (i % 2 == 1 ? 0.7F : -0.7F) + 0.2F * static_cast<float>(Key(3).uniform(static_cast<uint64_t>(64 * i + k)));
  }
  const RunConfig config =
      parse_config("", "test",
                   {"condition.label=true", "net.kind=unet", "unet.base=8", "unet.groups=4", "unet.multipliers=1,2",
                    "unet.blocks=1", "unet.attention=4", "unet.heads=2", "train.batch=32", "train.epochs=40",
                    "train.lr=6e-3", "train.ema=0.9", "sample.nfe=8"});
  const Model model = train(config, data);
  EXPECT_EQ(model.condition().describe(), "class (one of 2: dark, bright)");
  SampleOptions options = sample_options(config);
  options.n = 32;
  options.condition = parse_given(model.condition(), "class=dark");
  const double dark = sample(model, options).samples.mean().item<double>();
  options.condition = parse_given(model.condition(), "class=bright");
  const double bright = sample(model, options).samples.mean().item<double>();
  EXPECT_LT(dark, -0.3);
  EXPECT_GT(bright, 0.3);
  // Pixels are rows of the file; what was given stands beside it.
  sample_to_file(model, options, {.path = folder / "s.npy"});
  const Table beside = read_csv(folder / "s.npy.conditions.csv");
  EXPECT_EQ(beside.names, std::vector<std::string>{"class"});
  EXPECT_EQ(beside.values.min().item<double>(), 1);
  EXPECT_THROW(with_conditions(test::conditional_data(Key(1), 10), config.condition), InputError);
}

// Images of 8 x 8 given their means on 2 x 2.
TEST(Conditions, FieldsOfACoarserGrid) {
  const test::TemporaryFolder folder;
  constexpr int64_t kImages = 96;
  Dataset data{.rows = at::empty({kImages, 64}, at::kFloat), .hash = "blocks", .origin = "blocks"};
  data.image = ImageShape{1, 8, 8};
  for (int64_t i = 0; i < kImages; ++i)
    for (int64_t k = 0; k < 64; ++k) {
      const auto block = static_cast<uint64_t>(4 * i + k / 32 * 2 + k % 8 / 4);
      data.rows.mutable_data_ptr<float>()[64 * i + k] =
          static_cast<float>(2 * Key(1).uniform(block) - 1 + 0.1 * Key(2).uniform(static_cast<uint64_t>(64 * i + k)));
    }
  for (const char* kind : {"unet", "ncsnpp"}) {
    const RunConfig config =
        parse_config("", "test",
                     {"condition.field=2x2", "condition.drop=0.1", std::string("net.kind=") + kind, "unet.base=8",
                      "unet.groups=4", "unet.multipliers=1,2", "unet.blocks=1", "unet.attention=4", "unet.heads=2",
                      "train.batch=32", "train.epochs=20", "train.lr=6e-3", "train.ema=0.9", "sample.nfe=8"});
    const Model model = train(config, data);
    EXPECT_NE(model.condition().describe().find("a field of 2 x 2"), std::string::npos);
    SampleOptions options = sample_options(config);
    options.n = 24;
    options.condition.rows = at::empty({24, 4}, at::kDouble);
    for (int64_t i = 0; i < 96; ++i)
      options.condition.rows.mutable_data_ptr<double>()[i] = 1.6 * Key(5).uniform(static_cast<uint64_t>(i)) - 0.8;
    const auto means = [](const at::Tensor& samples) {
      return block_means(samples.view({-1, 1, 8, 8}), 2, 2).view({-1, 4});
    };
    const at::Tensor own = means(sample(model, options).samples), given = options.condition.rows;
    // Without what is given the squares of the differences would have the mean 1/3 + 0.64/3.
    EXPECT_LT((own - given).square().mean().item<double>(), 0.08) << kind;
    options.exact_means = true;
    EXPECT_LT((means(sample(model, options).samples) - given).abs().max().item<double>(), 1e-9) << kind;
    options.exact_means = false;
    // A checkpoint keeps it all, and guidance has a network without the condition to lean on.
    model.save(folder / "m.safetensors");
    const Model again = Model::load(folder / "m.safetensors");
    EXPECT_TRUE(means(sample(again, options).samples).equal(own));
    options.guidance = 1;
    EXPECT_EQ(sample(again, options).evaluations, 16);
    // Nothing given: drawn from those of training.
    options.condition = {}, options.guidance = 0;
    EXPECT_EQ(sample(model, options).conditions.size(1), 4);
  }
  EXPECT_THROW(parse_config("", "test", {"condition.field=2x2", "data.flip=true"}), InputError);
  EXPECT_THROW(with_conditions(data, {.field = "3x2"}), InputError);
  EXPECT_THROW(with_conditions(data, {.field = "nowhere"}), InputError);
  EXPECT_THROW(with_conditions(test::conditional_data(Key(1), 10), {.field = "2x2"}), InputError);
}

// Categories by name, and a discrete column whose law depends on what is given.
TEST(Conditions, TextsAndDiscreteColumns) {
  const test::TemporaryFolder folder;
  constexpr int64_t kRows = 4000;
  Dataset data{
      .rows = at::empty({kRows, 3}, at::kDouble), .names = {"x", "size", "line"}, .hash = "t", .origin = "texts"};
  data.columns.resize(3);
  data.columns[1].kind = data.columns[2].kind = ColumnKind::category;
  data.columns[1].categories = {"large", "small"}, data.columns[2].categories = {"fire", "marine"};
  std::vector<double> z(kRows);
  fill_normal(Key(1), 0, kRows, z.data());
  for (int64_t i = 0; i < kRows; ++i) {
    double* row = data.rows.mutable_data_ptr<double>() + 3 * i;
    const bool marine = i % 2 == 1;
    row[0] = z[i], row[2] = marine;
    row[1] = Key(2).uniform(static_cast<uint64_t>(i)) < (marine ? 0.9 : 0.2) ? 0 : 1;
  }
  const RunConfig config = parse_config("", "test",
                                        {"condition.columns=line", "data.normalise=scores", "train.batch=512",
                                         "train.epochs=10", "sample.nfe=6", "sample.solver=ab2"});
  const Model trained = train(config, data);
  trained.save(folder / "model.safetensors");
  const Model model = Model::load(folder / "model.safetensors");
  SampleOptions options = sample_options(config);
  options.n = 4000;
  for (const bool marine : {false, true}) {
    options.condition = parse_given(model.condition(), marine ? "line=marine" : "line=fire");
    const at::Tensor rows = sample(model, options).samples;
    EXPECT_TRUE(rows.equal(sample(trained, options).samples));
    // The law of states is learned: its share is that of the data within what 2,000 rows tell, and a little.
    const double large = rows.select(1, 1).eq(0).to(at::kDouble).mean().item<double>();
    EXPECT_NEAR(large, marine ? 0.9 : 0.2, 4 * std::sqrt(0.25 / 2000) + 0.03);
  }
  sample_to_file(model, options, {.path = folder / "s.csv"});
  const std::string text = read_file(folder / "s.csv");
  EXPECT_EQ(text.substr(0, text.find('\n')), "x,size,line");
  EXPECT_NE(text.find(",marine\n"), std::string::npos);
  EXPECT_EQ(text.find(",fire\n"), std::string::npos);
  atomic_write(folder / "rows.csv", std::string("line\nmarine\nfire\n"));
  const GivenConditions rows = read_given(model.condition(), folder / "rows.csv");
  EXPECT_EQ(rows.rows.const_data_ptr<double>()[0], 1);
  EXPECT_EQ(rows.rows.const_data_ptr<double>()[1], 0);
}

// Scores given the condition: the law of each category comes back from scores, tails and all, without a network.
TEST(Conditions, ScoresHaveTheLawOfEachCategory) {
  constexpr int64_t kRows = 30000, kDrawn = 300000;
  const Dataset data = with_conditions(test::conditional_data(Key(1), kRows), small().condition);
  const TableTransform laws =
      TableTransform::fit("scores", data.rows, {}, {}, Key(2), false, 0, "normal", data.conditions);
  ASSERT_TRUE(laws.conditional());
  // Scores are standard normal in every category and along the number.
  const at::Tensor scores = laws.apply(data.rows, Key(2), {data.conditions.values});
  const double* given = data.conditions.values.const_data_ptr<double>();
  for (int category = 0; category < 3; ++category)
    for (const double from : {0.0, 0.5}) {
      double sum = 0, square = 0, count = 0;
      for (int64_t i = 0; i < kRows; ++i) {
        if (given[2 * i] != category || given[2 * i + 1] < from || given[2 * i + 1] >= from + 0.5) continue;
        const double z = scores.const_data_ptr<float>()[i];
        sum += z, square += z * z, ++count;
      }
      EXPECT_NEAR(sum / count, 0, 4 / std::sqrt(count));
      EXPECT_NEAR(square / count, 1, 4 * std::sqrt(2 / count) + 0.03);
    }
  // Back from normal scores: quantiles of each category against fresh rows of the law.
  const Dataset fresh = with_conditions(test::conditional_data(Key(77), kDrawn), small().condition);
  std::vector<double> z(kDrawn);
  fill_normal(Key(5), 0, kDrawn, z.data());
  const at::Tensor drawn =
      laws.invert(at::from_blob(z.data(), {kDrawn, 1}, at::kDouble), Key(0), 0, {fresh.conditions.values});
  for (int category = 0; category < 3; ++category) {
    std::vector<double> real, fake;
    for (int64_t i = 0; i < kDrawn; ++i) {
      if (fresh.conditions.values.const_data_ptr<double>()[2 * i] != category) continue;
      real.push_back(fresh.rows.const_data_ptr<double>()[i]), fake.push_back(drawn.const_data_ptr<double>()[i]);
    }
    std::sort(real.begin(), real.end()), std::sort(fake.begin(), fake.end());
    const auto error = [&](double level) {
      const auto at = static_cast<size_t>(level * static_cast<double>(real.size()));
      return std::abs(std::log(fake[at] / real[at]));
    };
    // 10,000 rows of a category: log-quantiles scatter by 1 / (nu sqrt(rows beyond)) at .99, and more beyond.
    EXPECT_LT(error(0.99), 4 / (test::kDegrees[category] * std::sqrt(100.0))) << category;
    EXPECT_LT(error(0.999), 4 / (test::kDegrees[category] * std::sqrt(30.0))) << category;
  }
}

}  // namespace
}  // namespace htfm
