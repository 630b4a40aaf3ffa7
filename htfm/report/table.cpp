#include "htfm/report/table.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "htfm/base/error.h"
#include "htfm/report/text.h"

namespace htfm::report {

/// Writes one table; knows which columns have numbers, values of the paper, and a best value.
class TableWriter {
 public:
  explicit TableWriter(const Table& table) : table_(table), parts_(table.columns.size()) {
    for (size_t r = 0; r < table.rows.size(); ++r) {
      const Row& row = table.rows[r];
      if (row.cells.size() != table.columns.size())
        throw InputError("[table] expected {} cells in row {}, got {}", table.columns.size(), r, row.cells.size());
      for (size_t c = 0; c < row.cells.size(); ++c) {
        parts_[c].paper |= std::isfinite(row.cells[c].paper_);
        parts_[c].numbers |= row.cells[c].kind_ == Cell::Kind::number;
        if (!row.reference && beats(row.cells[c], table.columns[c], parts_[c].best))
          parts_[c].best = row.cells[c].value_;
      }
    }
  }

  std::string html() const {
    // The caption stands outside the part that scrolls on a narrow screen.
    const std::string label = escape(table_.caption.empty() ? "Table" : table_.caption);
    std::string out = table_.caption.empty() ? "" : element("p", label, "cap");
    out += fmt::format(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table class=\"scores\" "
        "aria-label=\"{0}\">{1}{2}</table></div>",
        label, head(), body());
    return element("div", out, "tablewrap");
  }

 private:
  struct Part {
    bool paper = false, numbers = false;
    double best = std::numeric_limits<double>::quiet_NaN();
  };

  static bool beats(const Cell& cell, const Column& column, double best) {
    if (cell.kind_ != Cell::Kind::number || !std::isfinite(cell.value_) || column.best == Best::none) return false;
    return std::isnan(best) || (column.best == Best::highest ? cell.value_ > best : cell.value_ < best);
  }

  std::string head() const {
    bool two_rows = false;
    for (const Part& part : parts_) two_rows |= part.paper;
    std::string upper, lower;
    for (size_t c = 0; c < parts_.size(); ++c) {
      const Column& column = table_.columns[c];
      std::string title = escape(column.title);
      if (column.best == Best::highest) title += "<span class=\"dir\" title=\"higher is better\">↑</span>";
      if (column.best == Best::lowest) title += "<span class=\"dir\" title=\"lower is better\">↓</span>";
      const std::string span = parts_[c].paper ? " colspan=\"2\" scope=\"colgroup\""
                               : two_rows      ? " rowspan=\"2\" scope=\"col\""
                                               : " scope=\"col\"";
      upper += fmt::format("<th{}{}>{}</th>", span, !parts_[c].numbers && c > 0 ? " class=\"text\"" : "", title);
      if (parts_[c].paper)
        lower += "<th class=\"part\" scope=\"col\">ours</th><th class=\"part paper\" scope=\"col\">paper</th>";
    }
    if (!two_rows) return element("thead", element("tr", upper));
    return element("thead", element("tr", upper, "upper") + element("tr", lower));
  }

  std::string body() const {
    std::string rows;
    for (const Row& row : table_.rows) {
      std::string cells;
      for (size_t c = 0; c < row.cells.size(); ++c) cells += cell(row, c);
      rows += element("tr", cells,
                      row.reference && row.rule_above ? "ref rule"
                      : row.reference                 ? "ref"
                      : row.rule_above                ? "rule"
                                                      : "");
    }
    return element("tbody", rows);
  }

  std::string cell(const Row& row, size_t c) const {
    const Cell& one = row.cells[c];
    const Column& column = table_.columns[c];
    const auto shown = [&](double value) { return fixed(value, one.whole_ ? 0 : column.decimals); };
    std::string content, style = parts_[c].numbers ? "" : "text";
    switch (one.kind_) {
      case Cell::Kind::nothing: content = "–"; break;
      case Cell::Kind::text: content = escape(one.text_); break;
      case Cell::Kind::number:
        content = shown(one.value_);
        // Compared as printed: two scores that look equal are both the best.
        if (!row.reference && std::isfinite(parts_[c].best) && content == shown(parts_[c].best))
          content = element("strong", content), style = "best";
        if (one.spread_ > 0 && std::isfinite(one.spread_))
          content += element("span", fmt::format("± {}", shown(one.spread_)), "pm");
        break;
    }
    if (c == 0) return fmt::format("<th scope=\"row\">{}</th>", content);
    std::string out = element("td", content, style);
    if (parts_[c].paper) out += element("td", std::isfinite(one.paper_) ? shown(one.paper_) : "–", "paper");
    return out;
  }

  const Table& table_;
  std::vector<Part> parts_;
};

Cell& Cell::spread(double value) {
  spread_ = value;
  return *this;
}

Cell& Cell::paper(double value) {
  paper_ = value;
  return *this;
}

Row& Table::add(std::vector<Cell> cells) {
  rows.push_back({std::move(cells)});
  return rows.back();
}

std::string Table::html() const { return TableWriter(*this).html(); }

}  // namespace htfm::report
