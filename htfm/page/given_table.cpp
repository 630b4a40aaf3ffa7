#include "htfm/page/given_table.h"

#include <fmt/format.h>

#include <cmath>

#include "htfm/report/table.h"

namespace htfm {

void add_given_section(report::Page& page, const std::string& given, const GivenQuantiles& quantiles) {
  if (given.empty()) return;
  page.section("Given the condition").text("Given, and not modelled: " + given + ".");
  if (quantiles.list.empty()) return;
  report::Table table;
  table.caption =
      fmt::format("Upper quantiles in each category: of the data, and of the samples that were drawn under it.{}",
                  quantiles.left_out > 0
                      ? fmt::format(" {} further categories are not shown: they have fewer rows.", quantiles.left_out)
                      : "");
  table.columns = {{"category"}, {"column"}, {"rows"}};
  for (const double level : quantiles.levels) {
    table.columns.push_back({fmt::format("{} data", level), report::Best::none, 3});
    table.columns.push_back({fmt::format("{} model", level), report::Best::none, 3});
  }
  std::string before;
  for (const CategoryQuantiles& q : quantiles.list) {
    std::vector<report::Cell> cells{q.category, q.column, q.data_rows};
    for (size_t k = 0; k < q.data.size(); ++k)
      for (const double v : {q.data[k], q.drawn[k]})
        cells.push_back(std::isfinite(v) ? report::Cell(v) : report::Cell());
    table.add(std::move(cells)).rule_above = q.category != before;
    before = q.category;
  }
  page.table(table);
}

}  // namespace htfm
