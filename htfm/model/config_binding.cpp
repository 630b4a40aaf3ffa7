#include "htfm/model/config_binding.h"

#include <algorithm>
#include <mutex>

#include "htfm/base/nearest.h"
#include "htfm/base/parse_number.h"
#include "htfm/base/split.h"
#include "htfm/io/text.h"

namespace htfm {

namespace {

std::string toml_number(double v) {
  std::string s = fmt::format("{}", v);
  if (s.find_first_of(".einf") == std::string::npos) s += ".0";
  return s;
}

std::string toml_string(const std::string& v) {
  std::string out = "\"";
  for (const char c : v) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else
      out += c;
  }
  return out + "\"";
}

std::string option_text(const OptionValue& v) {
  return std::holds_alternative<double>(v) ? toml_number(std::get<double>(v)) : toml_string(std::get<std::string>(v));
}

template <class T>
T setting_number(const std::string& name, const std::string& text, const char* what) {
  const std::optional<T> v = parse_number<T>(text);
  if (!v) throw InputError("[{}] expected {}, got '{}'", name, what, text);
  return *v;
}

constexpr size_t kMostChanges = 4;  // of letters, from a key to the one that was meant

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

double number_in(const std::string& name, const toml::node& node) {
  if (!node.is_number()) throw InputError("[{}] expected a number, got {}", name, node_text(node));
  return *node.value<double>();
}

std::string text_in(const std::string& name, const toml::node& node) {
  if (!node.is_string()) throw InputError("[{}] expected text, got {}", name, node_text(node));
  return node.as_string()->get();
}

// A text of the command line. One that is not UTF-8 could be written into no file of a run.
const std::string& setting_text(const std::string& name, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(std::string_view(text).substr(at));
    if (length == 0) throw InputError("[{}] expected text in UTF-8, got {}", name, in_quotes(text));
    at += length;
  }
  return text;
}

}  // namespace

std::string node_text(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string: return fmt::format("'{}'", node.as_string()->get());
    case toml::node_type::integer: return fmt::format("{}", node.as_integer()->get());
    case toml::node_type::floating_point: return fmt::format("{}", node.as_floating_point()->get());
    case toml::node_type::boolean: return node.as_boolean()->get() ? "true" : "false";
    case toml::node_type::array: return "an array";
    case toml::node_type::table: return "a table";
    default: return "a date or time";
  }
}

std::vector<int64_t> parse_whole_numbers(const std::string& key, const std::string& text) {
  std::vector<int64_t> out;
  for (const std::string& part : split(text))
    out.push_back(setting_number<int64_t>(key, part, "whole numbers with commas between"));
  return out;
}

ConfigBindings::ConfigBindings() {
  RunConfig first;
  first_ = &first;
  add_all(first);
  first_ = nullptr;
  for (size_t k = 0; k < list.size(); ++k) {
    const std::string& name = list[k].key.name;
    places_.emplace(name, k);
    names_.push_back(name), last_parts_.push_back(last_part(name));
  }
}

std::shared_ptr<const ConfigBindings> ConfigBindings::now() {
  static std::mutex mutex;
  static std::shared_ptr<const ConfigBindings> last;
  static size_t parts_then = 0;
  // Parts come and never go.
  const size_t parts = clock_families().size() + schedules().size() + couplings().size() + networks().size();
  const std::lock_guard lock(mutex);
  if (!last || parts != parts_then) last.reset(new ConfigBindings()), parts_then = parts;
  return last;
}

const ConfigBinding& ConfigBindings::find(std::string name, const std::function<std::string()>& where) const {
  if (name == "precondition") name = "precondition.enabled";  // the short form of the command line
  if (const auto found = places_.find(name); found != places_.end()) return list[found->second];
  // A name without a group is compared with what stands behind the keys' dots.
  const std::vector<std::string>& names = name.find('.') == std::string::npos ? last_parts_ : names_;
  const std::string near = nearest_name(name, names, std::min(name.size() / 4 + 1, kMostChanges));
  const auto at = std::find(names.begin(), names.end(), near);
  const std::string meant = at == names.end() ? "" : list[static_cast<size_t>(at - names.begin())].key.name;
  if (meant.empty()) throw InputError("{}[{}] expected a known key; htfm train --keys lists them", where(), name);
  throw InputError("{}[{}] expected a known key, perhaps '{}'", where(), name, meant);
}

void ConfigBindings::add(std::string name, std::string& v, std::string meaning) {
  list.push_back({{name, "text", toml_string(v), std::move(meaning)},
                  [name, of = member(v)](RunConfig& c, const toml::node& n) { of(c) = text_in(name, n); },
                  [name, of = member(v)](RunConfig& c, const std::string& s) { of(c) = setting_text(name, s); },
                  [of = member(v)](const RunConfig& c) { return toml_string(of(c)); }});
}

void ConfigBindings::add(std::string name, bool& v, std::string meaning) {
  list.push_back({{name, "true or false", v ? "true" : "false", std::move(meaning)},
                  [name, of = member(v)](RunConfig& c, const toml::node& n) {
                    if (!n.is_boolean()) throw InputError("[{}] expected true or false, got {}", name, node_text(n));
                    of(c) = n.as_boolean()->get();
                  },
                  [name, of = member(v)](RunConfig& c, const std::string& s) {
                    if (s != "true" && s != "false" && s != "on" && s != "off")
                      throw InputError("[{}] expected true or false, got '{}'", name, s);
                    of(c) = s == "true" || s == "on";
                  },
                  [of = member(v)](const RunConfig& c) { return of(c) ? "true" : "false"; }});
}

template <class Whole>
void ConfigBindings::add_whole(std::string name, Whole& v, int64_t lowest, int64_t highest, std::string meaning) {
  const auto check = [name, lowest, highest](int64_t x) {
    if (x < lowest || x > highest)
      throw InputError("[{}] expected a whole number from {} to {}, got {}", name, lowest, highest, x);
    return static_cast<Whole>(x);
  };
  list.push_back({{name, "whole number", fmt::format("{}", v), std::move(meaning)},
                  [name, of = member(v), check](RunConfig& c, const toml::node& n) {
                    if (!n.is_integer()) throw InputError("[{}] expected a whole number, got {}", name, node_text(n));
                    of(c) = check(n.as_integer()->get());
                  },
                  [name, of = member(v), check](RunConfig& c, const std::string& s) {
                    of(c) = check(setting_number<int64_t>(name, s, "a whole number"));
                  },
                  [of = member(v)](const RunConfig& c) { return fmt::format("{}", of(c)); }});
}

void ConfigBindings::add(std::string name, int64_t& v, int64_t lowest, int64_t highest, std::string meaning) {
  add_whole(std::move(name), v, lowest, highest, std::move(meaning));
}

void ConfigBindings::add(std::string name, int& v, int lowest, int highest, std::string meaning) {
  add_whole(std::move(name), v, lowest, highest, std::move(meaning));
}

void ConfigBindings::add(std::string name, double& v, double lowest, double highest, std::string meaning) {
  const auto check = [name, lowest, highest](double x) {
    if (!(x >= lowest && x <= highest))
      throw InputError("[{}] expected a number from {} to {}, got {}", name, lowest, highest, x);
    return x;
  };
  list.push_back(
      {{name, "number", fmt::format("{}", v), std::move(meaning)},
       [name, of = member(v), check](RunConfig& c, const toml::node& n) { of(c) = check(number_in(name, n)); },
       [name, of = member(v), check](RunConfig& c, const std::string& s) {
         of(c) = check(setting_number<double>(name, s, "a number"));
       },
       [of = member(v)](const RunConfig& c) { return toml_number(of(c)); }});
}

void ConfigBindings::add(std::string name, std::optional<double>& v, double lowest, double highest,
                         std::string meaning) {
  const auto set = [name, lowest, highest, of = member(v)](RunConfig& c, double x) {
    if (!(x >= lowest && x <= highest))
      throw InputError("[{}] expected auto or a number from {} to {}, got {}", name, lowest, highest, x);
    of(c) = x;
  };
  const auto set_text = [name, set, of = member(v)](RunConfig& c, const std::string& s) {
    if (s == "auto")
      of(c).reset();
    else
      set(c, setting_number<double>(name, s, "auto or a number"));
  };
  list.push_back({{name, "number or auto", v ? fmt::format("{}", *v) : toml_string("auto"), std::move(meaning)},
                  [name, set, set_text](RunConfig& c, const toml::node& n) {
                    if (n.is_string())
                      set_text(c, n.as_string()->get());
                    else
                      set(c, number_in(name, n));
                  },
                  set_text,
                  [of = member(v)](const RunConfig& c) { return of(c) ? toml_number(*of(c)) : toml_string("auto"); }});
}

void ConfigBindings::add_clock_parameter(const ClockParameter& p, ClockSpec& clock) {
  const std::string name = "clock." + p.name;
  list.push_back({{name, "number", "", p.meaning},
                  [name, own = p.name, of = member(clock)](RunConfig& c, const toml::node& n) {
                    of(c).parameters[own] = number_in(name, n);
                  },
                  [name, own = p.name, of = member(clock)](RunConfig& c, const std::string& s) {
                    of(c).parameters[own] = setting_number<double>(name, s, "a number");
                  },
                  [own = p.name, of = member(clock)](const RunConfig& c) {
                    const auto found = of(c).parameters.find(own);
                    return found == of(c).parameters.end() ? std::string() : toml_number(found->second);
                  }});
}

void ConfigBindings::add_own_option(const std::string& section, const std::string& part, const PartOption& option,
                                    PartOptions& values) {
  const std::string own = part + "." + option.name, name = section + "." + own;
  const bool number = std::holds_alternative<double>(option.value);
  list.push_back({{name, number ? "number" : "text", option_text(option.value), option.meaning},
                  [name, own, number, of = member(values)](RunConfig& c, const toml::node& n) {
                    of(c).set(own, number ? OptionValue(number_in(name, n)) : OptionValue(text_in(name, n)));
                  },
                  [name, own, number, of = member(values)](RunConfig& c, const std::string& s) {
                    of(c).set(own, number ? OptionValue(setting_number<double>(name, s, "a number"))
                                          : OptionValue(setting_text(name, s)));
                  },
                  [own, of = member(values)](const RunConfig& c) {
                    const OptionValue* found = of(c).find(own);
                    return found ? option_text(*found) : std::string();
                  }});
}

}  // namespace htfm
