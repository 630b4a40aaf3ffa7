#include "htfm/report/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "htfm/report/text.h"

namespace htfm::report {
namespace {

constexpr double kHalfPage = 560;  // figures up to this width share a row

/// Escaped text in which `backticks` mark code; an unpaired one stands for itself.
std::string marked_up(std::string_view text) {
  std::string out;
  while (true) {
    const size_t open = text.find('`');
    const size_t close = open == std::string_view::npos ? open : text.find('`', open + 1);
    if (close == std::string_view::npos) return out + escape(text);
    out += escape(text.substr(0, open)) + element("code", escape(text.substr(open + 1, close - open - 1)));
    text.remove_prefix(close + 1);
  }
}

std::string key_value_rows(const KeyValues& entries) {
  std::string out = "<table class=\"kv\"><tbody>";
  for (const auto& [key, value] : entries)
    out +=
        fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>", escape(key), value.empty() ? "–" : escape(value));
  return out + "</tbody></table>";
}

}  // namespace

Page::Page(std::string title, std::string subtitle) : title_(std::move(title)), subtitle_(std::move(subtitle)) {}

void Page::put(std::string_view html) {
  place_pictures();
  body_.append(html).append("\n");
}

void Page::place_pictures() {
  if (pictures_.empty()) return;
  body_ += "<div class=\"figs\">\n";
  for (size_t i = 0; i < pictures_.size(); ++i) {
    const Picture& picture = pictures_[i];
    std::string_view style = " class=\"wide\"";
    // Small figures go in pairs; one that is left over takes a row with its caption at the side.
    if (!picture.wide) {
      size_t run = i;
      while (run > 0 && !pictures_[run - 1].wide) --run;
      const bool paired = (i - run) % 2 == 1 || (i + 1 < pictures_.size() && !pictures_[i + 1].wide);
      style = paired ? "" : " class=\"solo\"";
    }
    body_ += fmt::format("<figure{}>{}<figcaption>{}</figcaption></figure>\n", style, picture.html, picture.caption);
  }
  body_ += "</div>\n";
  pictures_.clear();
}

Page& Page::section(std::string_view title) {
  place_pictures();
  if (!sections_.empty()) body_ += "</section>\n";
  sections_.emplace_back(title);
  put(fmt::format("<section id=\"s{0}\" aria-labelledby=\"h{0}\"><h2 id=\"h{0}\">{1}</h2>", sections_.size(),
                  escape(title)));
  return *this;
}

Page& Page::heading(std::string_view title) {
  put(element("h3", escape(title)));
  return *this;
}

Page& Page::text(std::string_view paragraphs) {
  while (!paragraphs.empty()) {
    const size_t end = std::min(paragraphs.find("\n\n"), paragraphs.size());
    if (end > 0) put(element("p", marked_up(paragraphs.substr(0, end))));
    paragraphs.remove_prefix(std::min(end + 2, paragraphs.size()));
  }
  return *this;
}

Page& Page::highlights(const std::vector<Highlight>& entries) {
  std::string out = "<dl class=\"cards\">";
  for (const Highlight& entry : entries) {
    out += fmt::format("<div class=\"card\"><dt>{}</dt><dd class=\"big\">{}</dd>", escape(entry.name),
                       escape(entry.value));
    if (!entry.remark.empty()) out += element("dd", escape(entry.remark), "more");
    out += "</div>";
  }
  put(out + "</dl>");
  return *this;
}

Page& Page::remark(std::string_view text) {
  put(element("div", element("p", marked_up(text)), "note"));
  return *this;
}

Page& Page::warning(std::string_view text) {
  put(element("div", element("p", element("strong", "Warning.") + " " + marked_up(text)), "note warning"));
  return *this;
}

Page& Page::configuration(const KeyValues& entries) {
  std::vector<std::pair<std::string, KeyValues>> groups;
  for (const auto& entry : entries) {
    const size_t dot = entry.first.find('.');
    const std::string name = dot == std::string::npos ? "" : entry.first.substr(0, dot);
    auto place = std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == name; });
    if (place == groups.end()) place = groups.insert(groups.end(), {name, {}});
    place->second.emplace_back(dot == std::string::npos ? entry.first : entry.first.substr(dot + 1), entry.second);
  }
  std::string out = "<div class=\"groups\">";
  for (const auto& [name, members] : groups) {
    out += "<div class=\"group\">";
    if (groups.size() > 1 || !name.empty()) out += element("h4", escape(name.empty() ? "general" : name));
    out += key_value_rows(members) + "</div>";
  }
  put(out + "</div>");
  return *this;
}

Page& Page::table(const Table& table) {
  put(table.html());
  return *this;
}

Page& Page::figure(const Figure& figure, std::string_view caption) {
  std::string words = marked_up(caption);
  if (!words.empty() && !figure.notes.empty() && std::string_view(".!?").find(words.back()) == std::string_view::npos)
    words += '.';
  for (const std::string& note : figure.notes) {
    if (!words.empty()) words += ' ';
    words += escape(note);
  }
  pictures_.push_back({figure.html(), std::move(words), figure.width() > kHalfPage});
  return *this;
}

Page& Page::code(std::string_view text, std::string_view caption) {
  std::string out = "<div class=\"code\">";
  if (!caption.empty()) out += element("p", marked_up(caption), "cap");
  put(out + "<pre tabindex=\"0\">" + element("code", escape(text)) + "</pre></div>");
  return *this;
}

Page& Page::provenance(const KeyValues& entries) {
  for (const auto& [key, value] : entries)
    footer_ += fmt::format("<dt>{}</dt><dd>{}</dd>", escape(key), value.empty() ? "–" : escape(value));
  return *this;
}

std::string Page::html() const {
  Page whole = *this;
  whole.place_pictures();
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\"><head><meta charset=\"utf-8\"/>"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/><meta name=\"color-scheme\" "
      "content=\"light dark\"/>"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src 'unsafe-inline';img-src "
      "data:\"/>";
  out += fmt::format("<title>{}</title>\n<style>{}</style></head>\n<body><div class=\"page\">\n<header><h1>{}</h1>",
                     escape(title_), page_style(), escape(title_));
  if (!subtitle_.empty()) out += element("p", marked_up(subtitle_), "sub");
  if (sections_.size() > 2) {
    out += "<nav aria-label=\"Sections\"><ul>";
    for (size_t i = 0; i < sections_.size(); ++i)
      out += fmt::format("<li><a href=\"#s{}\">{}</a></li>", i + 1, escape(sections_[i]));
    out += "</ul></nav>";
  }
  out.append("</header>\n<main>\n")
      .append(whole.body_)
      .append(sections_.empty() ? "" : "</section>\n")
      .append("</main>\n");
  if (!footer_.empty()) out += element("footer", element("h2", "Provenance") + element("dl", footer_));
  return out + "\n</div></body></html>\n";
}

}  // namespace htfm::report
