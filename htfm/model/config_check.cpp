#include "htfm/model/config_check.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "htfm/base/registry.h"
#include "htfm/model/config_binding.h"

namespace htfm {

namespace {

// Options of other parts may stand in a file too; those of the chosen one are all kept, so that a checkpoint holds
// them.
template <class Infos>
void keep_own_options(const std::string& section, const Infos& infos, const std::string& part, PartOptions& values) {
  PartOptions kept;
  for (const auto& info : infos) {
    if (info.name != part) continue;
    const PartOptions own = own_options(info.options, values, section, part);
    for (const PartOption& option : info.options) kept.set(part + "." + option.name, *own.find(option.name));
  }
  values = std::move(kept);
}

}  // namespace

void check_config(RunConfig& c) {
  if (!c.source_law.empty()) {
    const SkewedSource& law = find_named(skewed_sources(), c.source_law, "source.law");
    if (c.clock.family != "deterministic" && c.clock.family != law.family)
      throw InputError("[clock.family] expected {} for source.law = {}, got {}", law.family, law.name, c.clock.family);
    c.clock.family = law.family;
  }
  // Parameters of other families may stand in a file, so that one line changes the tail; they are not used.
  const ClockFamily& family = find_named(clock_families(), c.clock.family, "clock.family");
  std::map<std::string, double> own;
  for (const ClockParameter& p : family.parameters)
    if (const auto found = c.clock.parameters.find(p.name); found != c.clock.parameters.end()) own.insert(*found);
  c.clock.parameters = std::move(own);
  const auto one_of = [](const char* key, const std::string& value, std::initializer_list<const char*> names) {
    std::string known;
    for (const char* n : names) {
      if (value == n) return;
      known += (known.empty() ? "" : ", ") + std::string(n);
    }
    throw InputError("[{}] expected one of {}; got '{}'", key, known, value);
  };
  find_named(networks(), c.net.kind, "net.kind");
  keep_own_options("net", networks(), c.net.kind, c.net.options);
  keep_own_options("path", schedules(), c.path.name, c.path.options);
  keep_own_options("coupling", couplings(), c.coupling.kind, c.coupling.options);
  one_of("train.times", c.train.times, {"auto", "uniform", "normal"});
  if (c.train.times == "normal" && c.method != "htfm")
    throw InputError("[train.times] expected uniform for method = {}, got {}", c.method, c.train.times);
  one_of("train.optimiser", c.train.optimiser, {"adamw", "muon"});
  one_of("train.precision", c.train.precision, {"bf16", "tf32", "float32"});
  one_of("sample.precision", c.sample.precision, {"auto", "fp8", "bf16", "tf32", "float32"});
  one_of("sample.time_grid", c.sample.time_grid, {"auto", "angle", "clock", "uniform"});
  one_of("data.normalise", c.data.normalise, {"none", "zscore", "robust", "log", "table", "scores"});
  one_of("data.scores", c.data.scores, {"normal", "logistic"});
  one_of("data.missing", c.data.missing, {"refuse", "drop", "keep"});
  one_of("data.decimal", c.data.decimal, {"auto", "point", "comma"});
  one_of("data.kind", c.data.kind, {"auto", "table", "cifar10", "png", "images", "fields"});
  one_of("data.subset", c.data.subset, {"all", "long-tail"});
  one_of("data.tail", c.data.tail, {"empirical", "pareto", "clusters"});
  one_of("precondition.scale", c.scale, {"constant", "clock"});
  one_of("precondition.time", c.time, {"auto", "path", "clock"});
  if (c.coupling.ot_entropy > 0 && c.coupling.ot_power > 2)
    throw InputError(
        "[coupling.ot_power] expected at most 2 with coupling.ot_entropy, which is computed in float32; got {}",
        c.coupling.ot_power);
  if (!c.condition.untold.empty() && c.data.normalise != "scores")
    throw InputError(
        "[condition.untold] expected data.normalise = scores, with which centre and scale follow the given columns, "
        "got {}",
        c.data.normalise);
  if (!c.data.independent.empty()) {
    if (c.coupling.kind != "independent")
      throw InputError(
          "[data.independent] expected coupling.kind = independent, since the sizes of rows change, got {}",
          c.coupling.kind);
    if (c.data.whiten)
      throw InputError("[data.independent] expected data.whiten = false, which mixes the columns, got true");
    if (c.condition.there())
      throw InputError("[data.independent] expected no condition, which belongs to rows as they are, got {}",
                       c.condition.ways().front());
  }
  one_of("net.path_map", c.net.path_map, {"two-layer", "linear"});
  one_of("net.modulation", c.net.modulation, {"scale-shift", "shift"});
  one_of("unet.attention_up", c.net.attention_up, {"each", "last"});
  one_of("unet.pyramid", c.net.pyramid, {"filtered", "strided"});
  one_of("feature.area", c.feature_area, {"auto", "on", "off"});
  one_of("feature.squash", c.feature_squash, {"auto", "on", "off"});
  one_of("feature.saturate", c.feature_saturate, {"auto", "on", "off"});
  if (c.path.learn && c.method != "htfm") throw InputError("[path.learn] expected method = htfm, got {}", c.method);
  if (c.path.learn && c.train.validation > 0)
    throw InputError(
        "[path.learn] expected train.validation = 0, since losses under different curves cannot be compared, got {}",
        c.train.validation);
  if (const std::vector<std::string> ways = c.condition.ways(); ways.size() > 1)
    throw InputError(
        "[condition] expected one of condition.columns, condition.file, condition.label and condition.field, got {}",
        fmt::join(ways, " and "));
  if (c.condition.focus > 0 && c.condition.field.empty())
    throw InputError(
        "[condition.focus] expected condition.field, whose fields determine how often a row is drawn, got none");
  if (c.condition.focus > 0 && c.coupling.kind != "independent")
    throw InputError(
        "[condition.focus] expected coupling.kind = independent, since levels are ranks among rows that are drawn "
        "equally often, got {}",
        c.coupling.kind);
  if (!c.condition.field.empty() && c.data.flip)
    throw InputError("[data.flip] expected false with condition.field, which would have to be mirrored too, got true");
  // Throws where method, clock, feature, schedule or coupling are wrong. What takes long to make and says nothing of
  // that is left out: a quantile of many clocks, the steps of a baseline.
  FlowMatchingSpec flow = c.flow();
  flow.clock = c.provisional_clock(), flow.feature.saturate = false;
  MethodOptions options = c.method_options;
  options.steps = std::min<int64_t>(options.steps, 2);
  c.net.mlp.feature = make_method(c.method, flow, options)->feature().size();
  c.net.unet.feature = c.net.mlp.feature, c.net.unet.path_embedding = c.net.mlp.path_embedding,
  c.net.unet.film = c.net.mlp.film;
  c.net.mlp.linear_path = c.net.unet.linear_path = c.net.path_map == "linear";
  c.net.mlp.shift_only = c.net.unet.shift_only = c.net.modulation == "shift";
  c.net.unet.attend_once_up = c.net.attention_up == "last";
  c.net.unet.strided_pyramid = c.net.pyramid == "strided";
  if (c.net.kind == "ncsnpp")
    c.net.unet.filtered = c.net.unet.rescale = true, c.net.unet.group_channels = 4,
    c.net.unet.progressive = c.net.progressive;
  c.net.unet.multipliers = parse_whole_numbers("unet.multipliers", c.net.multipliers);
  c.net.unet.attention = parse_whole_numbers("unet.attention", c.net.attention);
}

}  // namespace htfm
