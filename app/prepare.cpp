// htfm prepare: files of GRIB or NetCDF into one set of fields to train on.
#include "htfm/field/prepare.h"

#include <fmt/format.h>

#include <cmath>

#include "app/commands.h"
#include "app/field_list.h"
#include "htfm/base/error.h"
#include "htfm/base/registry.h"
#include "htfm/io/toml_options.h"
#include "htfm/page/field_list_text.h"

namespace htfm::app {
namespace {

struct PrepareOptions {
  Common common;
  std::vector<std::string> files;
  std::string output, config, recipe;
  std::vector<std::string> variables, codes;
  std::string level_type, step, step_type, train, test, transform, score_law = "normal";
  std::vector<std::string> plain;
  bool expand_reduced = false, skip_damaged = false, resume = false;
  double level = 0, interval = 0, mask_below = 0, unit = 1, threshold = 0, dequantise = 0, dry_depth = 0, dry_reach = 0;
  int64_t tiles = 0, member = 0, sequence = 1;
  std::vector<int64_t> size, offset;
  std::vector<double> centre, box;
};

constexpr double kScoreReach = 512;  // of hidden values beside scores, where not given

// What the recipe leaves open or the user changes.
PrepareSpec make_spec(const PrepareOptions& o, const CLI::App& command) {
  PrepareSpec spec;
  if (!o.recipe.empty()) spec = find_named(recipes(), o.recipe, "recipe").make();
  spec.recipe = o.recipe;
  const auto given = [&](const char* name) { return command.get_option(name)->count() > 0; };
  if (!o.variables.empty() || !o.codes.empty()) {
    spec.channels.clear(), spec.names.clear(), spec.units.clear();
    for (const std::string& name : o.variables) spec.channels.push_back({.name = name});
    for (const std::string& code : o.codes) spec.channels.push_back({.code = parse_parameter_code(code)});
  }
  for (FieldChoice& c : spec.channels) {
    if (given("--level-type")) c.level_type = o.level_type;
    if (given("--level")) c.level = o.level;
    if (given("--step")) c.set_step(o.step);
    if (given("--step-type")) c.step_type = o.step_type;
    if (given("--member")) c.member = o.member;
    c.expand_reduced = o.expand_reduced;
  }
  if (given("--offset") || given("--centre") || given("--box") || given("--tiles"))
    spec.offset.reset(), spec.centre.reset(), spec.box.reset(), spec.tiles = 0;
  if (given("--box")) spec.height = spec.width = 0;
  if (given("--size")) spec.height = o.size[0], spec.width = o.size.back();
  if (given("--offset")) spec.offset = {o.offset[0], o.offset[1]};
  if (given("--centre")) spec.centre = Place{o.centre[0], o.centre[1]};
  if (given("--box")) spec.box = {Place{o.box[0], o.box[1]}, Place{o.box[2], o.box[3]}};
  if (given("--tiles")) spec.tiles = o.tiles;
  if (given("--mask-below")) spec.mask_below = o.mask_below;
  if (given("--train")) spec.train = o.train;
  if (given("--test")) spec.test = o.test;
  if (given("--transform")) spec.transform.kind = o.transform;
  if (given("--unit")) spec.transform.unit = o.unit;
  if (given("--threshold")) spec.transform.threshold = o.threshold > 0 ? std::optional(o.threshold) : std::nullopt;
  if (given("--dequantise")) spec.transform.quantum = o.dequantise;
  if (given("--dry-depth")) spec.transform.depth = o.dry_depth;
  if (given("--score-law")) spec.transform.scores = o.score_law;
  if (given("--dry-reach"))
    spec.transform.reach = o.dry_reach;
  else if (spec.transform.scored() && spec.transform.threshold)
    spec.transform.reach = kScoreReach;
  spec.plain = o.plain, spec.sequence = o.sequence;
  spec.interval = std::llround(o.interval * 60);
  spec.skip_damaged = o.skip_damaged, spec.resume = o.resume;
  return spec;
}

// The keys of a TOML file are the names of the options; what the command line says comes first.
void read_config(const std::string& path, CLI::App& command) {
  for (const auto& [key, values] : read_toml_options(path)) {
    std::string name = "--" + key;
    std::replace(name.begin(), name.end(), '_', '-');
    CLI::Option* option = command.get_option_no_throw(name);
    if (!option || key == "config") throw InputError("{}: [{}] expected an option of htfm prepare", path, key);
    if (option->count() > 0) continue;
    for (const std::string& value : values) option->add_result(value);
    option->run_callback();
  }
}

}  // namespace

void add_prepare(CLI::App& app) {
  auto o = std::make_shared<PrepareOptions>();
  CLI::App* c = app.add_subcommand("prepare", "Make a set of fields out of GRIB or NetCDF files");
  c->footer(
      "Example: htfm prepare hrrr/*.grib2 --recipe hrrr-vil -o vil.fields\n"
      "         htfm prepare mrms --recipe mrms --tiles 64 -o rain.fields\n"
      "         htfm prepare era5.nc --variable tp --centre 48,11 --size 64 --test 2021 --transform log1p -o "
      "tp.fields");
  c->add_option("files", o->files, "Files, or folders of them")->required();
  c->add_option("-o,--output", o->output, "Set to write")->required();
  c->add_option("--config", o->config, "TOML file with these options as keys");
  std::string names;
  for (const Recipe& r : recipes()) names += fmt::format("{}{} ({})", names.empty() ? "" : "; ", r.name, r.summary);
  c->add_option("--recipe", o->recipe, "Settings by name, which the options below change: " + names);
  c->add_option(
       "--variable", o->variables,
       "GRIB short names or NetCDF variables, comma-separated: a channel each; none: what the first file holds")
      ->delimiter(',');
  c->add_option("--code", o->codes, "GRIB discipline/category/number, comma-separated: a channel each")->delimiter(',');
  c->add_option("--level-type", o->level_type, "GRIB type of level: ecCodes' name, or the number of code table 4.5");
  c->add_option("--level", o->level, "Value of the level");
  c->add_option("--step", o->step, "Hours from the analysis (6), or an interval of them (0-6)");
  c->add_option("--step-type", o->step_type, "GRIB: instant, accum, avg, max, min, ...");
  c->add_option("--member", o->member, "One member of an ensemble; all where not given, each a field of its own")
      ->check(not_negative());
  c->add_flag("--expand-reduced", o->expand_reduced,
              "GRIB: interpolate reduced grids along their rows to regular ones");
  c->add_option("--size", o->size, "Rows and columns of a window (one number: both)")
      ->delimiter(',')
      ->expected(1, 2)
      ->check(positive());
  c->add_option("--offset", o->offset, "First row and column of the window")->delimiter(',')->expected(2);
  c->add_option("--centre", o->centre, "Latitude and longitude of its middle")->delimiter(',')->expected(2);
  c->add_option("--box", o->box, "South, west, north, east: all points between")->delimiter(',')->expected(4);
  c->add_option("--tiles", o->tiles, "Windows so many rows and columns apart, inside the coverage of the first frame")
      ->check(positive());
  c->add_option("--mask-below", o->mask_below, "Smaller values are codes for what is missing");
  c->add_option("--train", o->train, "Times to train on: years, months (2019-06 or 06); all others where not given");
  c->add_option("--test", o->test, "Times held out: years, months, or the last share (0.25)");
  c->add_option("--transform", o->transform,
                "none, log1p or asinh, before mean and deviation; scores: each channel by its own law");
  c->add_option("--score-law", o->score_law, "scores: the law that they have")
      ->check(CLI::IsMember(ScoreLaw::names()))
      ->capture_default_str();
  c->add_option("--unit", o->unit, "log1p, asinh: of x / unit");
  c->add_option("--threshold", o->threshold, "Values below are dry: 0, also in samples; 0: no threshold");
  c->add_option("--dequantise", o->dequantise,
                "Spread values over this step, dry ones below the threshold; 0: as they are");
  c->add_option(
      "--dry-depth", o->dry_depth,
      "Spread dry values so far down from the threshold; 0: by the threshold itself. With scores: how deep dry "
      "points lie at the reach; 0: by the law of their distances");
  c->add_option("--dry-reach", o->dry_reach,
                "Hidden values of dry points fall with their distance from the rain of the whole frame, up to so many "
                "points; 0: they are drawn. With scores 512 where not given")
      ->check(between(0, 32767));
  c->add_option("--plain", o->plain, "Channels that take neither transform nor threshold, by name, comma-separated")
      ->delimiter(',');
  c->add_option("--sequence", o->sequence, "So many times after each other as the channels of one field")
      ->check(positive());
  c->add_option("--interval", o->interval, "Minutes between them; the shortest between two times where not given")
      ->check(positive());
  c->add_flag("--skip-damaged", o->skip_damaged, "Leave files out that cannot be read, and name them");
  c->add_flag("--resume", o->resume,
              "Keep what is read in OUTPUT.partial until the set is written, and go on from there after a stop");
  o->common.add(*c);
  c->callback([o, c] {
    o->common.apply();
    if (!o->config.empty()) read_config(o->config, *c);
    const PrepareSpec spec = make_spec(*o, *c);
    const std::vector<std::string> files = list_field_files(o->files);
    if (spec.channels.empty()) {
      print_field_list(o->common, files.front(), false);
      throw InputError(
          "[variable] expected the variable to read (--variable or --code), got none: {} holds those above",
          files.front());
    }
    StatusLine line("prepare: ");
    const auto all = static_cast<int64_t>(files.size());
    const auto started = std::chrono::steady_clock::now();
    const PrepareSummary s = prepare_fields(files, spec, o->output, [&](int64_t done) {
      if (std::chrono::steady_clock::now() - started > std::chrono::seconds(2))
        line.show(fmt::format("{} of {} files", done, all));
    });
    for (const std::string& reason : s.skipped) say("skipped: " + reason);
    Json j{{"set", o->output}};
    j.update(Json::parse(prepared_json(s, open_field_set(o->output))));
    print_figures(o->common, j);
  });
}

}  // namespace htfm::app
