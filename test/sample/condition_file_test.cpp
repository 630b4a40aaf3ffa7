// Conditions in a file of their own, a row for each row of the data.
#include <ATen/TensorOperators.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "htfm/base/error.h"
#include "htfm/data/condition_columns.h"
#include "htfm/field/field_set.h"
#include "htfm/fit/fit_table.h"
#include "htfm/io/npy.h"
#include "htfm/sample/sampler.h"
#include "htfm/train/trainer.h"
#include "test/conditional_data.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

constexpr int64_t kFileRows = 900;

// The data's own column as an array, the columns that are given as a table.
struct Files {
  explicit Files(const test::TemporaryFolder& folder)
      : rows(folder / "x.npy"), given(folder / "given.csv"), all(test::conditional_data(Key(1), kFileRows)) {
    write_npy(rows, all.rows.narrow(1, 0, 1).contiguous());
    spill_given(kFileRows);
  }
  void spill_given(int64_t n) const {
    std::string text = "kind,c\n";
    const double* x = all.rows.const_data_ptr<double>();
    for (int64_t i = 0; i < n; ++i) text += fmt::format("{},{}\n", x[3 * i + 1], x[3 * i + 2]);
    test::spill(given, text);
  }
  RunConfig config(std::vector<std::string> more = {}) const {
    std::vector<std::string> settings{
        "data.path=" + rows, "condition.file=" + given, "train.batch=256",     "train.epochs=3",
        "sample.nfe=6",      "sample.solver=ab2",       "clock.family=stable", "clock.alpha=1.7"};
    settings.insert(settings.end(), more.begin(), more.end());
    return parse_config("", "test", settings);
  }
  std::string rows, given;
  Dataset all;
};

std::string message(const std::function<void()>& body) {
  try {
    body();
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

TEST(ConditionFile, GivesTheModelThatColumnsOfTheTableGive) {
  const test::TemporaryFolder folder;
  const Files files(folder);
  const RunConfig beside = files.config(), inside = files.config({"condition.file=", "condition.columns=kind,c"});
  const Dataset data = load_dataset(beside);
  ASSERT_EQ(data.conditions.columns.size(), 2U);
  EXPECT_EQ(data.conditions.columns[0], (ConditionColumn{"kind", {"0", "1", "2"}}));
  EXPECT_TRUE(data.conditions.values.equal(files.all.rows.narrow(1, 1, 2)));
  const Model a = train(beside, data), b = train(inside, files.all);
  EXPECT_EQ(a.weights_hash(), b.weights_hash());
  SampleOptions options = sample_options(beside);
  options.n = 300;
  options.condition = parse_given(a.condition(), "kind=2,c=0.5");
  EXPECT_TRUE(sample(a, options).samples.equal(sample(b, options).samples));
}

TEST(ConditionFile, StaysWithItsRowsWhereSomeAreChosen) {
  const test::TemporaryFolder folder;
  const Files files(folder);
  const auto [train, held_out] = load_split(files.config({"data.rows=200", "data.holdout=0.25"}));
  ASSERT_EQ(train.rows.size(0), 150);
  ASSERT_EQ(held_out.rows.size(0), 50);
  std::map<double, std::pair<double, double>> given;
  const double* x = files.all.rows.const_data_ptr<double>();
  for (int64_t i = 0; i < kFileRows; ++i) given[x[3 * i]] = {x[3 * i + 1], x[3 * i + 2]};
  for (const Dataset* part : {&train, &held_out})
    for (int64_t i = 0; i < part->rows.size(0); ++i) {
      const auto [kind, c] = given.at(part->rows[i][0].item<double>());
      ASSERT_EQ(part->conditions.values[i][0].item<double>(), kind);
      ASSERT_EQ(part->conditions.values[i][1].item<double>(), c);
    }
}

TEST(ConditionFile, RefusesWhatDoesNotGoWithTheData) {
  const test::TemporaryFolder folder;
  const Files files(folder);
  const auto refusal = [&](std::vector<std::string> more) {
    return message([&] { load_dataset(files.config(std::move(more))); });
  };
  EXPECT_NE(refusal({"condition.columns=1"}).find("got condition.columns = 1 and condition.file = "),
            std::string::npos);
  EXPECT_NE(refusal({"condition.numbers=size"}).find("size"), std::string::npos);
  files.spill_given(kFileRows - 1);
  EXPECT_NE(refusal({}).find("expected 900 rows, one for each row of "), std::string::npos);
  EXPECT_NE(refusal({}).find("got 899"), std::string::npos);
  test::spill(files.given, "kind\nfire\n\n");
  EXPECT_NE(refusal({}).find("got 1"), std::string::npos);
  EXPECT_NE(refusal({"condition.file=none.csv"}).find("none.csv"), std::string::npos);
}

TEST(ConditionFile, ARunGoesOnWithTheSameFileAlone) {
  const test::TemporaryFolder folder;
  const Files files(folder);
  const std::string run = folder / "run";
  const RunConfig config = files.config();
  const Training first = run_training(config, load_dataset(config), {.folder = run});
  const RunConfig longer = files.config({"train.epochs=4"});
  EXPECT_EQ(run_training(longer, load_dataset(longer), {.folder = run, .resume = true}).model.step,
            first.model.step * 4 / 3);
  std::string text = test::slurp(files.given);
  text.replace(text.find('\n') + 1, 1, text[text.find('\n') + 1] == '0' ? "1" : "0");
  test::spill(files.given, text);
  const RunConfig longest = files.config({"train.epochs=5"});
  EXPECT_NE(message([&] {
              run_training(longest, load_dataset(longest), {.folder = run, .resume = true});
            }).find("got other content"),
            std::string::npos);
}

TEST(ConditionFile, HasARowForEachFieldOfASet) {
  const test::TemporaryFolder folder;
  FieldSet set;
  constexpr int64_t n = 12;
  set.fields = at::arange(16.0 * n, at::kFloat).view({n, 1, 4, 4});
  set.time = at::arange(n, at::kLong), set.held_out = at::zeros({n}, at::kByte);
  for (const int64_t k : {3, 7}) set.held_out[k] = 1;
  set.place = at::zeros({n, 2}, at::kLong), set.corners = at::full({n, 4}, NAN, at::kDouble);
  set.channels = {"rain"}, set.units = {"mm"};
  set.transform = fit_field_transform({}, set.fields, set.held_out);
  write_field_set(folder / "rain.fields", set);
  std::string text = "season,index\n";
  for (int64_t k = 0; k < n; ++k) text += fmt::format("{},{}\n", k % 2 ? "wet" : "dry", 0.5 + static_cast<double>(k));
  test::spill(folder / "given.csv", text);
  const std::vector<std::string> settings{"data.path=" + (folder / "rain.fields"), "data.kind=fields", "net.kind=unet",
                                          "condition.file=" + (folder / "given.csv")};
  const Dataset data = load_dataset(parse_config("", "test", settings));
  ASSERT_EQ(data.rows.size(0), n - 2);
  EXPECT_EQ(data.conditions.columns[0], (ConditionColumn{"season", {"dry", "wet"}}));
  for (int64_t i = 0, k = 0; k < n; ++k)
    if (k != 3 && k != 7) {
      EXPECT_EQ(data.conditions.values[i][0].item<double>(), k % 2);
      EXPECT_EQ(data.conditions.values[i++][1].item<double>(), 0.5 + static_cast<double>(k));
    }
}

TEST(ConditionFile, HtfmFitTakesIt) {
  const test::TemporaryFolder folder;
  const Files files(folder);
  TableFitOptions o;
  o.file.path = files.rows;
  o.settings = {"condition.file=" + files.given, "train.epochs=2", "data.rows=600"};
  o.samples = 200, o.judged = 1000, o.compare = o.refit = false, o.minutes = 0.1;
  const TableFit fit = fit_table(o);
  EXPECT_EQ(fit.conditions.size(1), 2);
  EXPECT_EQ(fit.model.condition().describe().empty(), false);
}

}  // namespace
}  // namespace htfm
