#include "htfm/io/row_file.h"

#include <ATen/ops/arange.h>

#include <filesystem>

#include "htfm/io/csv.h"
#include "htfm/io/npy.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using test::input_error;
using test::TemporaryFolder;

const at::Tensor kRows = at::arange(60, at::kDouble).view({20, 3});

TEST(RowFile, PartsMakeTheFileThatIsWrittenAtOnce) {
  const TemporaryFolder folder;
  write_npy(folder / "whole.npy", kRows);
  write_csv(folder / "whole.csv", kRows, {"x", "y", "z"});
  for (const char* name : {"parts.npy", "parts.csv"}) {
    RowFormat format{.shape = {3}, .csv = RowFormat::is_csv(name)};
    if (format.csv) format.names = {"x", "y", "z"};
    RowFile file(folder / name, format, 20, "key", false);
    for (const auto& [first, count] : {std::pair{0, 7}, {7, 1}, {8, 12}}) {
      EXPECT_FALSE(std::filesystem::exists(folder / name));
      file.append(kRows.narrow(0, first, count));
    }
    file.finish();
  }
  EXPECT_EQ(test::slurp(folder / "parts.npy"), test::slurp(folder / "whole.npy"));
  EXPECT_EQ(test::slurp(folder / "parts.csv"), test::slurp(folder / "whole.csv"));
  EXPECT_EQ(folder.count(), 4) << "nothing else is left";
}

TEST(RowFile, IsTakenUpWhereItWasLeft) {
  const TemporaryFolder folder;
  const RowFormat format{.shape = {3}, .csv = true};
  {
    RowFile file(folder / "x.csv", format, 20, "key", false);
    file.append(kRows.narrow(0, 0, 9));
    file.keep();
  }
  // As a process leaves it that is killed while it writes.
  std::ofstream(folder / ".x.csv.htfm-part", std::ios::app) << "half a r";
  EXPECT_MENTIONS(input_error([&] { RowFile(folder / "x.csv", format, 20, "other", true); }), "leave --resume out");
  RowFile file(folder / "x.csv", format, 20, "key", true);
  EXPECT_EQ(file.rows(), 9);
  file.append(kRows.narrow(0, 9, 11));
  file.finish();
  EXPECT_EQ(test::slurp(folder / "x.csv"), format_csv(kRows));
  EXPECT_EQ(folder.count(), 1);
}

TEST(RowFile, LeavesNothingWhereItIsNotFinished) {
  const TemporaryFolder folder;
  test::spill(folder / "x.npy", "old");
  {
    RowFile file(folder / "x.npy", {.shape = {3}}, 20, "key", false);
    file.append(kRows.narrow(0, 0, 9));
    EXPECT_THROW(file.finish(), Error);
    EXPECT_THROW(file.append(kRows), Error) << "more rows than there are to be";
  }
  EXPECT_EQ(test::slurp(folder / "x.npy"), "old");
  EXPECT_EQ(folder.count(), 1);
  EXPECT_MENTIONS(input_error([&] { RowFile(folder / "none/x.npy", {.shape = {3}}, 20, "key", false); }),
                  "does not exist");
}

// Rows [a, b) of one file: what several writers make, one after the other, is the whole.
TEST(RowWriter, WritesAnyRowsOfAFile) {
  StringSink whole, parts;
  write_npy(whole, kRows);
  for (const auto& [first, last] : {std::pair{0, 5}, {5, 6}, {6, 20}})
    RowWriter(parts, {.shape = {3}}, first, 20).append(kRows.narrow(0, first, last - first));
  EXPECT_EQ(parts.bytes(), whole.bytes());
}

}  // namespace
}  // namespace htfm
