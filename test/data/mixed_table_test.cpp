// Tables as they are: what columns are taken for, what is said, and what is refused in one line.
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/random.h"
#include "htfm/data/dataset.h"
#include "htfm/data/dates.h"
#include "htfm/data/number_text.h"
#include "htfm/data/table_transform.h"
#include "htfm/io/csv.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

Dataset read_mixed(const std::string& text, FileSpec spec = {}) {
  const test::TemporaryFolder folder;
  spec.path = folder / "table.csv";
  test::spill(spec.path, text);
  if (spec.kinds == "numbers") spec.kinds = "auto";
  if (spec.missing == "refuse") spec.missing = "keep";
  return file_dataset(spec);
}

std::string mixed_refusal(const std::string& text, const FileSpec& spec = {}) {
  try {
    read_mixed(text, spec);
  } catch (const InputError& e) {
    return e.what();
  }
  return "nothing was refused";
}

double value_at(const Dataset& data, int64_t row, int64_t column) {
  return data.rows.const_data_ptr<double>()[row * data.rows.size(1) + column];
}

bool says(const Dataset& data, const std::string& words) {
  for (const std::string& note : data.notes)
    if (note.find(words) != std::string::npos) return true;
  return false;
}

TEST(Dates, EveryFormGivesBackWhatItRead) {
  for (const DateForm& form : date_forms()) {
    const double unit = form.has_time() ? 86400 : 1;
    for (double day = -20000; day < 40000; day += 977) {
      // A form without days or years names the first of them.
      const std::string text = form.format(day * unit + (form.has_time() ? 12 * 3600 + 34 * 60 : 0));
      const std::optional<double> value = form.parse(text);
      ASSERT_TRUE(value) << form.pattern << ": " << text;
      EXPECT_EQ(form.format(*value), text);
      if (form.pattern == "Y-M-D") {
        EXPECT_EQ(*value, day);
      }
    }
  }
  EXPECT_EQ(DateForm{"Y-M-D"}.parse("1970-01-02"), 1);
  EXPECT_EQ(DateForm{"D.M.Y h:m"}.parse("1.2.1970 1:30"), 31 * 86400 + 5400);
  for (const char* wrong : {"2021-02-29", "2021-13-01", "2021-01-01x", "21-01-01", ""})
    EXPECT_FALSE(DateForm{"Y-M-D"}.parse(wrong)) << wrong;
  EXPECT_THROW(check_date_form("Y-Y", "--kind"), InputError);
  EXPECT_THROW(check_date_form("y-Y-M", "--kind"), InputError);
}

TEST(Dates, HalvesOfADayAndShortYears) {
  constexpr double kHour = 3600, kDay = 24 * kHour;
  const DateForm clock{"M/D/Y h:m p"};
  EXPECT_EQ(clock.parse("1/1/1970 12:30 AM"), kHour / 2);
  EXPECT_EQ(clock.parse("1/1/1970 12:30 pm"), 12.5 * kHour);
  EXPECT_EQ(clock.parse("1/2/1970 1:00 PM"), kDay + 13 * kHour);
  EXPECT_EQ(clock.format(12.5 * kHour), "01/01/1970 12:30 PM");
  EXPECT_FALSE(clock.parse("1/1/1970 13:00 PM"));
  EXPECT_FALSE(clock.parse("1/1/1970 0:00 AM"));
  const DateForm years{"D.M.y"};
  EXPECT_EQ(years.parse("1.1.70"), 0);
  EXPECT_EQ(years.parse("1.1.69"), -365);
  EXPECT_EQ(years.format(*years.parse("31.12.68")), "31.12.68");
  EXPECT_EQ(years.format(1e6), "31.12.68") << "no year beyond those that two digits name";
  EXPECT_FALSE(years.parse("1.1.1970"));
}

TEST(NumberText, ReadsWhatPeopleWrite) {
  const auto value = [](const char* text, char decimal) {
    const auto read = read_number_text(text, decimal);
    return read ? read->value : std::nan("");
  };
  EXPECT_EQ(value("1,234.5", '.'), 1234.5);
  EXPECT_EQ(value("1.234,5", ','), 1234.5);
  EXPECT_EQ(value("1 234 567", ','), 1234567);
  EXPECT_EQ(value("$1,200", '.'), 1200);
  EXPECT_EQ(value("-12,50 €", ','), -12.5);
  EXPECT_EQ(value("12 %", '.'), 12);
  EXPECT_EQ(value("(3.5)", '.'), -3.5);
  EXPECT_EQ(value("CHF 1'000.25", '.'), 1000.25);
  EXPECT_EQ(value("1.234,50-", ','), -1234.5);
  EXPECT_EQ(value("-$5", '.'), -5);
  for (const char* wrong : {"", "abc", "1,23.4", "12,34,5", "$", "1-2", "-5-", "-", "1.2.3,4,5"})
    EXPECT_TRUE(std::isnan(value(wrong, '.'))) << wrong;
}

TEST(MixedTable, TakesColumnsForWhatTheyAre) {
  std::string text = "id;region;day;paid;rate;open;x\n";
  for (int i = 0; i < 60; ++i)
    text +=
        fmt::format("{};{};{:02}.03.2021;1.{:03},5{};{} %;{};{}\n", 1000 + 7 * i, i % 3 ? "Süd" : "Nord", i % 28 + 1, i,
                    i % 2 ? "" : " €", i, i % 2 ? "yes" : "no", i % 5 ? std::to_string(0.5 * i * i) : "#N/A");
  const Dataset data = read_mixed(text);
  ASSERT_EQ(data.names, (std::vector<std::string>{"region", "day", "paid", "rate", "open", "x"}));
  EXPECT_TRUE(says(data, "id is different in every row, an identifier"));
  EXPECT_TRUE(says(data, "paid has numbers with a decimal comma, separators of thousands, the currency sign €"));
  EXPECT_TRUE(says(data, "rate has numbers with percent signs"));
  EXPECT_EQ(data.columns[0].categories, (std::vector<std::string>{"Nord", "Süd"}));
  EXPECT_EQ(value_at(data, 0, 0), 0);
  EXPECT_EQ(value_at(data, 1, 0), 1);
  EXPECT_EQ(data.columns[1].kind, ColumnKind::date);
  EXPECT_EQ(data.columns[1].text(value_at(data, 4, 1)), "05.03.2021");
  EXPECT_EQ(value_at(data, 3, 2), 1003.5);
  EXPECT_EQ(value_at(data, 9, 3), 9);
  EXPECT_EQ(data.columns[4].categories, (std::vector<std::string>{"no", "yes"}));
  EXPECT_TRUE(std::isnan(value_at(data, 5, 5)));
  EXPECT_EQ(data.columns[5].kind, ColumnKind::number);
}

TEST(MixedTable, DatesAsTheyWereWritten) {
  std::string text = "sas,long,us,number,month,stamp,y\n";
  const DateForm iso{"Y-M-D"}, sas{"DUY"}, full{"L D, Y"}, us{"M/D/y h:m p"}, plain{"YMD"}, month{"YM"},
      stamp{"YMDhms"};
  for (int i = 0; i < 60; ++i) {
    const double day = *iso.parse("2019-01-01") + 23 * i, second = day * 86400 + 12345 * i;
    text += fmt::format("{},\"{}\",{},{},{},{},{}\n", sas.format(day), full.format(day), us.format(second),
                        plain.format(day), month.format(day), stamp.format(second), 0.5 * i * i);
  }
  const Dataset data = read_mixed(text);
  const std::vector<std::string> forms = {"DUY", "L D, Y", "M/D/y h:m p", "YMD", "YM", "YMDhms"};
  for (size_t k = 0; k < forms.size(); ++k) {
    EXPECT_EQ(data.columns[k].kind, ColumnKind::date) << forms[k];
    EXPECT_EQ(data.columns[k].date_form, forms[k]);
  }
  EXPECT_EQ(data.columns[0].text(value_at(data, 0, 0)), "01JAN2019");
  EXPECT_EQ(data.columns[1].text(value_at(data, 59, 1)), "September 19, 2022");
  EXPECT_EQ(data.columns[3].text(value_at(data, 59, 3)), "20220919");
  EXPECT_EQ(data.columns[4].text(value_at(data, 59, 4)), "202209");
  EXPECT_TRUE(says(data, "us has years of two digits, which are read as 1969 to 2068"));
  EXPECT_TRUE(says(data, "number has dates as whole numbers, in the form YMD (--kind \"number=number\""));
  EXPECT_EQ(data.columns[6].kind, ColumnKind::number);
}

// As Python writes times with a zone: in summer the clock is an hour ahead.
TEST(MixedTable, TimesWithAnOffsetFromUtc) {
  const DateForm stamp{"Y-M-DTh:m:s"};
  std::string text = "berlin,delhi,utc,IDpol\n";
  for (int i = 0; i < 200; ++i) {
    const double second = 86400 * 18000.0 + 90061.0 * i;
    const bool summer = i >= 60 && i < 150;
    text +=
        fmt::format("{}{},{}+0530,{}+00:00,{}\n", stamp.format(second + (summer ? 7200 : 3600)),
                    summer ? "+02:00" : "+01:00", DateForm{"Y-M-D h:m"}.format(second), stamp.format(second), 7 * i);
  }
  const Dataset data = read_mixed(text);
  ASSERT_EQ(data.names, (std::vector<std::string>{"berlin", "delhi", "utc"})) << "IDpol is a key";
  for (const TableColumn& column : data.columns) EXPECT_EQ(column.kind, ColumnKind::date);
  EXPECT_EQ(data.columns[0].text(value_at(data, 70, 0)), data.columns[2].text(value_at(data, 70, 2)));
  EXPECT_EQ(value_at(data, 199, 0), 86400 * 18000.0 + 90061.0 * 199);
  EXPECT_EQ(data.columns[1].date_form, "Y-M-D h:m+0530") << "one offset: the time of its clock";
  EXPECT_TRUE(says(data, "berlin has times with several offsets from UTC (+01:00, +02:00)"));
  EXPECT_FALSE(says(data, "delhi"));
  for (const char* wrong :
       {"2020-01-01T00:00:00", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00+1", "2020-01-01T00:00:00+15:00"})
    EXPECT_FALSE(DateForm{"Y-M-DTh:m:sz"}.parse(wrong)) << wrong;
}

// Keys of studies and of customers; an amount that was paid differs in every row as well.
TEST(MixedTable, KeysOfPeopleAreIdentifiers) {
  std::string text = "uid,Subject,studyid,patientid,paid,bid,y\n";
  for (int i = 0; i < 60; ++i)
    text +=
        fmt::format("{},{},{},{},{},{},{}\n", 38145 + i, i + 1, 21 + 7 * i, 900 - i, 100 + 3 * i, 50 + i * i, 0.5 * i);
  EXPECT_EQ(read_mixed(text).names, (std::vector<std::string>{"paid", "bid", "y"}));
}

TEST(MixedTable, WholeNumbersThatAreNoDatesStayNumbers) {
  std::string text = "claim,month,y\n";
  for (int i = 0; i < 60; ++i) text += fmt::format("{},{},{}\n", 20200101 + i, 202001 + i, 0.5 * i * i);
  const Dataset data = read_mixed(text);
  EXPECT_EQ(data.columns[0].kind, ColumnKind::number) << "20200132 is no day";
  EXPECT_EQ(data.columns[1].kind, ColumnKind::number) << "202013 is no month";
  std::string days = "day,y\n";
  for (int i = 0; i < 60; ++i) days += fmt::format("{},{}\n", DateForm{"YMD"}.format(18000 + 9 * i), 0.5 * i * i);
  EXPECT_EQ(read_mixed(days, {.kinds = "auto,day=number"}).columns[0].kind, ColumnKind::number);
}

// A column of rates in float32, of which one occurs in a third of the rows: written with all its digits, since it would
// be another value otherwise.
TEST(MixedTable, NumbersThatOccurOftenAreWrittenAsTheyWere) {
  std::string text = "rate,y\n";
  const Key key(1);
  for (uint64_t i = 0; i < 900; ++i)
    text += fmt::format("{},{}\n", i % 3 == 0 ? 3.20000004768372 : 2 + 3 * key.uniform(i), 0.5 * key.uniform(i + 1000));
  const Dataset data = read_mixed(text);
  const TableTransform transform = TableTransform::fit("scores", data.rows, data.columns, {}, key, true);
  EXPECT_EQ(transform.digits()[0], 15);
  EXPECT_LE(transform.digits()[1], 10);
  at::Tensor z = at::empty({900, transform.dim()}, at::kDouble);
  fill_normal(key, 0, z.numel(), z.mutable_data_ptr<double>());
  const at::Tensor drawn = transform.invert(z, key);
  const std::string written = format_csv(drawn, {"rate", "y"}, transform.digits());
  int64_t same = 0;
  for (size_t at = written.find("\n3.20000004768372,"); at != std::string::npos;
       at = written.find("\n3.20000004768372,", at + 1))
    ++same;
  EXPECT_NEAR(static_cast<double>(same), 300, 4 * std::sqrt(200));
}

TEST(MixedTable, TheUserOverrules) {
  std::string text = "zip,grade,n\n";
  for (int i = 0; i < 40; ++i) text += fmt::format("{:05},{},{}\n", 1000 + i % 4, i % 2 ? "low" : "high", i % 3);
  const Dataset data = read_mixed(text, {.kinds = "auto,grade=ordered:low|high,n=category"});
  EXPECT_EQ(data.columns[0].categories.front(), "01000") << "a code keeps its zeros";
  EXPECT_TRUE(data.columns[1].ordered);
  EXPECT_EQ(value_at(data, 0, 1), 1) << "high comes after low";
  EXPECT_EQ(data.columns[2].categories, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_NE(mixed_refusal(text, {.kinds = "auto,grade=ordered:low|mid"})
                .find("row 2, grade: expected one of low, mid, got 'high'"),
            std::string::npos);
  const test::TemporaryFolder folder;
  const std::string order = folder / "grades.txt", kinds = "auto,grade=ordered:@" + order;
  test::spill(order, "low, or none\r\n\n  low\r\nhigh\n");  // as `ordered:` alone cannot name it
  const Dataset listed = read_mixed(text, {.kinds = kinds});
  EXPECT_EQ(listed.columns[1].categories, (std::vector<std::string>{"low, or none", "low", "high"}));
  EXPECT_TRUE(listed.columns[1].ordered);
  EXPECT_EQ(value_at(listed, 0, 1), 2);
  test::spill(order, "low\nhigh\nlow\n");
  EXPECT_NE(mixed_refusal(text, {.kinds = kinds}).find("expected each category once, got 'low' twice"),
            std::string::npos);
  test::spill(order, "\n");
  EXPECT_NE(mixed_refusal(text, {.kinds = kinds}).find("expected categories, one a line, got none"), std::string::npos);
  EXPECT_NE(mixed_refusal(text, {.kinds = kinds + "x"}).find("grades.txtx"), std::string::npos);
  EXPECT_NE(mixed_refusal(text, {.kinds = "auto,colour=category"}).find("expected a column"), std::string::npos);
  EXPECT_NE(mixed_refusal(text, {.kinds = "auto,n=colour"}).find("expected column=number, category"),
            std::string::npos);
}

TEST(MixedTable, AStrayTextIsRefusedWithItsRow) {
  std::string numbers = "x,y\n", days = "day,y\n";
  for (int i = 0; i < 50; ++i) {
    numbers += fmt::format("{},{}\n", i == 30 ? "12o" : std::to_string(100 + i), i);
    days += fmt::format("{},{}\n", i == 30 ? "soon" : fmt::format("2020-01-{:02}", i % 28 + 1), i);
  }
  EXPECT_NE(mixed_refusal(numbers).find("row 32, x: expected a number, as in 49 other rows, got '12o'"),
            std::string::npos)
      << mixed_refusal(numbers);
  EXPECT_NE(mixed_refusal(days).find("row 32, day: expected a date of the form Y-M-D"), std::string::npos)
      << mixed_refusal(days);
  EXPECT_EQ(mixed_refusal(numbers).find('\n'), std::string::npos);
}

TEST(MixedTable, ARowOfDataIsNoHeader) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += fmt::format("{},{}\n", i % 2 ? "a" : "b", 1.5 * i);
  const Dataset data = read_mixed(text);
  EXPECT_EQ(data.rows.size(0), 20);
  EXPECT_TRUE(data.names.empty());
}

TEST(MixedTable, DaysAreTheOrderOfReturns) {
  std::string text = "day,price\n";
  for (int i = 0; i < 10; ++i) text += fmt::format("2020-01-{:02},{}\n", 20 - i, std::pow(2.0, 10 - i));
  const Dataset data = read_mixed(text, {.log_returns = true});
  ASSERT_EQ(data.rows.size(1), 1);
  for (int i = 0; i < 9; ++i) EXPECT_NEAR(value_at(data, i, 0), std::log(2.0), 1e-12) << "forwards in time";
  EXPECT_TRUE(says(data, "day is the order of the rows"));
}

TEST(MixedTable, ConstraintsAreReadAndChecked) {
  const std::vector<std::string> names{"paid", "incurred", "tax-rate", "total"};
  const auto list = parse_constraints("paid <= incurred; total = paid + \"tax-rate\" - 2; tax-rate >= 0", names);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].sense, Constraint::Sense::at_most);
  EXPECT_EQ(list[1].terms, (std::vector<Constraint::Term>{{0, 1}, {2, 1}}));
  EXPECT_EQ(list[1].constant, -2);
  EXPECT_EQ(list[2].column, 2);
  for (const char* wrong : {"paid", "paid <= ", "paid <= colour", "paid + total <= incurred + paid", "1 <= 2"})
    EXPECT_THROW(parse_constraints(wrong, names), InputError) << wrong;
}

// Whole days between two dates, and a limit with more decimals than what it bounds.
TEST(MixedTable, StrictConstraintsPartTheTwoSides) {
  const Key key(4);
  std::string text = "start,end,n,most\n";
  const DateForm iso{"Y-M-D"};
  for (uint64_t i = 0; i < 300; ++i) {
    const double start = 18000 + static_cast<double>(key.child("start").below(400, i));
    const auto n = static_cast<int64_t>(key.child("n").below(50, i));
    text += fmt::format("{},{},{},{:.2f}\n", iso.format(start),
                        iso.format(start + 1 + static_cast<double>(key.child("stay").below(9, i))), n,
                        static_cast<double>(n) + 0.01 + 2 * key.child("most").uniform(i));
  }
  const Dataset data = read_mixed(text);
  const auto list = parse_constraints("start < end; most > n", data.names);
  const Key draw = key.child("draw");
  const TableTransform transform = TableTransform::fit("scores", data.rows, data.columns, list, key, true);
  at::Tensor z = at::empty({5000, transform.dim()}, at::kDouble);
  fill_normal(draw, 0, z.numel(), z.mutable_data_ptr<double>());
  const at::Tensor drawn = transform.invert(z, draw);
  const double* x = drawn.const_data_ptr<double>();
  for (int64_t i = 0; i < drawn.size(0); ++i, x += drawn.size(1)) {
    EXPECT_LT(x[0], x[1]) << i;
    EXPECT_LT(x[2], x[3]) << i;
    EXPECT_EQ(x[2], std::round(x[2])) << i;
  }
  EXPECT_NO_THROW(
      TableTransform::fit("scores", data.rows, data.columns, parse_constraints("start <= end", data.names), key, true));
  at::Tensor touching = data.rows.clone();
  touching.mutable_data_ptr<double>()[1] = touching.const_data_ptr<double>()[0];
  std::string message;
  try {
    TableTransform::fit("scores", touching, data.columns, list, key, true);
  } catch (const InputError& e) {
    message = e.what();
  }
  const std::string day = iso.format(touching.const_data_ptr<double>()[0]);
  EXPECT_EQ(message, fmt::format("[constraint] expected every row to satisfy start < end, got {0} against {0} in row 1 "
                                 "of the data",
                                 day));
}

}  // namespace
}  // namespace htfm
