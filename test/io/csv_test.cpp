#include "htfm/io/csv.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <cstring>
#include <utility>

#include "htfm/base/random.h"
#include "htfm/io/npy.h"
#include "htfm/io/table.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using test::input_error;
using test::TemporaryFolder;
using Names = std::vector<std::string>;

Table parse(std::string_view text, const ColumnChoice& choice = {}) { return parse_csv(text, "t.csv", choice); }

std::string refusal(std::string_view text, const ColumnChoice& choice = {}) {
  return input_error([&] { parse(text, choice); });
}

void expect_rows(const Table& table, const std::vector<std::vector<double>>& rows) {
  ASSERT_EQ(table.values.dim(), 2);
  ASSERT_EQ(table.values.scalar_type(), at::kDouble);
  ASSERT_EQ(table.values.size(0), static_cast<int64_t>(rows.size()));
  ASSERT_EQ(table.values.size(1), static_cast<int64_t>(rows[0].size()));
  const double* values = table.values.const_data_ptr<double>();
  for (const auto& row : rows) {
    for (const double expected : row) EXPECT_EQ(*values++, expected);
  }
}

TEST(Csv, ReadsPlainTables) {
  expect_rows(parse("1,2\n3,4\n"), {{1, 2}, {3, 4}});
  expect_rows(parse("1,2\n3,4"), {{1, 2}, {3, 4}});
  expect_rows(parse("7"), {{7}});
  expect_rows(parse("1\n2\n3\n"), {{1}, {2}, {3}});
  EXPECT_TRUE(parse("1,2\n").names.empty());
}

TEST(Csv, ReadsNumbersInEveryForm) {
  expect_rows(parse("-1.5,+2,.5,5.,1e3,1E-2,-0,1e-400,4.9e-324"), {{-1.5, 2, 0.5, 5, 1000, 0.01, -0.0, 0, 4.9e-324}});
  expect_rows(parse(" 1 ,  2  , 3\n"), {{1, 2, 3}});
  expect_rows(parse("0.1,123456789.123456789"), {{0.1, 123456789.123456789}});
}

TEST(Csv, SeparatorsThatExportsHave) {
  expect_rows(parse("sep=;\r\nx;y\r\n1;2\r\n"), {{1, 2}});
  expect_rows(parse("sep=#\n1#2\n3#4\n"), {{1, 2}, {3, 4}});
  EXPECT_MENTIONS(refusal("sep=;\n1;2\n3;x\n"), "row 3, column 2: expected a number");
  expect_rows(parse("x|y\n1|2\n"), {{1, 2}});
  EXPECT_EQ(parse("a|b,c\n1,2\n").names, (Names{"a|b", "c"})) << "a comma comes before a bar";
}

TEST(Csv, SaysWhatIsAboveOrBelowTheTable) {
  const auto refusal_of_texts = [](std::string_view text) {
    return input_error([&] { parse_csv(text, "t.csv", {}, {.lenient = true, .texts = true}); });
  };
  EXPECT_MENTIONS(refusal_of_texts("Claims of 2024\nx,y\n1,2\n"),
                  "row 2: expected 1 columns, got 2 (the names of the columns in the first row, without titles");
  EXPECT_MENTIONS(refusal_of_texts("x,y\n1,2\ntotal\n"), "row 3: expected 2 columns, got 1 (a note or a total?");
  EXPECT_MENTIONS(refusal("x,y\n1,2,5\n"), "got 3 (a cell that holds a separator needs quotes)");
  EXPECT_MENTIONS(refusal("x,y\r1,2\r3,4\r"), "got carriage returns alone");
  EXPECT_MENTIONS(refusal(std::string_view("x\0,\0y\0", 6)), "got bytes of value 0");
}

TEST(Csv, FindsTheHeader) {
  const Table table = parse("x, y ,\"a \"\"z\"\", too\"\n1,2,3\n");
  EXPECT_EQ(table.names, (Names{"x", "y", "a \"z\", too"}));
  expect_rows(table, {{1, 2, 3}});
  EXPECT_EQ(parse("2019,total\n1,2\n").names, (Names{"2019", "total"}));
  EXPECT_EQ(parse(",a\n1,2\n").names, (Names{"", "a"}));
}

TEST(Csv, FindsTheSeparator) {
  expect_rows(parse("a;b\n1;2\n"), {{1, 2}});
  expect_rows(parse("a\tb\n1\t2\n"), {{1, 2}});
  expect_rows(parse("\"a;b\",c\n1,2\n"), {{1, 2}});
  EXPECT_MENTIONS(refusal("a;b\n1,5;2,5\n"), "row 2, column 1 (a): expected a number, got '1,5' (a decimal comma?");
}

TEST(Csv, ReadsWhatSpreadsheetsWrite) {
  expect_rows(parse("\xEF\xBB\xBFx,y\r\n\"1\",\"2.5\"\r\n3,4\r\n\r\n"), {{1, 2.5}, {3, 4}});
  EXPECT_EQ(parse("\xEF\xBB\xBFx,y\r\n1,2\r\n").names, (Names{"x", "y"}));
  expect_rows(parse("1,2\n3,4\n\n  \n\n"), {{1, 2}, {3, 4}});
  expect_rows(parse("1 , \"2\" \n"), {{1, 2}});
}

TEST(Csv, ReadsOtherEncodings) {
  EXPECT_EQ(parse("gr\xf6\xdf"
                  "e,b\n1,2\n")
                .names,
            (Names{"größe", "b"}));
  EXPECT_EQ(parse("größe,日本,😀\n1,2,3\n").names, (Names{"größe", "日本", "😀"}));
  EXPECT_EQ(refusal(std::string("\xff\xfe"
                                "a\0\n\0",
                                6)),
            "[csv] t.csv: expected text in UTF-8, got UTF-16 (save it as CSV UTF-8)");
  EXPECT_MENTIONS(refusal("a,b\n1,\xf6\n"), "got '\\xf6'");
}

TEST(Csv, NamesTheCellThatIsNotANumber) {
  EXPECT_EQ(refusal("x,y\n1,2\n3,abc\n"), "[csv] t.csv: row 3, column 2 (y): expected a number, got 'abc'");
  EXPECT_EQ(refusal("1,2\n3,abc\n"), "[csv] t.csv: row 2, column 2: expected a number, got 'abc'");
  EXPECT_MENTIONS(refusal("1,2\n3,4 5\n"), "row 2, column 2: expected a number, got '4 5' (several numbers?");
  EXPECT_MENTIONS(refusal("1\n0x10\n"), "got '0x10'");
  EXPECT_MENTIONS(refusal("1\n1e\n"), "got '1e'");
  EXPECT_MENTIONS(refusal("1\n--1\n"), "got '--1'");
  EXPECT_MENTIONS(refusal("1\n+-1\n"), "got '+-1'");
  EXPECT_MENTIONS(refusal("1\n# a remark\n"), "got '# a remark'");
  EXPECT_MENTIONS(refusal("1,2\n3,\"1,000\"\n"), "got '1,000'");
  EXPECT_MENTIONS(refusal(std::string("1\na\0b\x1b[31m\n", 11)), "got 'a\\x00b\\x1b[31m'");
  EXPECT_MENTIONS(refusal("a\x1b,b\n1,2\nx,4\n"), "column 1 (a\\x1b): expected a number, got 'x'");
  // Cut between characters, never inside one.
  EXPECT_MENTIONS(refusal("1\nz" + std::string(39, 'z').replace(38, 1, "\u00e9") + "zz\n"), "zz...'");
  EXPECT_MENTIONS(refusal("1\n" + std::string(1000, 'z') + "\n"), "got '" + std::string(40, 'z') + "...'");
}

TEST(Csv, RefusesMissingAndInfiniteValues) {
  for (const char* missing : {"", " ", "NA", "nan", "NaN", "null", "\"\""}) {
    const std::string text = refusal(std::string("x,y,z\n1,2,3\n4,") + missing + ",6\n");
    EXPECT_MENTIONS(text, "row 3, column 2 (y): expected a number, got '");
    EXPECT_MENTIONS(text, "(a missing value)");
  }
  EXPECT_MENTIONS(refusal("x,y\n1,\n"), "row 2, column 2 (y): expected a number, got '' (a missing value)");
  EXPECT_MENTIONS(refusal("x\n1\n\n2\n"), "row 3, column 1 (x): expected a number, got '' (a missing value)");
  EXPECT_MENTIONS(refusal("x\n1\ninf\n"), "row 3, column 1 (x): expected a finite number, got 'inf'");
  EXPECT_MENTIONS(refusal("x\n-Infinity\n"), "expected a finite number, got '-Infinity'");
  EXPECT_MENTIONS(refusal("x\n1e999\n"), "expected a finite number, got '1e999'");
  // A first row with a gap is not taken for a header.
  EXPECT_MENTIONS(refusal("1,NA,3\n4,5,6\n"), "row 1, column 2: expected a number, got 'NA' (a missing value)");
  EXPECT_MENTIONS(refusal("nan,1\n2,3\n"), "row 1, column 1: expected a number, got 'nan' (a missing value)");
}

TEST(Csv, LenientReadingTakesMissingValues) {
  const ReadRules rules{.lenient = true, .advice = "drop it"};
  const auto lenient = [&](std::string_view text) { return parse_csv(text, "t.csv", {}, rules); };
  const Table table = lenient("x,y\n1,NA\n\n,4\n5,6\n");
  ASSERT_EQ(table.values.sizes(), (at::IntArrayRef{4, 2}));
  const double* v = table.values.const_data_ptr<double>();
  for (const int k : {1, 2, 3, 4}) EXPECT_TRUE(std::isnan(v[k])) << k;
  for (const int k : {0, 5, 6, 7}) EXPECT_FALSE(std::isnan(v[k])) << k;
  const auto refused = [&](std::string_view text) { return input_error([&] { lenient(text); }); };
  EXPECT_MENTIONS(refused("x,city\n1,Paris\n"),
                  "row 2, column 2 (city): expected a number, got 'Paris' (text; drop it)");
  EXPECT_MENTIONS(refused("day,x\n2020-01-31,1\n"),
                  "column 1 (day): expected a number, got '2020-01-31' (a date; drop it)");
  EXPECT_MENTIONS(refused("day,x\n12:30:00,1\n"), "(a date; drop it)");
  EXPECT_MENTIONS(refused("x\n1\ninf\n"), "expected a finite number, got 'inf'");
  EXPECT_MENTIONS(refused("x,y\n1\n"), "row 2: expected 2 columns, got 1");
}

TEST(Csv, HeaderByOrder) {
  const Table table = parse_csv("0,1\n2,3\n", "t.csv", {}, {.header = true});
  EXPECT_EQ(table.names, (Names{"0", "1"}));
  expect_rows(table, {{2, 3}});
}

TEST(Csv, QuotedCellsMayTakeSeveralLines) {
  const std::string text = "\"a\nb\",\"c,\r\nd\"\n1,\"say \"\"hi\"\"\n\n2\"\n\n3,x\n";
  EXPECT_EQ(parse(text.substr(0, text.find("\"say")) + "2\n").names, (Names{"a\nb", "c,\r\nd"}));
  // Rows are counted by the lines of the file.
  EXPECT_MENTIONS(refusal("x,note\n1,\"two\nlines\"\nz,4\n", {.columns = {"x"}, .drop = {}}),
                  "row 4, column 1 (x): expected a number, got 'z'");
  expect_rows(parse("x,note\n1,\"two\nlines\"\n2,5\" pipe\n3,\"a\"\"\n\"\"b\"\n", {.columns = {"x"}, .drop = {}}),
              {{1}, {2}, {3}});
  expect_rows(parse("\"a\nb\";c\n1;2\n"), {{1, 2}});
}

TEST(Csv, RefusesRaggedRows) {
  EXPECT_EQ(refusal("x,y\n1,2\n3\n"),
            "[csv] t.csv: row 3: expected 2 columns, got 1 (a note or a total? leave the row out)");
  EXPECT_MENTIONS(refusal("1,2\n3,4,5\n"), "row 2: expected 2 columns, got 3");
  EXPECT_MENTIONS(refusal("1,2\n3,4,\n"), "row 2: expected 2 columns, got 3");
  EXPECT_MENTIONS(refusal("1,2\n\n3,4\n"), "row 2: expected 2 columns, got an empty line");
  EXPECT_MENTIONS(refusal("1\t2\n3\t\n"), "row 2, column 2: expected a number, got '' (a missing value)");
}

TEST(Csv, RefusesEmptyFilesAndLooseQuotes) {
  for (const char* empty : {"", "\n", "\r\n\r\n", "  \n\t\n", "\xEF\xBB\xBF"})
    EXPECT_MENTIONS(refusal(empty), "got an empty file");
  EXPECT_MENTIONS(refusal("x,y\n"), "expected rows of numbers, got only a header");
  EXPECT_MENTIONS(refusal("1,2\n3,\"4\n"), "row 2, column 2: expected a closing quote");
  EXPECT_MENTIONS(refusal("1,2\n\"3\"4,5\n"),
                  "row 2, column 1: expected a separator after the closing quote, got '4,5'");
}

TEST(Csv, ChoosesColumns) {
  const std::string text = "id,x,y,z\nanna,1,2,3\nbert,4,5,6\n";
  EXPECT_MENTIONS(refusal(text), "row 2, column 1 (id): expected a number, got 'anna'");
  const Table table = parse(text, {.columns = {"z", "x"}, .drop = {}});
  EXPECT_EQ(table.names, (Names{"z", "x"}));
  expect_rows(table, {{3, 1}, {6, 4}});
  expect_rows(parse(text, {.columns = {"4", "2"}, .drop = {}}), {{3, 1}, {6, 4}});
  expect_rows(parse(text, {.columns = {}, .drop = {"id", "y"}}), {{1, 3}, {4, 6}});
  expect_rows(parse(text, {.columns = {}, .drop = {"1"}}), {{1, 2, 3}, {4, 5, 6}});
  // Names in a column that is not read do not make a header; a missing value there does not matter.
  expect_rows(parse("\"an, na\",1\nbert,2\n,3\n", {.columns = {}, .drop = {"1"}}), {{1}, {2}, {3}});
  // A number that is no column can only be a name.
  expect_rows(parse("2019,2020\n1,2\n", {.columns = {"2020"}, .drop = {}}), {{2}});
}

TEST(Csv, RefusesColumnsThatAreNotThere) {
  const std::string text = "x,y,x\n1,2,3\n";
  EXPECT_MENTIONS(refusal(text, {.columns = {"w"}, .drop = {}}),
                  "expected a column (a number from 1 to 3 or one of x, y, x), got 'w'");
  EXPECT_MENTIONS(refusal(text, {.columns = {"4"}, .drop = {}}), "got '4'");
  EXPECT_MENTIONS(refusal(text, {.columns = {"0"}, .drop = {}}), "got '0'");
  EXPECT_MENTIONS(refusal(text, {.columns = {"x"}, .drop = {}}), "expected one column named 'x', got several");
  EXPECT_MENTIONS(refusal(text, {.columns = {"y", "2"}, .drop = {}}), "named twice");
  EXPECT_MENTIONS(refusal(text, {.columns = {"y"}, .drop = {"1"}}), "got both");
  EXPECT_MENTIONS(refusal(text, {.columns = {}, .drop = {"1", "2", "3"}}), "got all 3 dropped");
}

TEST(Csv, RoundTripsEveryNumberExactly) {
  const TemporaryFolder folder;
  at::Tensor values = at::zeros({500, 4}, at::TensorOptions().dtype(at::kDouble));
  double* at = values.mutable_data_ptr<double>();
  const Key key(7);
  for (int64_t k = 0; k < values.numel(); ++k) {
    const uint64_t bits = key.bits(static_cast<uint64_t>(k));  // any exponent: numbers of every size
    std::memcpy(at + k, &bits, sizeof bits);
    if (!std::isfinite(at[k])) at[k] = 0;
  }
  const Names names = {"plain", "with space", "with,comma", "with \"quotes\""};
  write_csv(folder / "t.csv", values, names);
  const Table table = read_csv(folder / "t.csv");
  EXPECT_EQ(table.names, names);
  ASSERT_EQ(table.values.sizes(), values.sizes());
  EXPECT_EQ(std::memcmp(table.values.data_ptr(), values.data_ptr(), values.nbytes()), 0);
  const at::Tensor single = values.slice(0, 0, 3).clamp(-1e30, 1e30).to(at::kFloat);
  EXPECT_TRUE(at::equal(parse(format_csv(single)).values.to(at::kFloat), single));
  EXPECT_EQ(format_csv(at::tensor({1, -2}, at::TensorOptions().dtype(at::kLong)).view({1, 2})), "1,-2\n");
  EXPECT_EQ(format_csv(at::tensor({0.1f}).view({1, 1})), "0.1\n");
  EXPECT_EQ(folder.count(), 1);
}

TEST(Csv, WritesSoManyDigits) {
  const at::Tensor values =
      at::tensor({1.0 / 3, 1234567890123.0, -0.0, 1e-20 / 3}, at::TensorOptions().dtype(at::kDouble)).view({2, 2});
  EXPECT_EQ(format_csv(values, {"a", ""}, {7, 7}), "a,\"\"\n0.3333333,1234567890123\n0,3.333333e-21\n");
  const at::Tensor tenths = at::tensor({0.1, 0.7, 1e6, 0.1 + 0.2}, at::TensorOptions().dtype(at::kDouble)).view({1, 4});
  EXPECT_EQ(format_csv(tenths, {}, {17, 17, 17, 17}), "0.1,0.7,1000000,0.30000000000000004\n")
      << "no more than it takes";
  // Many blocks, formatted in parallel, stand in order.
  const at::Tensor many = at::arange(0, 40000, at::TensorOptions().dtype(at::kLong)).view({-1, 2});
  EXPECT_TRUE(at::equal(parse(format_csv(many)).values, many.to(at::kDouble)));
}

TEST(Csv, RefusesToWriteWhatIsNoTable) {
  EXPECT_MENTIONS(input_error([] { format_csv(at::zeros({3})); }), "expected a matrix n x d to write, got shape (3,)");
  EXPECT_MENTIONS(input_error([] { format_csv(at::zeros({3, 2}), {"x"}); }), "expected 2 column names, got 1");
}

// Read in parts of 4 MiB: rows, quoted cells and line ends lie across their borders.
TEST(Csv, PartsOfAFileMakeTheWholeTable) {
  const TemporaryFolder folder;
  std::string text = "name,x,y\r\n";
  std::vector<double> expected;
  while (text.size() < (size_t{9} << 20)) {
    const auto i = static_cast<double>(expected.size() / 2);
    text += (expected.size() % 14 == 0 ? "\"a, \"\"b\"\"\nc\"," : "plain,") + std::to_string(i) + "," +
            std::to_string(-i) + "\r\n";
    expected.push_back(i), expected.push_back(-i);
  }
  text += " \r\n\r\n";
  test::spill(folder / "t.csv", text);
  const Table table = read_csv(folder / "t.csv", {.columns = {}, .drop = {"name"}});
  ASSERT_EQ(table.values.numel(), static_cast<int64_t>(expected.size()));
  EXPECT_EQ(std::vector<double>(table.values.const_data_ptr<double>(),
                                table.values.const_data_ptr<double>() + expected.size()),
            expected);
  EXPECT_TRUE(table.values.equal(parse_csv(text, "t.csv", {.columns = {}, .drop = {"name"}}).values));
}

TEST(Csv, DaysTellTheOrderOfRows) {
  const auto order = [](const std::string& days) {
    std::string text = "day,x\n";
    for (size_t at = 0; at < days.size();) {
      const size_t end = std::min(days.find(' ', at), days.size());
      text += days.substr(at, end - at) + ",1\n";
      at = end + 1;
    }
    return parse_csv(text, "t.csv", {.columns = {}, .drop = {"day"}}, {.find_order = true}).order;
  };
  EXPECT_EQ(order("2020-01-31 2020-02-03 2020-02-03"), RowOrder::forwards);
  EXPECT_EQ(order("2020-02-03 2020-01-31 2019-12-31"), RowOrder::backwards);
  EXPECT_EQ(order("31.12.2019 1.1.2020 2.1.2020"), RowOrder::forwards);
  EXPECT_EQ(order("01/13/2020 01/14/2020 02/01/2020"), RowOrder::forwards) << "months first";
  EXPECT_EQ(order("02/01/2020 14/01/2020 13/02/2020"), RowOrder::forwards) << "days first";
  EXPECT_EQ(order("2020-01-31T10:00 2020-01-31T09:30"), RowOrder::backwards);
  EXPECT_EQ(order("2020-01-31 2020-02-03 2020-02-01"), RowOrder::mixed);
  EXPECT_EQ(order("anna bert"), RowOrder::unknown);
}

// What a terminal would obey is not handed on: names and texts are shown.
TEST(Csv, ControlCharactersAreEscaped) {
  const Table table = parse_csv("\"\x1b[31mred\x7f\",\"two\nlines\"\n1,2\n\xc2\x9bK,3\n", "t.csv", {},
                                {.lenient = true, .texts = true});
  EXPECT_EQ(table.names, (Names{"\\x1b[31mred\\x7f", "two\nlines"}));
  ASSERT_EQ(table.texts.at(0).size(), 1u);
  EXPECT_EQ(table.texts[0][0].text, "\\x9bK");
}

// A quote that is not closed makes one row of everything after it, and a packed file can hold any number of bytes.
TEST(CsvSlow, RowsWithoutAnEndAreRefused) {
  for (const char* start : {"x,y\n1,\"", "\"x", "1,2", " "}) {
    bool begun = false;
    const auto endless = [&](std::string& buffer) {
      buffer += std::exchange(begun, true) ? std::string(size_t{4} << 20, ' ') : start;
      return true;
    };
    EXPECT_MENTIONS(input_error([&] { read_csv(endless, "t.csv"); }), "expected a row of less than 64 MiB");
  }
}

}  // namespace
}  // namespace htfm
