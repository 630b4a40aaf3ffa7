#include "htfm/field/prepare_settings.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/nearest.h"
#include "htfm/base/parse_number.h"
#include "htfm/base/registry.h"
#include "htfm/base/split.h"
#include "htfm/io/text.h"
#include "htfm/io/toml_options.h"
#include "htfm/stat/score_law.h"

namespace htfm {

namespace {

constexpr double kScoreReach = 512;  // of hidden values beside scores, where not given

std::string recipe_summaries() {
  std::string out = "Named settings, which the options below override: ";
  for (const Recipe& r : recipes())
    out += fmt::format("{}{} ({})", &r == &recipes().front() ? "" : "; ", r.name, r.summary);
  return out;
}

std::vector<PrepareSetting> all_settings() {
  using enum SettingKind;
  constexpr int kAny = PrepareSetting::kAny;
  return {
      {"recipe", recipe_summaries()},
      {.name = "variable",
       .meaning = "GRIB short names or NetCDF variables, comma-separated, a channel for each; if none is chosen, what "
                  "the first file holds is listed",
       .most = kAny},
      {.name = "code", .meaning = "GRIB discipline/category/number, comma-separated, a channel for each", .most = kAny},
      {"level-type", "GRIB type of level: ecCodes' name, or the number in code table 4.5"},
      {"level", "Value of the level", number},
      {"step", "Hours from the analysis (6), or an interval of hours (0-6)"},
      {"step-type", "GRIB: instant, accum, avg, max, min, ..."},
      {.name = "member",
       .meaning = "One member of an ensemble; by default all, each as a separate field",
       .kind = whole,
       .lowest = 0},
      {"expand-reduced", "GRIB: interpolate reduced grids along their rows to regular ones", flag},
      {.name = "size",
       .meaning = "Rows and columns of a window (one number: both)",
       .kind = whole,
       .most = 2,
       .lowest = 0,
       .above = true},
      {"offset", "First row and column of the window", whole, 2, 2},
      {"centre", "Latitude and longitude of the window's middle", number, 2, 2},
      {"box", "South, west, north, east: all points inside", number, 4, 4},
      {.name = "tiles",
       .meaning = "Many windows, each this many rows and columns from the next, inside the coverage of the first frame",
       .kind = whole,
       .lowest = 0,
       .above = true},
      {.name = "train-tiles",
       .meaning = "The same for the training windows alone, which overlap if this is less than their size; the "
                  "held-out windows stay as --tiles has them",
       .kind = whole,
       .lowest = 0,
       .above = true},
      {"mask-below", "Values below this are codes for missing data", number},
      {"train",
       "Times to train on: years, months (2019-06 or 06), or the last share (0.25); by default all that are not held "
       "out"},
      {"test", "Times to hold out: years, months, or the last share (0.25)"},
      {"transform", "none, log1p or asinh, before mean and deviation; scores: each channel by its own distribution"},
      {.name = "score-law", .meaning = "scores: their distribution; by default normal", .choices = ScoreLaw::names()},
      {"unit", "log1p, asinh: the function is taken of x / unit", number},
      {"threshold", "Values below this are dry and become 0, also in samples; 0: no threshold", number},
      {"dequantise",
       "Spread values over a step of this size, dry ones below the threshold; 0: leave values as they are", number},
      {"dry-depth",
       "How far below the threshold dry values are spread; 0: down to 0. With scores: how far below 0 dry points lie "
       "at the reach; 0: by the distribution of their distances",
       number},
      {.name = "dry-reach",
       .meaning = "Hidden values of dry points fall with their distance from the rain of the whole frame, up to this "
                  "many points; 0: they are drawn. With scores the default is 512",
       .kind = number,
       .lowest = 0,
       .highest = 32767},
      {.name = "plain",
       .meaning = "Names of channels that take neither transform nor threshold, comma-separated",
       .most = kAny},
      {.name = "sequence",
       .meaning = "This many consecutive times become the channels of one field",
       .kind = whole,
       .lowest = 0,
       .above = true},
      {.name = "interval",
       .meaning = "Minutes between these times; by default the shortest interval between two times",
       .kind = number,
       .lowest = 0,
       .above = true},
      {"skip-damaged", "Leave out files that cannot be read, and list them", flag},
      {"resume",
       "Keep what has been read in OUTPUT.partial until the set is written; after an interruption the same command "
       "continues from there",
       flag},
  };
}

bool in_range(const PrepareSetting& setting, double v) {
  return (setting.above ? v > setting.lowest : v >= setting.lowest) && v <= setting.highest;
}

void check_values(const PrepareSetting& setting, const std::vector<std::string>& values) {
  const auto count = static_cast<int>(values.size());
  if (count < setting.fewest || count > setting.most)
    throw InputError("[{}] expected {} values, got {}", setting.name,
                     setting.fewest == setting.most ? fmt::format("{}", setting.most)
                                                    : fmt::format("{} to {}", setting.fewest, setting.most),
                     count);
  for (const std::string& text : values) {
    const std::optional<double> v = parse_finite(text);
    const bool whole = v && *v == std::round(*v) && std::abs(*v) < 1e15;
    switch (setting.kind) {
      case SettingKind::text:
        if (!setting.choices.empty() && std::ranges::find(setting.choices, text) == setting.choices.end())
          throw InputError("[{}] expected one of {}; got '{}'", setting.name, fmt::join(setting.choices, ", "), text);
        break;
      case SettingKind::flag:
        if (text != "true" && text != "false")
          throw InputError("[{}] expected true or false, got '{}'", setting.name, text);
        break;
      case SettingKind::whole:
      case SettingKind::number:
        if (!v || !in_range(setting, *v) || (setting.kind == SettingKind::whole && !whole))
          throw InputError("[{}] expected {}, got '{}'", setting.name, setting.range(), text);
    }
  }
}

// The values by name, checked, lists with commas taken apart.
class GivenValues {
 public:
  explicit GivenValues(const PrepareValues& values) {
    for (const auto& [name, own] : values) {
      const PrepareSetting& setting = find_named(prepare_settings(), name, "prepare");
      std::vector<std::string>& parts = values_[name];
      for (const std::string& text : own)
        for (std::string& part : setting.most > 1 ? split(text) : std::vector{text}) parts.push_back(std::move(part));
      check_values(setting, parts);
    }
  }
  bool has(const char* name) const { return values_.contains(name); }
  std::vector<std::string> texts(const char* name) const {
    return has(name) ? values_.at(name) : std::vector<std::string>();
  }
  const std::string& text(const char* name) const { return values_.at(name).front(); }
  bool flag(const char* name) const { return has(name) && text(name) == "true"; }
  double number(const char* name, size_t k = 0) const { return *parse_finite(values_.at(name)[k]); }
  int64_t whole(const char* name, size_t k = 0) const { return static_cast<int64_t>(number(name, k)); }
  size_t count(const char* name) const { return values_.at(name).size(); }

 private:
  PrepareValues values_;
};

void choose_channels(const GivenValues& v, PrepareSpec& spec) {
  if (v.has("variable") || v.has("code")) {
    spec.channels.clear(), spec.names.clear(), spec.units.clear();
    for (const std::string& name : v.texts("variable")) spec.channels.push_back({.name = name});
    for (const std::string& code : v.texts("code")) spec.channels.push_back({.code = parse_parameter_code(code)});
  }
  for (FieldChoice& c : spec.channels) {
    if (v.has("level-type")) c.level_type = v.text("level-type");
    if (v.has("level")) c.level = v.number("level");
    if (v.has("step")) c.set_step(v.text("step"));
    if (v.has("step-type")) c.step_type = v.text("step-type");
    if (v.has("member")) c.member = v.whole("member");
    c.expand_reduced = v.flag("expand-reduced");
  }
}

// A window that is named takes the place of the recipe's.
void choose_window(const GivenValues& v, PrepareSpec& spec) {
  if (v.has("offset") || v.has("centre") || v.has("box") || v.has("tiles"))
    spec.offset.reset(), spec.centre.reset(), spec.box.reset(), spec.tiles = 0;
  if (v.has("box")) spec.height = spec.width = 0;
  if (v.has("size")) spec.height = v.whole("size"), spec.width = v.whole("size", v.count("size") - 1);
  if (v.has("offset")) spec.offset = {v.whole("offset"), v.whole("offset", 1)};
  const auto place = [&](const char* key, size_t at) {
    const Place p{v.number(key, at), v.number(key, at + 1)};
    if (std::abs(p.latitude) > 90 || std::abs(p.longitude) > 360)
      throw InputError("[{}] expected latitudes from -90 to 90 before longitudes from -360 to 360, got {}, {}", key,
                       p.latitude, p.longitude);
    return p;
  };
  if (v.has("centre")) spec.centre = place("centre", 0);
  if (v.has("box")) spec.box = {place("box", 0), place("box", 2)};
  if (v.has("tiles")) spec.tiles = v.whole("tiles");
  if (v.has("train-tiles")) spec.train_tiles = v.whole("train-tiles");
  if (v.has("mask-below")) spec.mask_below = v.number("mask-below");
}

void choose_transform(const GivenValues& v, FieldTransform& transform) {
  if (v.has("transform")) transform.kind = v.text("transform");
  if (v.has("unit")) transform.unit = v.number("unit");
  if (v.has("threshold")) {
    const double threshold = v.number("threshold");
    transform.threshold = threshold > 0 ? std::optional(threshold) : std::nullopt;
  }
  if (v.has("dequantise")) transform.quantum = v.number("dequantise");
  if (v.has("dry-depth")) transform.depth = v.number("dry-depth");
  if (v.has("score-law")) transform.scores = v.text("score-law");
  if (v.has("dry-reach"))
    transform.reach = v.number("dry-reach");
  else if (transform.scored() && transform.threshold)
    transform.reach = kScoreReach;
}

}  // namespace

std::string PrepareSetting::range() const {
  const std::string what = kind == SettingKind::whole ? "a whole number" : "a number";
  if (std::isfinite(lowest) && std::isfinite(highest)) return fmt::format("{} from {} to {}", what, lowest, highest);
  if (std::isfinite(lowest)) return fmt::format("{} {} {}", what, above ? "above" : "of at least", lowest);
  return what;
}

const std::vector<PrepareSetting>& prepare_settings() {
  static const std::vector<PrepareSetting> list = all_settings();
  return list;
}

PrepareSpec make_prepare_spec(const PrepareValues& values) {
  const GivenValues v(values);
  PrepareSpec spec;
  if (v.has("recipe")) spec = find_named(recipes(), v.text("recipe"), "recipe").make(), spec.recipe = v.text("recipe");
  choose_channels(v, spec);
  choose_window(v, spec);
  choose_transform(v, spec.transform);
  if (v.has("train")) spec.train = v.text("train");
  if (v.has("test")) spec.test = v.text("test");
  spec.plain = v.texts("plain");
  if (v.has("sequence")) spec.sequence = v.whole("sequence");
  if (v.has("interval")) spec.interval = std::llround(v.number("interval") * 60);
  spec.skip_damaged = v.flag("skip-damaged"), spec.resume = v.flag("resume");
  return spec;
}

PrepareValues read_prepare_values(const std::string& path) {
  PrepareValues out;
  for (auto& [key, values] : read_toml_options(path)) {
    std::string name = key;
    std::ranges::replace(name, '_', '-');
    std::vector<std::string> known;
    for (const PrepareSetting& s : prepare_settings()) known.push_back(s.name);
    if (std::ranges::find(known, name) == known.end()) {
      const std::string like = nearest_name(name, known, 3);
      throw InputError(
          "[config] {}: expected options of htfm prepare as keys, got {}{} (htfm prepare --help lists them)", path,
          in_quotes(key), like.empty() ? "" : fmt::format(": did you mean {}?", like));
    }
    out[name] = std::move(values);
  }
  return out;
}

}  // namespace htfm
