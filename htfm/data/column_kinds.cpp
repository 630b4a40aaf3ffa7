#include "htfm/data/column_kinds.h"

#include <ATen/ops/from_blob.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "htfm/base/error.h"
#include "htfm/base/split.h"
#include "htfm/data/dates.h"
#include "htfm/data/number_text.h"
#include "htfm/io/file.h"
#include "htfm/io/text.h"

namespace htfm {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kMostCategories = 20000;  // more are texts that say nothing to a model
constexpr size_t kFewNumbers = 20;         // so many different numbers beside texts are codes
constexpr size_t kDatesAsNumbers = 20;     // so many different whole numbers that are all dates are meant as dates

bool is_code_text(const std::string& text) {
  return text.size() > 1 && text[0] == '0' && text.find_first_not_of("0123456789") == std::string::npos;
}

std::string number_name(double x) { return fmt::format("{}", x); }

// What a user says of a column: a kind, and what stands after its colon; of ordered categories their order.
struct AskedKind {
  std::string kind, detail;
  std::vector<std::string> order = {};
};

// The categories that a file lists, one a line.
std::vector<std::string> order_in_file(const std::string& path) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const std::string& line : split(read_file(path), '\n')) {
    const std::string category(trimmed(line, " \t\r"));
    if (category.empty()) continue;
    if (!seen.insert(category).second)
      throw InputError("[--kind] {}: expected each category once, got {} twice", path, in_quotes(category));
    out.push_back(category);
  }
  if (out.empty()) throw InputError("[--kind] {}: expected categories, one a line, got none", path);
  return out;
}

// One column, looked at.
class ColumnLook {
 public:
  ColumnLook(Table& table, int64_t column, const KindRules& rules, std::vector<std::string>& notes)
      : table_(table), column_(column), rules_(rules), notes_(notes), texts_(table.texts[static_cast<size_t>(column)]) {
    width_ = table.values.size(1), n_ = table.values.size(0);
    x_ = table.values.mutable_data_ptr<double>() + column;
    for (int64_t i = 0; i < n_; ++i) {
      const double v = x_[i * width_];
      if (!std::isnan(v)) {
        ++numbers_;
        if (different_.size() <= kMostCategories) different_.insert(v);
      }
    }
    for (const TextCell& t : texts_) text_rows_ += t.count;
  }

  /// False: the column is left out.
  bool settle(const AskedKind* asked, TableColumn& out) {
    if (asked) return as_asked(*asked, out);
    if (texts_.empty()) return settle_numbers(out);
    if (as_number_texts(false) || as_dates({}, out)) return true;
    const bool codes =
        std::any_of(texts_.begin(), texts_.end(), [](const TextCell& t) { return is_code_text(t.text); });
    if (numbers_ > text_rows_ && different_.size() > kFewNumbers && !codes) refuse_stray();
    const size_t values = different_.size() + texts_.size();
    if (values > kMostCategories || (values > 50 && 2 * static_cast<int64_t>(values) > numbers_ + text_rows_)) {
      notes_.push_back(fmt::format(
          "{} holds {} different texts in {} rows, an identifier or free text, and is left out (--kind \"{}=category\" "
          "keeps it)",
          name(), values, numbers_ + text_rows_, plain_name()));
      return false;
    }
    as_category(out, {});
    return true;
  }

 private:
  std::string plain_name() const {
    const bool named = column_ < static_cast<int64_t>(table_.names.size()) && !table_.names[column_].empty();
    return named ? table_.names[column_] : std::to_string(column_ + 1);
  }
  std::string name() const {
    const bool named = column_ < static_cast<int64_t>(table_.names.size()) && !table_.names[column_].empty();
    return named ? printable(table_.names[column_]) : fmt::format("column {}", column_ + 1);
  }
  void put_values(const std::vector<double>& of_text) {
    for (int64_t i = 0; i < n_; ++i) {
      double& v = x_[i * width_];
      if (const int64_t k = text_place(v); k >= 0) v = of_text[static_cast<size_t>(k)];
    }
    texts_.clear();
  }

  // 20200131: all numbers of a column are dates in this form.
  const DateForm* dates_as_numbers() const {
    if (different_.size() < kDatesAsNumbers) return nullptr;
    for (const DateForm& form : number_date_forms()) {
      const auto is_date = [&](double v) {
        const std::string text = number_name(v);
        const std::optional<double> day = form.parse(text);
        return day && form.format(*day) == text && (v < 2200 * std::pow(10.0, text.size() - 4) || text[0] == '9');
      };
      if (!std::all_of(different_.begin(), different_.end(), is_date)) continue;
      for (int64_t i = 0; different_.size() > kMostCategories && i < n_; ++i)
        if (const double v = x_[i * width_]; !std::isnan(v) && !is_date(v)) return nullptr;
      return &form;
    }
    return nullptr;
  }

  bool settle_numbers(TableColumn& out) {
    if (const DateForm* form = dates_as_numbers()) {
      notes_.push_back(
          fmt::format("{} has dates as whole numbers, in the form {} (--kind \"{}=number\" overrides this)", name(),
                      form->pattern, plain_name()));
      return as_dates(form->pattern, out, true);
    }
    if (numbers_ == 0) {
      notes_.push_back(fmt::format("{} has no values and is left out", name()));
      return false;
    }
    const bool whole = std::all_of(different_.begin(), different_.end(), [](double v) { return v == std::trunc(v); });
    if (numbers_ >= 20 && whole &&
        static_cast<int64_t>(different_.size()) == std::min<int64_t>(numbers_, kMostCategories + 1) &&
        names_identifier()) {
      notes_.push_back(
          fmt::format("{} is different in every row, an identifier, and is left out (--kind \"{}=number\" keeps it)",
                      name(), plain_name()));
      return false;
    }
    return true;
  }

  // A name that row keys carry: id, CASENUM, policy_no.
  bool names_identifier() const {
    const std::string low = lower_case(plain_name());
    for (const char* end : {"id", "num", "number", "no", "nr", "key", "code", "uuid", "ref", "index", "rownames"})
      if (low == end || low.ends_with(std::string("_") + end) || low.ends_with(std::string(".") + end) ||
          low.ends_with(std::string(" ") + end))
        return true;
    // No endings: an amount paid and a bid also end in id.
    for (const char* whole : {"uid", "pid", "sid", "subject", "studyid", "subjectid", "patientid", "personid", "userid",
                              "memberid", "customerid", "clientid", "accountid", "policyid", "claimid", "caseid"})
      if (low == whole) return true;
    const std::string as_is = plain_name();
    if (low.starts_with("id_") || low.starts_with("id.") || low.starts_with("id ")) return true;
    if (as_is.size() > 2 && as_is.starts_with("ID") && as_is[2] >= 'a' && as_is[2] <= 'z') return true;  // IDpol
    return as_is.ends_with("Id") || as_is.ends_with("ID") || as_is.ends_with("NUM") || as_is.ends_with("Num");
  }

  [[noreturn]] void refuse_text(const TextCell& t, const std::string& expected, const std::string& advice) const {
    throw InputError("[table] {}: row {}, {}: expected {}, got {} ({})", rules_.path, t.line, name(), expected,
                     in_quotes(t.text), advice);
  }
  [[noreturn]] void refuse_stray() const {
    refuse_text(texts_.front(), fmt::format("a number, as in {} other rows", numbers_),
                fmt::format("correct it, leave the column out with --drop, or take it as categories with --kind "
                            "\"{}=category\"",
                            plain_name()));
  }

  // Texts that spell numbers; with `must` anything else is an error.
  bool as_number_texts(bool must) {
    std::vector<double> best;
    NumberText seen;
    char mark = 0;
    bool both = false;
    for (const char decimal : {'.', ','}) {
      if (rules_.decimal == "point" && decimal == ',') continue;
      if (rules_.decimal == "comma" && decimal == '.') continue;
      std::vector<double> values;
      NumberText all;
      for (const TextCell& t : texts_) {
        const auto read = is_code_text(t.text) && !must ? std::nullopt : read_number_text(t.text, decimal);
        if (!read) break;
        values.push_back(read->value);
        all.decimals |= read->decimals, all.thousands |= read->thousands, all.percent |= read->percent;
        all.parentheses |= read->parentheses, all.minus_after |= read->minus_after;
        if (!read->currency.empty()) all.currency = read->currency;
      }
      if (values.size() < texts_.size()) continue;
      // 1,234 alone is one thousand where commas part the cells, and a little over one where semicolons do.
      if (mark) both = values != best;
      if (mark && (!both || table_.separator != ';')) continue;
      best = std::move(values), seen = all, mark = decimal;
    }
    if (!mark) {
      if (!must) return false;
      for (const TextCell& t : texts_)
        if (!read_number_text(t.text, rules_.decimal == "comma" ? ',' : '.'))
          refuse_text(t, "a number", "--kind chooses another kind, --drop leaves the column out");
    }
    if (mark == ',' && seen.decimals) recheck_points(seen.thousands);
    put_values(best);
    std::vector<std::string> said;
    if (mark == ',' && seen.decimals) said.push_back("a decimal comma");
    if (seen.thousands) said.push_back("separators of thousands");
    if (!seen.currency.empty()) said.push_back("the currency sign " + seen.currency);
    if (seen.percent) said.push_back("percent signs (12 % is 12)");
    if (seen.parentheses) said.push_back("negative numbers in parentheses");
    if (seen.minus_after) said.push_back("the minus of negative numbers behind");
    if (!said.empty())
      notes_.push_back(fmt::format(
          "{} has numbers with {}{}", name(), fmt::join(said, ", "),
          both && rules_.decimal == "auto"
              ? fmt::format(" (1,234 is read as {}; --decimal overrides this)", mark == ',' ? "1.234" : "1234")
              : ""));
    return true;
  }

  // Plain numbers with a point in a column of decimal commas were read with the point as the mark.
  void recheck_points(bool thousands) {
    for (int64_t i = 0; i < n_; ++i) {
      double& v = x_[i * width_];
      if (std::isnan(v) || v == std::trunc(v)) continue;
      const double whole = v * 1000;
      if (!thousands || std::abs(v) >= 1000 || std::abs(whole - std::round(whole)) > 1e-6)
        throw InputError(
            "[table] {}: {}: expected one decimal mark, got commas ({}) and points ({}): choose one with --decimal",
            rules_.path, name(), in_quotes(texts_.front().text), v);
      v = std::round(whole);
    }
  }

  bool as_dates(const std::string& named, TableColumn& out, bool must = false) {
    if (numbers_ > 0 && !must) return false;
    if (numbers_ > 0 && !days_as_numbers()) return false;
    std::vector<DateForm> forms = named.empty() ? date_forms() : std::vector<DateForm>{{named}};
    if (named.empty() && must) forms.insert(forms.end(), number_date_forms().begin(), number_date_forms().end());
    const DateForm* best = nullptr;
    int64_t most = 0;
    std::vector<std::string> also;
    const auto try_all = [&](const std::vector<DateForm>& list) {
      for (const DateForm& form : list) {
        int64_t read = 0;
        for (const TextCell& t : texts_)
          if (form.parse(t.text)) read += t.count;
        if (read == text_rows_ && best && most == read) also.push_back(form.pattern);
        if (read > most) most = read, best = &form;
      }
    };
    try_all(forms);
    if (named.empty() && most < text_rows_) try_all(offset_date_forms());
    DateForm fixed;
    if (best && most == text_rows_ && best->pattern.ends_with('z')) fixed = with_one_offset(*best), best = &fixed;
    if (!best || (!must && 10 * most < 9 * text_rows_)) {
      if (must)
        refuse_text(texts_.front(), named.empty() ? "a date" : "a date of the form " + named,
                    "--kind \"col=date:D.M.Y\" names the form");
      return false;
    }
    std::vector<double> values;
    for (const TextCell& t : texts_) {
      const std::optional<double> value = best->parse(t.text);
      if (!value)
        refuse_text(t, fmt::format("a date of the form {}, as in {} other rows", best->pattern, most),
                    "correct it, or name the column's kind with --kind");
      values.push_back(*value);
    }
    out.kind = ColumnKind::date, out.date_form = as_written(*best, values).pattern;
    put_values(values);
    if (best->pattern.find('y') != std::string::npos)
      notes_.push_back(fmt::format("{} has years of two digits, which are read as 1969 to 2068", name()));
    if (!also.empty())
      notes_.push_back(
          fmt::format("{} is read in the form {}, but could also be {}: --kind \"{}=date:{}\" overrides this", name(),
                      best->pattern, fmt::join(also, ", "), plain_name(), also.front()));
    return true;
  }

  // Times that all have the same offset from UTC stay those of their clock; others are instants.
  DateForm with_one_offset(const DateForm& form) {
    std::set<std::string> offsets;
    for (const TextCell& t : texts_) offsets.insert(t.text.substr(t.text.find_last_of("+-")));
    if (offsets.size() == 1) return {form.pattern.substr(0, form.pattern.size() - 1) + *offsets.begin()};
    notes_.push_back(fmt::format("{} has times with several offsets from UTC ({}), and is read and written as UTC",
                                 name(), fmt::join(offsets, ", ")));
    return form;
  }

  // Of the ways to write a month's name the one that gives most texts back.
  DateForm as_written(const DateForm& form, const std::vector<double>& values) const {
    std::vector<DateForm> ways = form.month_names();
    ways.insert(ways.begin(), form);
    const auto kept = [&](const DateForm& way) {
      size_t count = 0;
      for (size_t k = 0; k < values.size(); ++k) count += way.format(values[k]) == texts_[k].text;
      return count;
    };
    return *std::max_element(ways.begin(), ways.end(),
                             [&](const DateForm& a, const DateForm& b) { return kept(a) < kept(b); });
  }

  // 20200131 was read as a number: back to a text.
  bool days_as_numbers() {
    TextColumn column;
    for (int64_t i = 0; i < n_; ++i) {
      double& v = x_[i * width_];
      if (const int64_t k = text_place(v); k >= 0)
        v = column.add(texts_[static_cast<size_t>(k)].text, texts_[static_cast<size_t>(k)].line);
      else if (!std::isnan(v))
        v = column.add(number_name(v), i + 2);
    }
    texts_ = column.take(), numbers_ = 0, text_rows_ = 0;
    for (const TextCell& t : texts_) text_rows_ += t.count;
    return true;
  }

  // `order`: names in the order that is asked for; empty: numbers by size, then texts by the alphabet.
  void as_category(TableColumn& out, const std::vector<std::string>& order) {
    std::map<double, int64_t> code_of_number;
    std::vector<int64_t> by_alphabet(texts_.size());
    std::vector<double> code_of_text(texts_.size());
    out.kind = ColumnKind::category;
    if (order.empty()) {
      for (const double v : different_) {
        code_of_number[v] = static_cast<int64_t>(out.categories.size());
        out.categories.push_back(number_name(v));
      }
      for (size_t k = 0; k < texts_.size(); ++k) by_alphabet[k] = static_cast<int64_t>(k);
      std::sort(by_alphabet.begin(), by_alphabet.end(),
                [&](int64_t a, int64_t b) { return texts_[a].text < texts_[b].text; });
      for (const int64_t k : by_alphabet) {
        code_of_text[k] = static_cast<double>(out.categories.size());
        out.categories.push_back(texts_[k].text);
      }
    } else {
      out.categories = order, out.ordered = true;
      const auto code = [&](const std::string& text, int64_t line) {
        const auto found = std::find(order.begin(), order.end(), text);
        if (found == order.end())
          refuse_text({text, line, 1}, fmt::format("one of {}", fmt::join(order, ", ")), "as --kind orders them");
        return static_cast<int64_t>(found - order.begin());
      };
      for (const double v : different_) code_of_number[v] = code(number_name(v), 0);
      for (size_t k = 0; k < texts_.size(); ++k)
        code_of_text[k] = static_cast<double>(code(texts_[k].text, texts_[k].line));
    }
    for (int64_t i = 0; i < n_; ++i) {
      double& v = x_[i * width_];
      if (!std::isnan(v)) v = static_cast<double>(code_of_number.at(v));
    }
    put_values(code_of_text);
  }

  bool as_asked(const AskedKind& asked, TableColumn& out) {
    out.asked = true;
    if (asked.kind == "identifier") {
      notes_.push_back(fmt::format("{} is left out as an identifier", name()));
      return false;
    }
    if (numbers_ + text_rows_ == 0)
      throw InputError("[--kind] {}: {}: expected values, got only missing ones", rules_.path, name());
    if (asked.kind == "number") return as_number_texts(true);
    if (asked.kind == "date") {
      if (!asked.detail.empty()) check_date_form(asked.detail, "--kind");
      return as_dates(asked.detail, out, true);
    }
    if (different_.size() + texts_.size() > kMostCategories)
      throw InputError("[--kind] {}: {}: expected at most {} categories, got {}", rules_.path, name(), kMostCategories,
                       different_.size() + texts_.size());
    as_category(out, asked.order);
    out.ordered = asked.kind == "ordered";
    return true;
  }

  Table& table_;
  int64_t column_;
  const KindRules& rules_;
  std::vector<std::string>& notes_;
  std::vector<TextCell>& texts_;
  int64_t n_ = 0, width_ = 0, numbers_ = 0, text_rows_ = 0;
  double* x_ = nullptr;
  std::set<double> different_;
};

std::map<int64_t, AskedKind> asked_kinds(const KindRules& rules, const Table& table) {
  std::map<int64_t, AskedKind> out;
  for (const std::string& entry : split(rules.kinds)) {
    if (entry == "auto") continue;
    const size_t equals = entry.rfind('=');
    AskedKind asked{equals == std::string::npos ? "" : entry.substr(equals + 1), ""};
    if (const size_t colon = asked.kind.find(':'); colon != std::string::npos)
      asked.detail = asked.kind.substr(colon + 1), asked.kind.resize(colon);
    const bool known = asked.kind == "number" || asked.kind == "category" || asked.kind == "ordered" ||
                       asked.kind == "date" || asked.kind == "identifier";
    if (!known)
      throw InputError(
          "[--kind] expected column=number, category, ordered[:low|mid|high or :@FILE], date[:D.M.Y] or identifier; "
          "got {}",
          in_quotes(entry));
    if (asked.kind == "ordered" || asked.kind == "category")
      asked.order = asked.detail.starts_with('@') ? order_in_file(asked.detail.substr(1)) : split(asked.detail, '|');
    const ColumnChoice one{.columns = {entry.substr(0, equals)}, .drop = {}};
    out[choose_columns(one, table.names, table.values.size(1), rules.path).front()] = asked;
  }
  return out;
}

}  // namespace

std::vector<TableColumn> recognise_columns(Table& table, const KindRules& rules, std::vector<std::string>& notes) {
  if (rules.decimal != "auto" && rules.decimal != "point" && rules.decimal != "comma")
    throw InputError("[data.decimal] expected auto, point or comma; got '{}'", rules.decimal);
  const std::map<int64_t, AskedKind> asked = asked_kinds(rules, table);
  std::vector<TableColumn> columns;
  std::vector<int64_t> kept;
  std::vector<std::string> names;
  for (int64_t k = 0; k < table.values.size(1); ++k) {
    TableColumn column;
    const auto own = asked.find(k);
    if (!ColumnLook(table, k, rules, notes).settle(own == asked.end() ? nullptr : &own->second, column)) continue;
    columns.push_back(std::move(column)), kept.push_back(k);
    if (!table.names.empty()) names.push_back(table.names[static_cast<size_t>(k)]);
  }
  const auto left = static_cast<int64_t>(kept.size());
  if (left == 0)
    throw InputError("[table] {}: expected a column to model, got none ({})", rules.path, fmt::join(notes, "; "));
  if (left < table.values.size(1))
    table.values = table.values.index_select(1, at::from_blob(kept.data(), {left}, at::kLong)).contiguous();
  table.names = std::move(names);
  table.texts.clear();
  return columns;
}

}  // namespace htfm
