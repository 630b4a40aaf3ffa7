// A strict check that a text is well-formed XML, for the subset that pages and figures use.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "htfm/report/text.h"

namespace htfm::report {

/// Empty where the text is one well-formed element (after an optional doctype), otherwise what is wrong and where.
class XmlChecker {
 public:
  static std::string problem(std::string_view text) {
    XmlChecker checker(text);
    const std::string what = checker.check();
    return what.empty() ? what
                        : what + " near: " + std::string(text.substr(checker.at_ > 40 ? checker.at_ - 40 : 0, 80));
  }

 private:
  explicit XmlChecker(std::string_view text) : text_(text) {}

  std::string check() {
    if (text_.starts_with("<!DOCTYPE html>")) at_ = 15;
    std::vector<std::string> open;
    int roots = 0;
    while (at_ < text_.size()) {
      const size_t next = std::min(text_.find('<', at_), text_.size());
      const std::string_view content = text_.substr(at_, next - at_);
      if (std::string what = check_text(content); !what.empty()) return what;
      if (open.empty() && !std::all_of(content.begin(), content.end(), [](unsigned char c) { return std::isspace(c); }))
        return "text outside";
      at_ = next;
      if (at_ == text_.size()) break;
      if (text_.substr(at_).starts_with("</")) {
        at_ += 2;
        const std::string name = read_name();
        if (open.empty() || open.back() != name) return "unexpected end of " + name;
        open.pop_back();
        if (!take(">")) return "unclosed end tag";
        continue;
      }
      ++at_;
      const std::string name = read_name();
      if (name.empty()) return "a bare <";
      if (open.empty() && ++roots > 1) return "two roots";
      bool empty = false;
      if (std::string what = check_attributes(empty); !what.empty()) return what;
      if (!empty) open.push_back(name);
    }
    if (!open.empty()) return "not closed: " + open.back();
    return roots == 1 ? "" : "no root";
  }

  std::string check_attributes(bool& empty) {
    std::set<std::string> names;
    while (true) {
      const bool space = skip_space();
      if (take("/>")) return empty = true, "";
      if (take(">")) return "";
      const std::string name = read_name();
      if (name.empty() || !space) return "a bad attribute";
      if (!names.insert(name).second) return "attribute twice: " + name;
      if (!take("=\"")) return "attribute without a quoted value: " + name;
      const size_t end = text_.find('"', at_);
      if (end == std::string_view::npos) return "unclosed attribute";
      const std::string_view value = text_.substr(at_, end - at_);
      if (value.find('<') != std::string_view::npos) return "< in an attribute";
      if (std::string what = check_text(value); !what.empty()) return what;
      at_ = end + 1;
    }
  }

  /// Characters and entities. Escaping what is allowed changes nothing but the five special characters.
  static std::string check_text(std::string_view text) {
    std::string plain;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '&') {
        static const std::set<std::string_view> kKnown{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
        const size_t end = text.find(';', i);
        if (end == std::string_view::npos || !kKnown.contains(text.substr(i, end - i + 1))) return "an unknown entity";
        i = end;
      } else if (std::string_view(">'\"").find(text[i]) == std::string_view::npos) {
        plain += text[i];
      }
    }
    return escape(plain) == plain ? "" : "a forbidden character";
  }

  std::string read_name() {
    const size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-' || text_[at_] == ':'))
      ++at_;
    return std::string(text_.substr(start, at_ - start));
  }
  bool skip_space() {
    const size_t start = at_;
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ > start;
  }
  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

/// How often `what` occurs.
inline int64_t occurrences(std::string_view text, std::string_view what) {
  int64_t n = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

}  // namespace htfm::report
