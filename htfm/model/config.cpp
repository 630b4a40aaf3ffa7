#include "htfm/model/config.h"

#include <functional>

#include "htfm/base/registry.h"
#include "htfm/io/file.h"
#include "htfm/io/toml_text.h"
#include "htfm/model/config_binding.h"
#include "htfm/model/config_check.h"

namespace htfm {

namespace {

// Keys of earlier versions. With the value that they had by default they may stand in a file.
struct RetiredKey {
  std::string_view name, value, advice;
};
constexpr RetiredKey kRetired[] = {
    {"data.python", "python3",
     "set the variable HTFM_PARQUET_PYTHON, or give --python to fit and tails: no file may name a program"}};

bool is_retired(const std::string& name, const toml::node& node, const std::function<std::string()>& where,
                bool saved) {
  for (const RetiredKey& key : kRetired) {
    if (key.name != name) continue;
    if (!saved && node.value_or(std::string()) != key.value)
      throw InputError("{}[{}] expected no such key any more, got {} ({})", where(), name, node_text(node), key.advice);
    return true;
  }
  return false;
}

// `saved`: out of a checkpoint.
void walk(const ConfigBindings& keys, const toml::table& table, const std::string& prefix, const std::string& origin,
          bool saved, RunConfig& config) {
  for (const auto& [k, node] : table) {
    const std::string name = prefix.empty() ? std::string(k.str()) : prefix + "." + std::string(k.str());
    if (node.is_table()) {
      walk(keys, *node.as_table(), name, origin, saved, config);
      continue;
    }
    const auto where = [&origin, &own = node] { return fmt::format("{}:{}: ", origin, own.source().begin.line); };
    if (is_retired(name, node, where, saved)) continue;
    const ConfigBinding& key = keys.find(name, where);
    try {
      key.set(config, node);
    } catch (const InputError& e) {
      throw InputError("{}{}", where(), e.what());
    }
  }
}

// A checkpoint may name parts of the program that made it; whoever reads it is told which.
template <class Infos>
void check_registered(const toml::table& table, const char* section, const char* key, const Infos& infos,
                      const char* what, const std::string& origin) {
  const std::optional<std::string> name = table[section][key].value<std::string>();
  if (!name || std::any_of(infos.begin(), infos.end(), [&](const auto& info) { return info.name == *name; })) return;
  throw InputError(
      "[checkpoint] {}: expected the {} '{}' ({}.{}) to be registered, got none: call htfm::register_{} before loading",
      origin, what, *name, section, key, what);
}

void check_registered(const toml::table& table, const std::string& origin) {
  check_registered(table, "clock", "family", clock_families(), "clock", origin);
  check_registered(table, "path", "schedule", schedules(), "schedule", origin);
  check_registered(table, "coupling", "kind", couplings(), "coupling", origin);
  check_registered(table, "net", "kind", networks(), "network", origin);
}

// Where times matter more than elsewhere: at most ratios of noise to signal an image shows nothing, or all of itself.
bool learns_images(const RunConfig& c) {
  return c.method == "htfm" && c.precondition && !c.path.learn && c.coupling.kind == "independent" &&
         (c.net.kind == "unet" || c.net.kind == "ncsnpp");
}

// Noise between levels that gives the bulk of points and tables what a coupling of equal levels takes (doc/tails.md).
constexpr double kNoise = 1.5, kNoiseFade = 0.3;

bool blurs_levels(const RunConfig& c) {
  const std::string& kind = c.coupling.kind;
  return (kind == "pool" || kind == "radial" || kind == "clock") && c.net.kind == "mlp";
}

}  // namespace

bool RunConfig::uses_clock_time() const { return time == "clock" || (time == "auto" && learns_images(*this)); }

bool RunConfig::uses_normal_times() const {
  return train.times == "normal" || (train.times == "auto" && learns_images(*this));
}

FlowMatchingSpec RunConfig::flow() const {
  FlowMatchingSpec spec{.clock = clock,
                        .feature = feature,
                        .schedule = path,
                        .coupling = coupling,
                        .source = source,
                        .covariance = covariance,
                        .precondition = precondition,
                        .clock_time = uses_clock_time(),
                        .tail = data.tail == "pareto"     ? DataTail::pareto
                                : data.tail == "clusters" ? DataTail::clusters
                                                          : DataTail::empirical,
                        .times = {uses_normal_times(), train.times_centre, train.times_spread}};
  // Once coupled, the data depend on the clock through its area, which a truncated signature tells only roughly.
  const bool coupled = coupling.kind != "independent";
  spec.feature.area = feature_area == "on" || (feature_area == "auto" && coupled);
  spec.feature.squash = feature_squash == "on" || (feature_squash == "auto" && coupled);
  spec.coupling.noise = coupling_noise ? *coupling_noise : blurs_levels(*this) ? kNoise : 0;
  if (!coupling_noise && blurs_levels(*this)) spec.coupling.noise_fade = kNoiseFade;
  spec.feature.saturate =
      feature_saturate == "on" || (feature_saturate == "auto" && coupled && scale == "clock" && precondition);
  return spec;
}

ClockSpec RunConfig::provisional_clock() const {
  const bool later = find_named(clock_families(), clock.family, "clock.family").from_data &&
                     find_named(methods(), method, "method").any_clock;
  return later ? ClockSpec{"inverse-gamma", {{"nu", 2.0}}, clock.grid} : clock;
}

std::unique_ptr<Method> RunConfig::make_method(const ClockSpec& chosen, DataScale own_scale) const {
  FlowMatchingSpec spec = flow();
  spec.clock = chosen;
  return htfm::make_method(method, spec, method_options, std::move(own_scale));
}

std::vector<ConfigKey> config_keys() {
  const auto keys = ConfigBindings::now();
  std::vector<ConfigKey> out;
  for (const ConfigBinding& b : keys->list) out.push_back(b.key);
  return out;
}

std::string config_key_table() {
  std::string out = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const ConfigKey& k : config_keys()) {
    std::string meaning;
    for (const char c : k.meaning) meaning += c == '|' ? "\\|" : std::string(1, c);  // a bar would end the cell
    out += fmt::format("| `{}` | {} | {} | {} |\n", k.name, k.type,
                       k.default_value.empty() ? "" : "`" + k.default_value + "`", meaning);
  }
  return out;
}

namespace {

RunConfig parse(const std::string& text, const std::string& origin, const std::vector<std::string>& settings,
                bool saved) {
  RunConfig c;
  if (saved) c.time = "path", c.train.times = "uniform";  // of a run from before these keys
  const toml::table table = parse_toml(text, origin);
  if (saved) check_registered(table, origin);
  walk(*ConfigBindings::now(), table, "", origin, saved, c);
  return with_settings(std::move(c), settings);
}

}  // namespace

RunConfig with_settings(RunConfig config, const std::vector<std::string>& settings) {
  const auto keys = ConfigBindings::now();
  for (const std::string& setting : settings) {
    const size_t eq = setting.find('=');
    if (eq == std::string::npos || eq == 0) throw InputError("[--set] expected key=value, got '{}'", setting);
    keys->find(setting.substr(0, eq), [] { return "--set "; }).set_text(config, setting.substr(eq + 1));
  }
  check_config(config);
  return config;
}

RunConfig parse_config(const std::string& text, const std::string& origin, const std::vector<std::string>& settings) {
  return parse(text, origin, settings, false);
}

RunConfig parse_saved_config(const std::string& text, const std::string& origin) {
  return parse(text, origin, {}, true);
}

RunConfig load_config(const std::string& path, const std::vector<std::string>& settings) {
  return parse_config(read_file(path), path, settings);
}

std::string format_config(const RunConfig& config) {
  const auto keys = ConfigBindings::now();
  std::string out, section;
  for (const ConfigBinding& b : keys->list) {
    const std::string value = b.text(config);
    if (value.empty()) continue;
    const size_t dot = b.key.name.find('.');
    const std::string own = dot == std::string::npos ? "" : b.key.name.substr(0, dot);
    if (own != section) out += fmt::format("\n[{}]\n", own), section = own;
    out += fmt::format("{} = {}\n", dot == std::string::npos ? b.key.name : b.key.name.substr(dot + 1), value);
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> config_entries(const RunConfig& config) {
  const auto keys = ConfigBindings::now();
  std::vector<std::pair<std::string, std::string>> out;
  for (const ConfigBinding& b : keys->list) {
    std::string value = b.text(config);
    if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
    if (!value.empty()) out.emplace_back(b.key.name, value);
  }
  return out;
}

std::vector<std::string> config_differences(const RunConfig& a, const RunConfig& b) {
  const auto keys = ConfigBindings::now();
  std::vector<std::string> out;
  for (const ConfigBinding& key : keys->list)
    if (key.text(a) != key.text(b)) out.push_back(key.key.name);
  return out;
}

bool may_change_on_resume(const std::string& key) {
  return key == "train.epochs" || key == "train.checkpoint_steps" || key == "train.keep" || key == "train.keep_every" ||
         key == "train.log_steps" || key == "train.max_bad_steps" || key.starts_with("sample.") ||
         key == "baseline.sampler" || key == "baseline.eta" || key == "diffusion.grid" || key == "diffusion.threshold";
}

}  // namespace htfm
