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
        parts_[c].text |= row.cells[c].kind_ == Cell::Kind::text;
        if (!row.reference && beats(row.cells[c], table.columns[c], parts_[c].best)) parts_[c].best = row.cells[c].value_;
      }
    }
  }

  std::string html() const {
    std::string out = fmt::format("<div class=\"tablewrap scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table class=\"scores\">",
                                  escape(table_.caption.empty() ? "Table" : table_.caption));
    if (!table_.caption.empty()) out += "<caption>" + escape(table_.caption) + "</caption>";
    return out + head() + body() + "</table></div>";
  }

 private:
  struct Part {
    bool paper = false, text = false;
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
      const std::string span = parts_[c].paper ? " colspan=\"2\" scope=\"colgroup\"" : two_rows ? " rowspan=\"2\" scope=\"col\"" : " scope=\"col\"";
      upper += fmt::format("<th{}{}>{}</th>", span, parts_[c].text && c > 0 ? " class=\"text\"" : "", title);
      if (parts_[c].paper) lower += "<th class=\"part\" scope=\"col\">ours</th><th class=\"part paper\" scope=\"col\">paper</th>";
    }
    if (!two_rows) return "<thead><tr>" + upper + "</tr></thead>";
    return "<thead><tr class=\"upper\">" + upper + "</tr><tr>" + lower + "</tr></thead>";
  }

  std::string body() const {
    std::string out = "<tbody>";
    for (const Row& row : table_.rows) {
      std::string style = row.reference ? "ref" : "";
      if (row.rule_above) style += style.empty() ? "rule" : " rule";
      out += style.empty() ? "<tr>" : "<tr class=\"" + style + "\">";
      for (size_t c = 0; c < row.cells.size(); ++c) out += cell(row, c);
      out += "</tr>";
    }
    return out + "</tbody>";
  }

  std::string cell(const Row& row, size_t c) const {
    const Cell& one = row.cells[c];
    const Column& column = table_.columns[c];
    const auto shown = [&](double value) { return fixed(value, one.whole_ ? 0 : column.decimals); };
    std::string content, style;
    switch (one.kind_) {
      case Cell::Kind::nothing: content = "–"; break;
      case Cell::Kind::text: content = escape(one.text_), style = " class=\"text\""; break;
      case Cell::Kind::number:
        content = shown(one.value_);
        // Compared as printed: two scores that look equal are both the best.
        if (!row.reference && std::isfinite(parts_[c].best) && content == shown(parts_[c].best))
          content = "<strong>" + content + "</strong>", style = " class=\"best\"";
        if (std::isfinite(one.spread_)) content += "<span class=\"pm\">± " + shown(one.spread_) + "</span>";
        break;
    }
    if (c == 0) return "<th scope=\"row\">" + content + "</th>";
    std::string out = "<td" + style + ">" + content + "</td>";
    if (parts_[c].paper) out += "<td class=\"paper\">" + (std::isfinite(one.paper_) ? shown(one.paper_) : std::string("–")) + "</td>";
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
