#include "htfm/io/parquet.h"

#include <cstdlib>

#include "htfm/io/python_bridge.h"

namespace htfm {
namespace {

// Isolated (-I), Python looks neither into the working folder nor where PYTHONPATH points; packages that the user
// installed for himself are found all the same.
constexpr const char* kScript = R"python(
import site
import sys
site.addsitedir(site.getusersitepackages())
try:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet
except ImportError:
    sys.exit(3)
try:
    table = pyarrow.parquet.read_table(sys.argv[1])
except Exception as e:
    sys.stderr.write(" ".join(str(e).split()))
    sys.exit(4)
columns = []
for column in table.columns:
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        try:
            column = column.cast(pa.float64() if pa.types.is_decimal(kind) else pa.string())
        except Exception:
            column = pa.array(["(" + str(kind) + ")"] * len(column))
    columns.append(column)
try:
    pyarrow.csv.write_csv(pa.table(columns, names=table.column_names), sys.stdout.buffer)
    sys.stdout.flush()
except Exception as e:
    sys.stderr.write(" ".join(str(e).split()))
    sys.exit(4)
)python";

}  // namespace

std::string parquet_python() {
  const char* named = std::getenv(kParquetPython);
  return named && *named ? named : "python3";
}

std::string parquet_as_csv(const std::string& path, const std::string& interpreter) {
  const std::string python = interpreter.empty() ? parquet_python() : interpreter;
  return run_python(python, kScript, path, {"parquet", "pyarrow", "a Parquet file"});
}

}  // namespace htfm
