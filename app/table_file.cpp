#include "app/table_file.h"

#include <fmt/format.h>

#include <cstdlib>

#include "app/common.h"
#include "htfm/io/parquet.h"

namespace htfm::app {

void TableFile::add(CLI::App& command) {
  missing = "drop";
  add_file(command, "Rows with missing values: drop them, or refuse the table", {"drop", "refuse"});
}

void TableFile::add_file(CLI::App& command, const std::string& about_missing, std::vector<std::string> ways) {
  command.add_option("data", path, "Table (.csv, .tsv, .csv.gz, .npy, .parquet, .xlsx)")->required();
  command.add_option("--columns", columns, "Columns to use, comma-separated names or numbers; by default all");
  command.add_option("--drop", drop, "Columns to leave out");
  command.add_option("--missing", missing, about_missing)->check(one_of(std::move(ways)))->capture_default_str();
  command.add_flag("--log-returns", log_returns, "Treat the rows as prices: log(x_i / x_(i-1)) replaces them");
  command.add_option_function<std::string>(
      "--python", [](const std::string& name) { ::setenv(kParquetPython, name.c_str(), 1); },
      fmt::format("Python with pyarrow to read Parquet and openpyxl to read .xlsx; by default that of the variable {}",
                  kParquetPython));
}

void TableFile::add_with_kinds(CLI::App& command) {
  missing = "keep", kinds = "auto";
  add_file(command, "Missing values: keep them (modelled), drop their rows, or refuse the table",
           {"keep", "drop", "refuse"});
  command
      .add_option_function<std::vector<std::string>>(
          "--kind",
          [this](const std::vector<std::string>& asked) {
            for (const std::string& one : asked) kinds += "," + one;
          },
          "Kind of a column instead of the recognised one: column=number, category, ordered:low|mid|high, "
          "ordered:@FILE (a category a line), date:D.M.Y or identifier; may be repeated")
      ->allow_extra_args(false);
  command
      .add_option_function<std::vector<std::string>>(
          "--constraint",
          [this](const std::vector<std::string>& asked) {
            for (const std::string& one : asked) constraints += (constraints.empty() ? "" : "; ") + one;
          },
          "Relation that every row satisfies, such as \"paid <= incurred\" or \"total = net + tax\"; may be repeated")
      ->allow_extra_args(false);
  command.add_option("--decimal", decimal, "Decimal mark in texts: auto, point or comma")
      ->check(one_of({"auto", "point", "comma"}))
      ->capture_default_str();
}

}  // namespace htfm::app
