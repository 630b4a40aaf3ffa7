#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/data/dataset.h"
#include "htfm/data/table_transform.h"
#include "htfm/io/file.h"
#include "htfm/stat/scatter.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

TEST(Synthetic, EverySetIsFiniteSeededAndOfItsSize) {
  for (const SyntheticInfo& set : synthetic_sets()) {
    const at::Tensor a = draw_synthetic(Key(1), {set.name, 1.5}, 1001),
                     b = draw_synthetic(Key(1), {set.name, 1.5}, 1001);
    ASSERT_EQ(a.size(0), 1001);
    ASSERT_EQ(a.size(1), 2);
    EXPECT_TRUE(a.equal(b)) << set.name;
    EXPECT_FALSE(a.equal(draw_synthetic(Key(2), {set.name, 1.5}, 1001))) << set.name;
    for (int64_t i = 0; i < a.numel(); ++i) ASSERT_TRUE(std::isfinite(a.const_data_ptr<double>()[i])) << set.name;
  }
}

// Every component has its whole count: weights 18, 8, 14, 6, 9, 10, 16, 7, 12 per cent, in the order of the grid.
// Components of scale 0.01 would be exact; at scale 0.1 a point leaves its cell with probability below P(stable > 10) <
// 2 %.
TEST(Synthetic, MixtureHasItsCountsOnTheGrid) {
  const int64_t n = 10000;
  const at::Tensor x = draw_synthetic(Key(3), {"mixture2d", 2.0}, n);
  int64_t count[9] = {};
  for (int64_t i = 0; i < n; ++i) {
    const double* r = x.const_data_ptr<double>() + 2 * i;
    const int64_t a = std::clamp<int64_t>(std::llround(r[0] / 2) + 1, 0, 2),
                  b = std::clamp<int64_t>(std::llround(r[1] / 2) + 1, 0, 2);
    ++count[3 * a + b];
  }
  const int64_t expected[9] = {1800, 800, 1400, 600, 900, 1000, 1600, 700, 1200};
  for (int k = 0; k < 9; ++k)
    EXPECT_EQ(count[k], expected[k]) << k;  // Gaussian components of deviation 0.14: 7 deviations to the border
}

// E cos(<xi, x - m>) = exp(-|0.1 xi|^alpha) for the component; tested on points near no border by subtracting the
// nearest mean is biased, so the characteristic function of the whole mixture is used: sum_k w_k cos(<xi, m_k>)
// exp(-|0.1 xi|^alpha).
TEST(Synthetic, MixtureCharacteristicFunction) {
  constexpr double w[9] = {0.18, 0.08, 0.14, 0.06, 0.09, 0.10, 0.16, 0.07, 0.12};
  for (const double alpha : {0.7, 1.5, 1.8}) {
    const int64_t n = 200000;
    const at::Tensor x = draw_synthetic(Key(11), {"mixture2d", alpha}, n);
    for (const auto& xi : {std::array<double, 2>{0.5, 0.2}, {3, -1}, {10, 4}, {0, 12}}) {
      double mean = 0, square = 0, exact = 0;
      for (int64_t i = 0; i < n; ++i) {
        const double c =
            std::cos(xi[0] * x.const_data_ptr<double>()[2 * i] + xi[1] * x.const_data_ptr<double>()[2 * i + 1]);
        mean += c / n, square += c * c / n;
      }
      for (int k = 0; k < 9; ++k) {
        const int column = k / 3, line = k % 3;
        exact += w[k] * std::cos(xi[0] * (2 * column - 2) + xi[1] * (2 * line - 2)) *
                 std::exp(-std::pow(0.1 * std::hypot(xi[0], xi[1]), alpha));
      }
      EXPECT_NEAR(mean, exact, 4 * std::sqrt((square - mean * mean) / n)) << alpha;
    }
  }
}

// Squared Mahalanobis distance over the dimension is F distributed: its median, and the share beyond a far point, are
// known for dim = 2.
TEST(Synthetic, StudentHasItsTail) {
  const int64_t n = 200000;
  const at::Tensor x = draw_synthetic(Key(3), {"student", 1.5, 2, 3.0}, n);
  const double* p = x.const_data_ptr<double>();
  int64_t far = 0;
  for (int64_t i = 0; i < n; ++i) {
    // Deviations 0.5 and 2, correlation 0.7.
    const double a = p[2 * i] / 0.5, b = p[2 * i + 1] / 2, square = (a * a - 1.4 * a * b + b * b) / (1 - 0.49);
    if (square > 30) ++far;
  }
  const double share = std::pow(1 + 30 / 3.0, -1.5);
  EXPECT_NEAR(static_cast<double>(far) / n, share, 4 * std::sqrt(share / n));
}

TEST(Synthetic, ClustersHaveTheirShares) {
  const int64_t n = 100000;
  const at::Tensor x = draw_synthetic(Key(3), {"clusters", 1.5, 16, 8.0}, n);
  ASSERT_EQ(x.size(1), 16);
  const double first = x.narrow(1, 0, 1).lt(0).to(at::kDouble).mean().item<double>();
  // P(x < 0) with Student-t 8 about -2 (scale 1) and +2 (scale 1/2).
  EXPECT_NEAR(first, 0.7 * (1 - 0.04026) + 0.3 * 0.00197, 0.006);
}

TEST(Synthetic, BadNamesAndParametersAreRefused) {
  EXPECT_THROW(draw_synthetic(Key(1), {"mixture3d", 1.5}, 10), InputError);
  EXPECT_THROW(draw_synthetic(Key(1), {"mixture2d", 2.5}, 10), InputError);
  EXPECT_THROW(draw_synthetic(Key(1), {"rings", 1.5}, 0), InputError);
}

TEST(TableTransform, InvertsItself) {
  const at::Tensor x = draw_synthetic(Key(1), {"mixture2d", 1.5}, 500);
  for (const char* kind : {"none", "zscore", "robust", "table"}) {
    const TableTransform n = TableTransform::fit(kind, x, Key(2));
    const at::Tensor y = n.invert(n.apply(x, Key(2)).to(at::kDouble));
    for (int64_t i = 0; i < x.numel(); ++i)
      ASSERT_NEAR(y.const_data_ptr<double>()[i], x.const_data_ptr<double>()[i],
                  1e-6 * (1 + std::abs(x.const_data_ptr<double>()[i])))
          << kind;
  }
  EXPECT_THROW(TableTransform::fit("minmax", x, Key(2)), InputError);
}

class Csv {
 public:
  explicit Csv(const std::string& text) : path_(folder_ / "data.csv") { atomic_write(path_, text); }
  const std::string& path() const { return path_; }

 private:
  test::TemporaryFolder folder_;
  std::string path_;
};

std::string refusal(const FileSpec& spec) {
  try {
    file_dataset(spec);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

// Whitened, elliptical data have unit scatter; the way back is exact.
TEST(TableTransform, WhitensAndInverts) {
  const at::Tensor x = draw_synthetic(Key(5), {"student", 1.5, 6, 3.0}, 20000);
  const TableTransform t = TableTransform::fit("robust", x, Key(1), true);
  const at::Tensor y = t.apply(x, Key(1));
  const at::Tensor scatter = robust_scatter(y, median_centre(y));
  EXPECT_LT(scatter.sub(at::eye(6, at::kDouble)).abs().max().item<double>(), 0.06);
  const at::Tensor back = t.invert(y.to(at::kDouble));
  EXPECT_LT(back.sub(x).abs().div(x.abs().add(1)).max().item<double>(), 1e-4);
  std::map<std::string, at::Tensor> kept;
  t.save_state(kept);
  EXPECT_TRUE(TableTransform::load_state(kept, "test").apply(x, Key(1)).equal(y));
}

// A light and a bounded column beside a heavy one: all come to one index, and back to what they were.
TEST(TableTransform, BringsTailsToOneIndex) {
  const int64_t n = 4000;
  at::Tensor x = at::empty({n, 3}, at::kDouble);
  double* p = x.mutable_data_ptr<double>();
  std::vector<double> light(n);
  fill_normal(Key(7), 0, n, light.data());
  for (int64_t i = 0; i < n; ++i) {
    p[3 * i] = std::pow(Key(8).uniform(static_cast<uint64_t>(i)), -0.5);
    p[3 * i + 1] = 8 + light[i];
    p[3 * i + 2] = Key(9).uniform(static_cast<uint64_t>(i)) - 0.5;
  }
  const TableTransform t = TableTransform::fit("table", x, Key(1), true, 2);
  EXPECT_EQ(t.levelled(), 4) << t.describe(0) << "; " << t.describe(1) << "; " << t.describe(2);
  EXPECT_EQ(t.describe(0).find("tail of its own"), std::string::npos) << "it has that index already";
  const at::Tensor y = t.apply(x, Key(1));
  EXPECT_LT(t.invert(y.to(at::kDouble)).sub(x).abs().div(x.abs().add(1)).max().item<double>(), 1e-4);
  std::map<std::string, at::Tensor> kept;
  t.save_state(kept);
  EXPECT_TRUE(TableTransform::load_state(kept, "test").apply(x, Key(1)).equal(y));
  // Far out in the model's units the light columns stay near the data.
  const at::Tensor far = t.invert(y.mul(100).to(at::kDouble));
  EXPECT_LT(far.select(1, 2).abs().max().item<double>(), 0.7);
  EXPECT_LT(far.select(1, 1).max().item<double>(), 18);
  EXPECT_GT(far.select(1, 1).min().item<double>(), 0);
  EXPECT_GT(far.select(1, 0).max().item<double>(), 1000);
}

TEST(Dataset, ColumnsOfATable) {
  const Csv csv("a,b,c\n1,2,3\n4,5,6\n");
  const Dataset d = file_dataset({.path = csv.path(), .columns = "c,a"});
  EXPECT_EQ(d.names, (std::vector<std::string>{"c", "a"}));
  EXPECT_EQ(d.rows.const_data_ptr<double>()[0], 3);
  EXPECT_EQ(d.rows.const_data_ptr<double>()[3], 4);
  EXPECT_EQ(file_dataset({.path = csv.path(), .drop = "b"}).names, (std::vector<std::string>{"a", "c"}));
  EXPECT_THROW(file_dataset({.path = csv.path(), .columns = "d"}), InputError);
}

TEST(Dataset, MissingValuesAreDroppedWithCountsOrRefused) {
  const Csv csv("a,b,c\n1,,3\n4,5,6\nNA,,9\n7,8,9\n");
  EXPECT_NE(refusal({.path = csv.path()}).find("row 2, column 2 (b)"), std::string::npos);
  const Dataset d = file_dataset({.path = csv.path(), .missing = "drop"});
  EXPECT_EQ(d.rows.size(0), 2);
  EXPECT_EQ(d.rows.const_data_ptr<double>()[3], 7);
  EXPECT_EQ(d.notes, (std::vector<std::string>{"2 of 4 rows left out for missing values (a 1, b 2)"}));
  const Csv none("a,b\n1,NA\n2,NA\n");
  EXPECT_NE(refusal({.path = none.path(), .missing = "drop"}).find("b: expected numbers, got only missing values"),
            std::string::npos);
  const Csv no_row("a,b\n1,NA\nNA,2\n");
  EXPECT_NE(refusal({.path = no_row.path(), .missing = "drop"}).find("expected a row without missing values, got none"),
            std::string::npos);
}

TEST(Dataset, SeparatorsAtTheEndOfLinesMakeNoColumn) {
  for (const char* text : {"a,b,\n1,2,\n3,4,\n", "1,2,\n3,4,\n"}) {
    const Csv csv(text);
    const Dataset d = file_dataset({.path = csv.path(), .missing = "drop"});
    EXPECT_EQ(d.rows.sizes(), (at::IntArrayRef{2, 2})) << text;
    EXPECT_EQ(d.notes, (std::vector<std::string>{"a column without name and values left out"}));
    EXPECT_THROW(file_dataset({.path = csv.path()}), InputError) << "strict reading takes nothing for granted";
  }
}

TEST(Dataset, RowNumbersAreLeftOut) {
  for (const char* head : {"rownames,x", ",x", "Unnamed: 0,x", "ID,x"}) {
    const Csv csv(std::string(head) + "\n1,5\n2,6\n3,9\n");
    const Dataset d = file_dataset({.path = csv.path()});
    EXPECT_EQ(d.names, (std::vector<std::string>{"x"})) << head;
    ASSERT_EQ(d.notes.size(), 1u);
    EXPECT_EQ(file_dataset({.path = csv.path(), .columns = "1,2"}).rows.size(1), 2) << "chosen columns stay";
  }
  // Another name, other numbers, or nothing else: data.
  for (const char* text : {"age,x\n1,5\n2,6\n3,9\n", "id,x\n1,5\n2,6\n4,9\n", "id\n1\n2\n3\n"}) {
    const Csv csv(text);
    EXPECT_TRUE(file_dataset({.path = csv.path()}).notes.empty()) << text;
  }
}

TEST(Dataset, LogReturns) {
  const Csv csv("p\n1\n2\n1\n");
  const Dataset d = file_dataset({.path = csv.path(), .log_returns = true});
  ASSERT_EQ(d.rows.size(0), 2);
  EXPECT_DOUBLE_EQ(d.rows.const_data_ptr<double>()[0], std::log(2));
  EXPECT_DOUBLE_EQ(d.rows.const_data_ptr<double>()[1], -std::log(2));
  const Csv bad("p\n1\n-2\n1\n");
  EXPECT_NE(refusal({.path = bad.path(), .log_returns = true})
                .find("row 2, p: expected a positive number for log-returns, got -2"),
            std::string::npos);
}

TEST(Dataset, RowsAtHandAreReadAsAFileIs) {
  const Csv csv("a,b,c\n1,2,5\n3,4,5\n4,9,7\n");
  const at::Tensor rows = file_dataset({.path = csv.path()}).rows;
  const Dataset whole = rows_dataset(rows, {"a", "b", "c"}, {.path = "rows"});
  EXPECT_EQ(whole.rows.const_data_ptr(), rows.const_data_ptr());  // nothing is copied
  EXPECT_EQ(whole.hash, file_dataset({.path = csv.path()}).hash);
  const Dataset part = rows_dataset(rows, {"a", "b", "c"}, {.path = "rows", .columns = "c,a", .log_returns = true});
  EXPECT_TRUE(part.rows.equal(file_dataset({.path = csv.path(), .columns = "c,a", .log_returns = true}).rows));
  EXPECT_EQ(part.names, (std::vector<std::string>{"c", "a"}));

  at::Tensor holes = rows.clone();
  holes.mutable_data_ptr<double>()[4] = std::nan("");
  const auto refused = [](const at::Tensor& x, const FileSpec& spec) -> std::string {
    try {
      (void)rows_dataset(x, {"a", "b", "c"}, spec);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(refused(holes, {.path = "rows"}).find("rows: row 2, b: expected a finite number, got nan"),
            std::string::npos);
  EXPECT_EQ(rows_dataset(holes, {"a", "b", "c"}, {.path = "rows", .missing = "drop"}).rows.size(0), 2);
  EXPECT_TRUE(std::isnan(holes.const_data_ptr<double>()[4]));  // the caller's rows stay as they are
  EXPECT_NE(refused(rows.to(at::kLong), {.path = "rows"}), "");
  EXPECT_NE(refused(rows.select(0, 0), {.path = "rows"}), "");
}

// Prices from the newest to the oldest: a rise stays a rise.
TEST(Dataset, LogReturnsOfAFileThatRunsBackwardsInTime) {
  const Csv backwards("Date,p\n2020-01-03,4\n2020-01-02,2\n2020-01-01,1\n");
  const Dataset d = file_dataset({.path = backwards.path(), .drop = "Date", .log_returns = true});
  ASSERT_EQ(d.rows.size(0), 2);
  EXPECT_DOUBLE_EQ(d.rows.const_data_ptr<double>()[0], std::log(2));
  EXPECT_DOUBLE_EQ(d.rows.const_data_ptr<double>()[1], std::log(2));
  ASSERT_EQ(d.notes.size(), 1u);
  EXPECT_NE(d.notes[0].find("by Date the file runs backwards in time"), std::string::npos) << d.notes[0];
  const Csv mixed("Date,p\n2020-01-03,4\n2020-01-02,2\n2020-01-04,1\n");
  EXPECT_NE(refusal({.path = mixed.path(), .drop = "Date", .log_returns = true}).find("sort the file"),
            std::string::npos);
}

TEST(TableTransform, RefusesWhatFloat32DoesNotHold) {
  at::Tensor rows = at::empty({50, 2}, at::kDouble);
  for (int64_t i = 0; i < 100; ++i) rows.mutable_data_ptr<double>()[i] = std::sin(static_cast<double>(i * i));
  rows.mutable_data_ptr<double>()[15] = 1e300;
  for (const char* kind : {"none", "robust", "zscore", "table"})
    EXPECT_THROW(TableTransform::fit(kind, rows, Key(1)).apply(rows, Key(1)), InputError) << kind;
  rows.mutable_data_ptr<double>()[15] = 1e40;
  for (const char* kind : {"none", "robust", "table"})
    EXPECT_THROW(TableTransform::fit(kind, rows, Key(1)).apply(rows, Key(1)), InputError) << kind;
  rows.mutable_data_ptr<double>()[15] = 1e30;
  EXPECT_NO_THROW(TableTransform::fit("none", rows, Key(1)).apply(rows, Key(1)));
}

TEST(Dataset, SplitKeepsEveryRowOnce) {
  const Dataset all = synthetic_dataset(Key(1), {"rings", 1.5}, 1000);
  const auto [train, apart] = split_rows(all, 0.3, Key(5));
  EXPECT_EQ(train.rows.size(0), 700);
  EXPECT_EQ(apart.rows.size(0), 300);
  double total = 0, parts = 0;
  for (int64_t i = 0; i < 2000; ++i) total += all.rows.const_data_ptr<double>()[i];
  for (int64_t i = 0; i < 1400; ++i) parts += train.rows.const_data_ptr<double>()[i];
  for (int64_t i = 0; i < 600; ++i) parts += apart.rows.const_data_ptr<double>()[i];
  EXPECT_NEAR(total, parts, 1e-9);
  EXPECT_TRUE(split_rows(all, 0.3, Key(5)).first.rows.equal(train.rows));
  EXPECT_TRUE(split_rows(all, 0, Key(5)).first.rows.equal(all.rows));
  const Dataset some = some_rows(all, 7, Key(5));
  EXPECT_EQ(some.rows.size(0), 7);
  EXPECT_NE(some.hash, all.hash);
  EXPECT_TRUE(some_rows(all, all.rows.size(0), Key(5)).rows.equal(all.rows));
}

}  // namespace
}  // namespace htfm
