// One self-contained HTML page: text, tables, figures, provenance. It needs no network and no script, works in light
// and dark, on a phone and on paper, and is well-formed XML. All text is escaped; in paragraphs and captions
// `backticks` mark code.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/report/svg.h"
#include "htfm/report/table.h"

namespace htfm HTFM_PUBLIC {
namespace report {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

/// A figure of the report in large type: what a reader should see first.
struct Highlight {
  std::string name, value, remark;
};

class Page {
 public:
  explicit Page(std::string title, std::string subtitle = "");

  /// Begins a section; it is listed at the top of the page.
  Page& section(std::string_view title);
  /// A smaller heading inside a section.
  Page& heading(std::string_view title);
  /// Paragraphs, separated by empty lines.
  Page& text(std::string_view paragraphs);
  Page& highlights(const std::vector<Highlight>& entries);
  /// A remark in a box; `warning` for what the reader must not miss.
  Page& remark(std::string_view text);
  Page& warning(std::string_view text);
  /// Names and values in small tables, grouped by the part of the name before the first dot (clock.family, train.lr).
  Page& configuration(const KeyValues& entries);
  Page& table(const Table& table);
  /// A figure with its caption; the figure's notes follow the caption. Two small figures in a row stand side by side.
  Page& figure(const Figure& figure, std::string_view caption);
  Page& code(std::string_view text, std::string_view caption = "");
  /// Where the page comes from, at its foot: command, version, seeds, hashes.
  Page& provenance(const KeyValues& entries);

  /// The page.
  std::string html() const;

 private:
  struct Picture {
    std::string html, caption;
    bool wide;
  };
  void put(std::string_view html);
  void place_pictures();

  std::string title_, subtitle_, body_, footer_;
  std::vector<Picture> pictures_;  // wait for their neighbours
  std::vector<std::string> sections_;
};

}  // namespace report
}  // namespace htfm
