// A table of categories, days and gaps, from the file to samples in a file.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "htfm/fit/fit_table.h"
#include "htfm/io/csv.h"
#include "htfm/page/fit_page.h"
#include "htfm/sample/sample_file.h"
#include "htfm/stat/estimators.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

std::string mixed_csv(int n) {
  std::string text = "line,day,paid,incurred\n";
  for (int i = 0; i < n; ++i) {
    const auto u = [&](uint64_t k) { return Key(k).uniform(static_cast<uint64_t>(i)); };
    const double paid = std::round(100 * std::exp(normal_quantile(u(1)))) / 100;
    text += fmt::format("{},2021-{:02}-{:02},{},{}\n", u(2) < 0.4 ? "\"fire, water\"" : "motor",
                        1 + static_cast<int>(12 * u(3)), 1 + static_cast<int>(28 * u(4)),
                        u(5) < 0.1 ? "" : fmt::format("{}", paid), std::round(100 * (paid + u(6))) / 100);
  }
  return text;
}

TEST(MixedFit, SamplesAreWrittenAsTheFileWas) {
  const test::TemporaryFolder folder;
  TableFitOptions o;
  o.settings = {"train.epochs=4"};
  o.samples = 500, o.judged = 2000, o.folder = folder / "run", o.refit = false;
  o.file.path = folder / "table.csv", o.file.kinds = "auto", o.file.missing = "keep";
  o.file.constraints = "paid <= incurred";
  o.page = [](const TableFit& fit) { return fit_page(fit, {}); };
  test::spill(o.file.path, mixed_csv(600));
  const TableFit fit = fit_table(o);
  EXPECT_EQ(fit.diverged, 0);
  ASSERT_TRUE(fit.copies);
  EXPECT_NE(test::slurp(fit.page_file).find("Privacy"), std::string::npos);

  const FileSpec again{.path = fit.samples_file, .missing = "keep", .kinds = "auto"};
  const Dataset drawn = file_dataset(again);
  EXPECT_EQ(drawn.names, fit.plan.train.names);
  EXPECT_EQ(drawn.columns[0].categories, (std::vector<std::string>{"fire, water", "motor"}));
  EXPECT_EQ(drawn.columns[1].kind, ColumnKind::date);
  int64_t missing = 0;
  for (int64_t i = 0; i < drawn.rows.size(0); ++i) {
    const double* r = drawn.rows.const_data_ptr<double>() + 4 * i;
    missing += std::isnan(r[2]);
    if (!std::isnan(r[2])) {
      EXPECT_LE(r[2], r[3] + 1e-9);
    }
  }
  // 4 standard errors of the difference between a share of 420 rows and one of 500.
  EXPECT_NEAR(static_cast<double>(missing) / 500, 0.1, 4 * std::sqrt(0.09 * (1.0 / 420 + 1.0 / 500)));

  // The checkpoint holds all of it: samples to a file, in parts, are those drawn at once.
  const Model loaded = Model::load(RunFolder(o.folder).newest().path);
  EXPECT_EQ(loaded.columns(), fit.model.columns());
  SampleOptions options = sample_options(fit.plan.model);
  options.n = 2000;
  sample_to_file(loaded, options, {.path = folder / "drawn.csv", .part_bytes = 1});
  write_csv(folder / "whole.csv", sample(fit.model, options).samples, loaded.column_names(),
            loaded.transform().digits(), cell_text(loaded.columns()));
  EXPECT_EQ(test::slurp(folder / "drawn.csv"), test::slurp(folder / "whole.csv"));
}

// Half a second is too little for the networks of the discrete columns: they take fewer steps, and say so.
TEST(MixedFit, DiscreteColumnsKeepToTheTime) {
  const test::TemporaryFolder folder;
  test::spill(folder / "table.csv", mixed_csv(400));
  const auto fit = [&](double minutes, std::vector<std::string>& notes) {
    TableFitOptions o;
    o.settings = {"train.epochs=1"};
    o.samples = 100, o.judged = 1000, o.compare = o.refit = false, o.minutes = minutes;
    o.file.path = folder / "table.csv", o.file.kinds = "auto", o.file.missing = "keep";
    o.note = [&](const std::string& sentence) { notes.push_back(sentence); };
    return fit_table(o).model.config().train.state_steps;
  };
  const auto says = [](const std::vector<std::string>& notes) {
    return std::any_of(notes.begin(), notes.end(),
                       [](const std::string& n) { return n.starts_with("discrete columns: at most "); });
  };
  std::vector<std::string> hasty, leisurely;
  const int64_t few = fit(0.5 / 60, hasty);
  EXPECT_GE(few, 20);
  EXPECT_LT(few, 3000);
  EXPECT_TRUE(says(hasty));
  EXPECT_EQ(fit(1e6, leisurely), 0);
  EXPECT_FALSE(says(leisurely));
}

TEST(MixedFit, ATableOfPlainNumbersIsFittedAsBefore) {
  const test::TemporaryFolder folder;
  std::string text = "a,b\n";
  for (int i = 0; i < 300; ++i)
    text += fmt::format("{},{}\n", normal_quantile(Key(1).uniform(static_cast<uint64_t>(i))),
                        normal_quantile(Key(2).uniform(static_cast<uint64_t>(i))));
  test::spill(folder / "t.csv", text);
  TableFitOptions o;
  o.settings = {"train.epochs=2"};
  o.samples = 100, o.judged = 1000, o.compare = o.refit = false;
  o.file.path = folder / "t.csv";
  const TableFit plain = fit_table(o);
  o.file.kinds = "auto", o.file.missing = "keep";
  EXPECT_TRUE(fit_table(o).samples.equal(plain.samples));
}

}  // namespace
}  // namespace htfm
