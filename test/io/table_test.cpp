#include "htfm/io/table.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include <cmath>
#include <filesystem>

#include "htfm/io/npy.h"
#include "test/io/support.h"

namespace htfm {
namespace {

TEST(Table, IsReadByExtension) {
  const test::TemporaryFolder folder;
  const at::Tensor values =
      at::tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, at::TensorOptions().dtype(at::kDouble)).view({3, 2});
  write_npy(folder / "t.npy", values);
  write_npy(folder / "T.NPY", values.to(at::kFloat));
  write_csv(folder / "t.csv", values, {"x", "y"});
  EXPECT_TRUE(at::equal(read_table(folder / "t.npy").values, values));
  EXPECT_EQ(read_table(folder / "T.NPY").values.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(read_table(folder / "t.csv").values, values));
  EXPECT_EQ(read_table(folder / "t.csv").names, (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(at::equal(read_table(folder / "t.npy", {.columns = {"2"}, .drop = {}}).values, values.slice(1, 1, 2)));
  EXPECT_TRUE(at::equal(read_table(folder / "t.npy", {.columns = {}, .drop = {"2"}}).values, values.slice(1, 0, 1)));
  EXPECT_MENTIONS(test::input_error([&] { read_table(folder / "t.npy", {.columns = {"x"}, .drop = {}}); }),
                  "expected a column (a number from 1 to 2)");
}

TEST(Table, TakesVectorsAndNumbersOfAnyWidthAndOrder) {
  EXPECT_EQ(read_table(test::golden("vector.npy")).values.size(1), 1);
  EXPECT_EQ(read_table(test::golden("i8.npy")).values.scalar_type(), at::kDouble);
  EXPECT_TRUE(read_table(test::golden("i8.npy"))
                  .values.equal(read_npy(test::golden("i8.npy"), NpyNumbers::integer).to(at::kDouble).view({-1, 1})));
  EXPECT_EQ(read_table(test::golden("half.npy")).values.scalar_type(), at::kFloat);
  // Its nan passes, its inf does not.
  EXPECT_MENTIONS(test::input_error([&] { read_table(test::golden("nan.npy"), {}, {.lenient = true}); }),
                  "row 3, column 0 (counted from 0): expected a finite number, got inf");
  const test::TemporaryFolder folder;
  // 2 x 3 by columns: 1 4 2 5 3 6, in whole numbers of two bytes.
  std::string bytes = "\x93NUMPY";
  bytes += std::string("\x01\x00\x76\x00", 4);
  std::string header = "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3)}";
  header.resize(0x75, ' ');
  header += '\n';
  bytes += header;
  for (const char v : {'\1', '\4', '\2', '\5', '\3', '\6'}) bytes += std::string{v, '\0'};
  test::spill(folder / "f.npy", bytes);
  const at::Tensor expected = at::tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, at::kDouble).view({2, 3});
  EXPECT_TRUE(read_table(folder / "f.npy").values.equal(expected));
  // A whole number that float64 does not hold.
  write_npy(folder / "large.npy", at::tensor({int64_t{1}, (int64_t{1} << 53) + 1}, at::kLong).view({2, 1}));
  EXPECT_MENTIONS(test::input_error([&] { read_table(folder / "large.npy"); }), "up to 2^53, got 9007199254740993");
  EXPECT_MENTIONS(test::input_error([&] { read_table(test::golden("big_endian.npy")); }), "little-endian");
}

// A stand-in for Python: the table comes as CSV with a header, whatever the names are.
TEST(Table, ParquetComesThroughAnInterpreter) {
  const test::TemporaryFolder folder;
  test::spill(folder / "t.parquet", "PAR1");
  const auto interpreter = [&](const std::string& body) {
    const std::string path = folder / "python";
    test::spill(path, "#!/bin/sh\n" + body + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return ReadRules{.lenient = true, .python = path};
  };
  const Table table = read_table(folder / "t.parquet", {.columns = {}, .drop = {"city"}},
                                 interpreter("printf '\"1\",city\\n5,\"a b\"\\n,c\\n'"));
  EXPECT_EQ(table.names, (std::vector<std::string>{"1"}));
  EXPECT_EQ(table.values.const_data_ptr<double>()[0], 5);
  EXPECT_TRUE(std::isnan(table.values.const_data_ptr<double>()[1]));
  const auto refused = [&](const std::string& body) {
    return test::input_error([&] { read_table(folder / "t.parquet", {}, interpreter(body)); });
  };
  EXPECT_MENTIONS(refused("exit 3"), "expected a Python with pyarrow");
  EXPECT_MENTIONS(refused("echo not one >&2; exit 4"), "expected a Parquet file, got: not one");
  EXPECT_MENTIONS(refused("printf 'a\\nb\\n' >&2; exit 1"), "got: b");
  EXPECT_MENTIONS(test::input_error([&] { read_table(folder / "t.parquet", {}, {.python = "no-such-program"}); }),
                  "No such file");
  EXPECT_MENTIONS(test::input_error([&] { read_table(folder / "none.parquet"); }), "none.parquet");
}

// Python is started isolated: a file of the working folder that is called like a package is not imported.
TEST(Table, ParquetRunsNothingOfTheWorkingFolder) {
  const test::TemporaryFolder folder;
  const std::string mark = folder / "mark", before = std::filesystem::current_path();
  for (const char* name : {"pyarrow.py", "site.py", "sitecustomize.py"})
    test::spill(folder / name, "open('" + mark + "', 'w')\n");
  test::spill(folder / "t.parquet", "PAR1");
  std::filesystem::current_path(folder.path());
  EXPECT_THROW(read_table(folder / "t.parquet"), InputError);  // without pyarrow, or since it is no Parquet
  std::filesystem::current_path(before);
  EXPECT_FALSE(std::filesystem::exists(mark));
}

// A small file can stand for any number of rows: the script has no more memory than there is.
TEST(Table, TheInterpreterIsLimited) {
  const test::TemporaryFolder folder;
  test::spill(folder / "t.parquet", "PAR1");
  test::spill(folder / "python", "#!/bin/sh\nprintf 'script\\n'\necho \"$3\" | grep -c setrlimit\n");
  std::filesystem::permissions(folder / "python", std::filesystem::perms::owner_all);
  const at::Tensor values = read_table(folder / "t.parquet", {}, {.python = folder / "python"}).values;
  ASSERT_EQ(values.numel(), 1);
  EXPECT_EQ(values.item<double>(), 2);
}

TEST(Table, RefusesEverythingElse) {
  const test::TemporaryFolder folder;
  EXPECT_MENTIONS(test::input_error([&] { read_table(folder / "t.ods"); }),
                  "expected a file named .npy, .csv, .tsv (or .csv.gz), .parquet or .xlsx, got '.ods'");
  EXPECT_MENTIONS(test::input_error([&] { read_table(folder / "a.b/table"); }), "got a name without an extension");
  EXPECT_MENTIONS(test::input_error([&] { read_table(folder / "none.csv"); }), "No such file");
  EXPECT_MENTIONS(test::input_error([&] { read_table(test::golden("cube.npy")); }), "expected a matrix n x d");
  EXPECT_MENTIONS(test::input_error([&] { read_table(test::golden("no_rows.npy")); }), "got shape (0, 3)");
  EXPECT_MENTIONS(test::input_error([&] { read_table(test::golden("nan.npy")); }),
                  "row 2, column 1 (counted from 0): expected a finite number");
  EXPECT_NO_THROW(read_table(test::golden("nan.npy"), {.columns = {"3"}, .drop = {}}));
  EXPECT_MENTIONS(test::input_error([&] {
                    read_table(test::golden("nan.npy"), {.columns = {"3", "2"}, .drop = {}});
                  }),
                  "row 2, column 1 (");
}

}  // namespace
}  // namespace htfm
