#include "htfm/io/spreadsheet.h"

#include "htfm/io/parquet.h"
#include "htfm/io/python_bridge.h"

namespace htfm {

namespace {

constexpr const char* kSheetScript = R"python(
import csv
import datetime
import io
import site
import sys
site.addsitedir(site.getusersitepackages())
try:
    import openpyxl
except ImportError:
    sys.exit(3)
try:
    book = openpyxl.load_workbook(sys.argv[1], read_only=True, data_only=True)
    rows = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
except Exception as e:
    sys.stderr.write(" ".join(str(e).split()))
    sys.exit(4)
def text(cell):
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return repr(int(cell)) if cell == int(cell) and abs(cell) < 2 ** 53 else repr(cell)
    if isinstance(cell, datetime.datetime):
        day = cell.time() == datetime.time(0)
        return cell.date().isoformat() if day else cell.replace(microsecond=0).isoformat(sep=" ")
    return str(cell)
rows = [[text(cell) for cell in row] for row in rows]
rows = [row for row in rows if any(row)]
width = max((max(k + 1 for k, cell in enumerate(row) if cell) for row in rows), default=0)
out = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="")
write = csv.writer(out, lineterminator="\n")
for row in rows:
    write.writerow((row + [""] * width)[:width])
out.flush()
)python";

}  // namespace

std::string xlsx_as_csv(const std::string& path, const std::string& interpreter) {
  const std::string python = interpreter.empty() ? parquet_python() : interpreter;
  return run_python(python, kSheetScript, path, {"xlsx", "openpyxl", "an Excel workbook"});
}

}  // namespace htfm
