// The keys of a configuration, each bound to a member of RunConfig: how it is read, set and written.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "htfm/io/toml_text.h"
#include "htfm/model/config.h"

namespace htfm {

struct ConfigBinding {
  ConfigKey key;
  std::function<void(RunConfig&, const toml::node&)> set;
  std::function<void(RunConfig&, const std::string&)> set_text;
  std::function<std::string(const RunConfig&)> text;  ///< as TOML; empty: leave the key out
};

/// The keys of every configuration.
class ConfigBindings {
 public:
  /// Those of this moment: they are made once, and again where a part was registered meanwhile.
  static std::shared_ptr<const ConfigBindings> now();
  std::vector<ConfigBinding> list;
  /// The key with this name. InputError with the nearest one where there is none; `where` stands before it.
  const ConfigBinding& find(std::string name, const std::function<std::string()>& where) const;

 private:
  ConfigBindings();
  void add_all(RunConfig& c);
  void add(std::string name, std::string& v, std::string meaning);
  void add(std::string name, bool& v, std::string meaning);
  void add(std::string name, int64_t& v, int64_t lowest, int64_t highest, std::string meaning);
  void add(std::string name, int& v, int lowest, int highest, std::string meaning);
  void add(std::string name, double& v, double lowest, double highest, std::string meaning);
  // A number, or "auto" where none is there.
  void add(std::string name, std::optional<double>& v, double lowest, double highest, std::string meaning);
  template <class Whole>
  void add_whole(std::string name, Whole& v, int64_t lowest, int64_t highest, std::string meaning);
  // A clock's parameter, absent until it is given. Its range belongs to the family.
  void add_clock_parameter(const ClockParameter& p, ClockSpec& clock);
  // Options of registered parts. Those of the chosen part always have values once a config is read.
  template <class Infos>
  void add_own_options(const std::string& section, const Infos& infos, PartOptions& values) {
    for (const auto& info : infos)
      for (const PartOption& option : info.options) add_own_option(section, info.name, option, values);
  }
  void add_own_option(const std::string& section, const std::string& part, const PartOption& option,
                      PartOptions& values);

  // A member of any configuration, by its place in the one that the keys are made with.
  template <class Value>
  class Member {
   public:
    explicit Member(std::ptrdiff_t place) : place_(place) {}
    Value& operator()(RunConfig& c) const { return *reinterpret_cast<Value*>(reinterpret_cast<char*>(&c) + place_); }
    const Value& operator()(const RunConfig& c) const {
      return *reinterpret_cast<const Value*>(reinterpret_cast<const char*>(&c) + place_);
    }

   private:
    std::ptrdiff_t place_;
  };
  template <class Value>
  Member<Value> member(const Value& v) const {
    return Member<Value>(reinterpret_cast<const char*>(&v) - reinterpret_cast<const char*>(first_));
  }

  const RunConfig* first_ = nullptr;  // while the keys are made
  std::unordered_map<std::string, size_t> places_;
  std::vector<std::string> names_, last_parts_;  // of the keys: whole, and behind the last dot
};

/// What a node holds, for messages.
std::string node_text(const toml::node& node);

/// Whole numbers with commas between, as the key's text gives them.
std::vector<int64_t> parse_whole_numbers(const std::string& key, const std::string& text);

}  // namespace htfm
