#include "htfm/rare/expression.h"

#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"

namespace htfm {
namespace {

RowNames table() {
  RowNames names;
  names.columns = {"loss", "region_a", "b", "wind speed"}, names.count = 4;
  names.size = [](std::span<const double> row) { return std::hypot(row[0], row[1]); };
  return names;
}

const std::vector<double> kRow{6, -2, 3, 0.5};

double number(const std::string& text) { return Expression(text, table(), "where").number(kRow); }
bool holds(const std::string& text) { return Expression(text, table(), "where").truth(kRow).holds; }

std::string refusal(const std::string& text, const RowNames& names = table()) {
  try {
    const Expression e(text, names, "where");
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(Expression, CountsAsOneWritesIt) {
  EXPECT_DOUBLE_EQ(number("1 + 2*3 - 4/8"), 6.5);
  EXPECT_DOUBLE_EQ(number("-(loss - b) * 2e0"), -6);
  EXPECT_DOUBLE_EQ(number("2 - -region_a"), 0);
  EXPECT_DOUBLE_EQ(number("abs(region_a) + max(loss, b, 7) - min(b, 1.5)"), 7.5);
  EXPECT_DOUBLE_EQ(number("[wind speed] * column(1)"), 3);
  EXPECT_DOUBLE_EQ(number("size"), std::hypot(6, 2));
}

TEST(Expression, JoinsConditions) {
  EXPECT_TRUE(holds("loss > 5 and region_a < 0"));
  EXPECT_FALSE(holds("loss > 5 and not region_a < 0"));
  EXPECT_TRUE(holds("loss > 9 or b >= 3 and b <= 3"));  // and binds closer
  EXPECT_FALSE(holds("(loss > 9 or b >= 3) and b < 3"));
  EXPECT_TRUE(holds("0 < b < loss"));
  EXPECT_TRUE(holds("b == 3 and b != 4"));
  EXPECT_FALSE(holds("loss > 6"));
  EXPECT_TRUE(holds("not (loss > 6)"));
}

// Of every condition the margin is positive where it holds by more than equality, and negative where it fails.
TEST(Expression, MarginsHaveTheSignOfTheTruth) {
  for (const char* text : {"loss > 5", "loss < 5", "loss > 5 and b > 4", "loss > 5 or b > 4", "not loss > 5", "b != 4",
                           "1 < b < 2", "not (b > 4 or loss < 1)"}) {
    const Truth truth = Expression(text, table(), "where").truth(kRow);
    EXPECT_EQ(truth.holds, truth.margin > 0) << text;
  }
}

TEST(Expression, MarginsAreMeasuredBySpreads) {
  Expression e("loss > 1000 and b > 3", table(), "where");
  std::vector<double> rows;
  for (int i = 0; i < 101; ++i) rows.insert(rows.end(), {100.0 * i, 0, 0.1 * i, 0});
  e.set_spreads(rows);
  // 1000 spreads of 100 below one threshold and of 0.1 below the other are alike.
  const std::vector<double> first{0, 0, 10, 0}, second{2000, 0, 2, 0};
  EXPECT_NEAR(e.truth(first).margin, e.truth(second).margin, 1e-9);
}

TEST(Expression, PointsAtWhatItCannotRead) {
  EXPECT_EQ(refusal("loss > and b"),
            "[where] expected a number or a column at character 8 of 'loss > and b', got 'and'");
  EXPECT_EQ(refusal("los > 3"),
            "[where] expected a column or size at character 1 of 'los > 3', got 'los' (did you mean loss?)");
  EXPECT_EQ(refusal("(b > 3"), "[where] expected ')' at character 7 of '(b > 3', got its end");
  EXPECT_EQ(refusal("b = 3"), "[where] expected == for a comparison at character 3 of 'b = 3', got '='");
  EXPECT_EQ(refusal("b > 3 loss < 2"),
            "[where] expected an operator or the end at character 7 of 'b > 3 loss < 2', got 'loss'");
  EXPECT_EQ(refusal("b > 3 and loss"),
            "[where] expected a comparison, such as a > 1, at character 11 of 'b > 3 and loss', got a number");
  EXPECT_EQ(refusal("1 + (b > 3)"), "[where] expected a number at character 8 of '1 + (b > 3)', got a condition");
  EXPECT_EQ(refusal("column(5) > 0"),
            "[where] expected the number of a column from 1 to 4 at character 8 of 'column(5) > 0', got '5'");
  for (const char* text : {"", "3x > 1", "sin(b) > 1", "b > 1 &", "[b > 1", "min() > 1", "max > 1", "not", "1e999 > b"})
    EXPECT_NE(refusal(text), "") << text;
  EXPECT_NE(refusal(std::string(100000, '(')), "");
}

TEST(Expression, ComparesCategoriesAndDatesWithTexts) {
  RowNames names;
  names.columns = {"region", "grade", "day", "loss"}, names.count = 4;
  names.kinds.resize(4);
  names.kinds[0].kind = ColumnKind::category, names.kinds[0].categories = {"north", "south"};
  names.kinds[1].kind = ColumnKind::category, names.kinds[1].categories = {"low", "mid", "high"};
  names.kinds[1].ordered = true;
  names.kinds[2].kind = ColumnKind::date, names.kinds[2].date_form = "D.M.Y";
  const std::vector<double> row{1, 1, 31, std::nan("")};  // the last one is missing
  const auto truth = [&](const std::string& text) { return Expression(text, names, "where").truth(row).holds; };
  EXPECT_TRUE(truth("region == 'south' and 'north' != region"));
  EXPECT_TRUE(truth("grade >= \"mid\" and grade < 'high'"));
  EXPECT_TRUE(truth("day == '1.2.1970' and day > '1970-01-31'"));
  EXPECT_FALSE(truth("loss > 0 or loss <= 0 or loss != 0"));
  EXPECT_NE(refusal("region == 'nort'", names).find("did you mean north?"), std::string::npos);
  for (const char* text : {"region > 'north'", "loss == 'north'", "'north' == 'north'", "region == 'north", "'north'",
                           "day < 'soon'", "'a' + 1 > 2", "not 'a'"})
    EXPECT_NE(refusal(text, names), "") << text;
}

TEST(Expression, KnowsFieldsAndImages) {
  RowNames names;
  names.image = ImageShape{2, 2, 3}, names.count = 12;
  std::vector<double> row;
  for (int i = 0; i < 12; ++i) row.push_back(i);
  EXPECT_EQ(Expression("max - min", names, "where").number(row), 11);
  EXPECT_EQ(Expression("mean", names, "where").number(row), 5.5);
  EXPECT_EQ(Expression("pixel(2, 1, 0)", names, "where").number(row), 9);
  EXPECT_EQ(Expression("max(mean, 7)", names, "where").number(row), 7);
  EXPECT_NE(refusal("pixel(2, 2, 0) > 1", names), "");
  EXPECT_NE(refusal("pixel(1, 0) > 1", names), "");
}

}  // namespace
}  // namespace htfm
