// htfm prepare: files of GRIB or NetCDF into one set of fields to train on.
#include <fmt/format.h>

#include "app/commands.h"
#include "app/field_list.h"
#include "htfm/base/error.h"
#include "htfm/field/prepare_settings.h"
#include "htfm/page/field_list_text.h"

namespace htfm::app {
namespace {

struct PrepareOptions {
  Common common;
  std::vector<std::string> files;
  std::string output, config;
  PrepareValues values;
};

void add_setting(CLI::App& command, const PrepareSetting& setting, PrepareValues& values) {
  const std::string option = "--" + setting.name;
  std::vector<std::string>& own = values[setting.name];
  if (setting.kind == SettingKind::flag) {
    command.add_flag_callback(
        option, [&own] { own = {"true"}; }, setting.meaning);
    return;
  }
  CLI::Option* added = command.add_option(option, own, setting.meaning);
  if (setting.most > 1) added->delimiter(',');
  if (setting.most < PrepareSetting::kAny) added->expected(setting.fewest, setting.most);
  if (setting.kind != SettingKind::text) added->type_name(setting.kind == SettingKind::whole ? "INT" : "FLOAT");
  if (!setting.choices.empty()) added->check(one_of(setting.choices));
}

// What was given on the command line, then what a file says of the rest.
PrepareValues given_values(const PrepareOptions& o) {
  PrepareValues out = o.values;
  std::erase_if(out, [](const auto& entry) { return entry.second.empty(); });
  if (!o.config.empty()) out.merge(read_prepare_values(o.config));
  return out;
}

}  // namespace

void add_prepare(CLI::App& app) {
  auto o = std::make_shared<PrepareOptions>();
  CLI::App* c = app.add_subcommand("prepare", "Make a prepared set of fields from GRIB or NetCDF files");
  c->footer(
      "Example: htfm prepare hrrr/*.grib2 --recipe hrrr-vil -o vil.fields\n"
      "         htfm prepare mrms --recipe mrms --tiles 64 -o rain.fields\n"
      "         htfm prepare era5.nc --variable tp --centre 48,11 --size 64 --test 2021 --transform log1p -o "
      "tp.fields");
  c->add_option("files", o->files, "Files, or folders of them")->required();
  c->add_option("-o,--output", o->output, "Set to write")->required()->check(output_file());
  c->add_option("--config", o->config, "TOML file with these options as keys");
  for (const PrepareSetting& setting : prepare_settings()) add_setting(*c, setting, o->values);
  o->common.add(*c, {.seed = false, .device = false});
  c->callback([o] {
    o->common.apply();
    const PrepareSpec spec = make_prepare_spec(given_values(*o));
    const std::vector<std::string> files = list_field_files(o->files);
    if (spec.channels.empty()) {
      print_field_list(o->common, files.front(), false);
      throw InputError(
          "[variable] expected the variable to read, got none: give --variable or --code; {} holds those listed above",
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
