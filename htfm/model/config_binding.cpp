#include "htfm/model/config_binding.h"

#include <algorithm>

#include "htfm/base/nearest.h"
#include "htfm/base/parse_number.h"
#include "htfm/base/split.h"

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
    if (static_cast<unsigned char>(c) < 0x20)
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

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

double number_in(const std::string& name, const toml::node& node) {
  if (!node.is_number()) throw InputError("[{}] expected a number, got {}", name, node_text(node));
  return *node.value<double>();
}

std::string text_in(const std::string& name, const toml::node& node) {
  if (!node.is_string()) throw InputError("[{}] expected text, got {}", name, node_text(node));
  return node.as_string()->get();
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

ConfigBinding& ConfigBindings::find(std::string name, const std::string& where) {
  if (name == "precondition") name = "precondition.enabled";  // the short form of the command line
  for (ConfigBinding& b : list)
    if (b.key.name == name) return b;
  // A name without a group is compared with what stands behind the keys' dots.
  const bool grouped = name.find('.') != std::string::npos;
  std::vector<std::string> names;
  for (const ConfigBinding& b : list) names.push_back(grouped ? b.key.name : last_part(b.key.name));
  const std::string near = nearest_name(name, names, name.size() / 4 + 1);
  const auto at = std::find(names.begin(), names.end(), near);
  const std::string meant = at == names.end() ? "" : list[static_cast<size_t>(at - names.begin())].key.name;
  if (meant.empty()) throw InputError("{}[{}] expected a known key; htfm train --keys lists them", where, name);
  throw InputError("{}[{}] expected a known key, perhaps '{}'", where, name, meant);
}

void ConfigBindings::add(std::string name, std::string& v, std::string meaning) {
  list.push_back({{name, "text", toml_string(v), std::move(meaning)},
                  [name, &v](const toml::node& n) { v = text_in(name, n); },
                  [&v](const std::string& s) { v = s; },
                  [&v] { return toml_string(v); }});
}

void ConfigBindings::add(std::string name, bool& v, std::string meaning) {
  list.push_back({{name, "true or false", v ? "true" : "false", std::move(meaning)},
                  [name, &v](const toml::node& n) {
                    if (!n.is_boolean()) throw InputError("[{}] expected true or false, got {}", name, node_text(n));
                    v = n.as_boolean()->get();
                  },
                  [name, &v](const std::string& s) {
                    if (s != "true" && s != "false" && s != "on" && s != "off")
                      throw InputError("[{}] expected true or false, got '{}'", name, s);
                    v = s == "true" || s == "on";
                  },
                  [&v] { return v ? "true" : "false"; }});
}

template <class Whole>
void ConfigBindings::add_whole(std::string name, Whole& v, int64_t lowest, int64_t highest, std::string meaning) {
  const auto check = [name, lowest, highest](int64_t x) {
    if (x < lowest || x > highest)
      throw InputError("[{}] expected a whole number from {} to {}, got {}", name, lowest, highest, x);
    return static_cast<Whole>(x);
  };
  list.push_back(
      {{name, "whole number", fmt::format("{}", v), std::move(meaning)},
       [name, &v, check](const toml::node& n) {
         if (!n.is_integer()) throw InputError("[{}] expected a whole number, got {}", name, node_text(n));
         v = check(n.as_integer()->get());
       },
       [name, &v, check](const std::string& s) { v = check(setting_number<int64_t>(name, s, "a whole number")); },
       [&v] { return fmt::format("{}", v); }});
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
  list.push_back({{name, "number", fmt::format("{}", v), std::move(meaning)},
                  [name, &v, check](const toml::node& n) { v = check(number_in(name, n)); },
                  [name, &v, check](const std::string& s) { v = check(setting_number<double>(name, s, "a number")); },
                  [&v] { return toml_number(v); }});
}

void ConfigBindings::add(std::string name, std::optional<double>& v, double lowest, double highest,
                         std::string meaning) {
  const auto set = [name, lowest, highest, &v](double x) {
    if (!(x >= lowest && x <= highest))
      throw InputError("[{}] expected auto or a number from {} to {}, got {}", name, lowest, highest, x);
    v = x;
  };
  const auto set_text = [name, set, &v](const std::string& s) {
    if (s == "auto")
      v.reset();
    else
      set(setting_number<double>(name, s, "auto or a number"));
  };
  list.push_back({{name, "number or auto", v ? fmt::format("{}", *v) : toml_string("auto"), std::move(meaning)},
                  [name, set, set_text](const toml::node& n) {
                    if (n.is_string())
                      set_text(n.as_string()->get());
                    else
                      set(number_in(name, n));
                  },
                  set_text,
                  [&v] { return v ? toml_number(*v) : toml_string("auto"); }});
}

void ConfigBindings::add_clock_parameter(const ClockParameter& p, ClockSpec& clock) {
  const std::string name = "clock." + p.name;
  list.push_back({{name, "number", "", p.meaning},
                  [name, own = p.name, &clock](const toml::node& n) { clock.parameters[own] = number_in(name, n); },
                  [name, own = p.name, &clock](const std::string& s) {
                    clock.parameters[own] = setting_number<double>(name, s, "a number");
                  },
                  [own = p.name, &clock] {
                    const auto found = clock.parameters.find(own);
                    return found == clock.parameters.end() ? std::string() : toml_number(found->second);
                  }});
}

void ConfigBindings::add_own_option(const std::string& section, const std::string& part, const PartOption& option,
                                    PartOptions& values) {
  const std::string own = part + "." + option.name, name = section + "." + own;
  const bool number = std::holds_alternative<double>(option.value);
  list.push_back({{name, number ? "number" : "text", option_text(option.value), option.meaning},
                  [name, own, number, &values](const toml::node& n) {
                    values.set(own, number ? OptionValue(number_in(name, n)) : OptionValue(text_in(name, n)));
                  },
                  [name, own, number, &values](const std::string& s) {
                    values.set(own, number ? OptionValue(setting_number<double>(name, s, "a number")) : OptionValue(s));
                  },
                  [own, &values] {
                    const OptionValue* found = values.find(own);
                    return found ? option_text(*found) : std::string();
                  }});
}

}  // namespace htfm
