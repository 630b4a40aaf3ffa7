// htfm export: a prepared set as NetCDF or GRIB2.
#include <fmt/format.h>

#include <numeric>

#include "app/commands.h"
#include "htfm/base/error.h"
#include "htfm/field/field_export.h"

namespace htfm::app {

void add_export(CLI::App& app) {
  struct Options {
    Common common;
    std::string set, output, part = "all";
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("export", "Write a prepared set as NetCDF or GRIB2");
  c->footer("Example: htfm export rain.fields -o rain.nc");
  c->add_option("set", o->set, "Prepared set (htfm prepare)")->required();
  c->add_option("-o,--output", o->output, "File to write (.nc, .grib2)")
      ->required()
      ->check(output_file({".nc", ".grib2", ".grb2"}));
  c->add_option("--part", o->part, "Which fields")->check(one_of({"held-out", "train", "all"}))->capture_default_str();
  o->common.add(*c, {.seed = false, .device = false});
  c->callback([o] {
    o->common.apply();
    const FieldSet set = open_field_set(o->set);
    std::vector<int64_t> index(static_cast<size_t>(set.size()));
    std::iota(index.begin(), index.end(), 0);
    if (o->part != "all") index = set.part(o->part == "held-out");
    if (index.empty()) throw InputError("[--part] {}: expected fields of the part {}, got none", o->set, o->part);
    export_fields(set, index, o->output,
                  {{"title", fmt::format("Fields of {}, part {}", o->set, o->part)},
                   {"source", fmt::format("{}; set {}", version_text(), set.hash)},
                   {"history", fmt::format("htfm export {} -o {} --part {}", o->set, o->output, o->part)},
                   {"comment", set.provenance}});
    print_figures(o->common, {{"file", o->output}, {"fields", index.size()}, {"channels", set.channels}});
  });
}

}  // namespace htfm::app
