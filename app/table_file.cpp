#include "app/table_file.h"

#include <fmt/format.h>

#include <cstdlib>

#include "htfm/io/parquet.h"

namespace htfm::app {

void TableFile::add(CLI::App& command) {
  command.add_option("data", path, "Table (.csv, .tsv, .npy, .parquet)")->required();
  command.add_option("--columns", columns, "Comma-separated names or numbers of columns; all where not given");
  command.add_option("--drop", drop, "Columns to leave out");
  command.add_option("--missing", missing, "Rows with missing values: drop them, or refuse the table")
      ->check(CLI::IsMember({"drop", "refuse"}))
      ->capture_default_str();
  command.add_flag("--log-returns", log_returns, "Take the rows as prices: log(x_i / x_(i-1)) takes their place");
  command.add_option_function<std::string>(
      "--python", [](const std::string& name) { ::setenv(kParquetPython, name.c_str(), 1); },
      fmt::format("Python whose pyarrow reads Parquet; the variable {} where not given", kParquetPython));
}

}  // namespace htfm::app
