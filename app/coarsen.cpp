// htfm coarsen: a prepared set on a coarser grid.
#include <fmt/format.h>

#include "app/commands.h"
#include "htfm/field/coarse_set.h"

namespace htfm::app {

void add_coarsen(CLI::App& app) {
  struct Options {
    Common common;
    std::string set, output;
    std::vector<int64_t> grid;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("coarsen", "Write the means of a prepared set over a coarser grid as another set");
  c->footer("Example: htfm coarsen rain.fields --grid 16,16 -o coarse.fields");
  c->add_option("set", o->set, "Prepared set (htfm prepare)")->required();
  c->add_option("--grid", o->grid, "Rows and columns of the coarser grid; they must divide those of the fields")
      ->required()
      ->delimiter(',')
      ->expected(2)
      ->check(positive());
  c->add_option("-o,--output", o->output, "Set to write")->required()->check(output_file());
  o->common.add(*c, {.seed = false, .device = false});
  c->callback([o] {
    o->common.apply();
    const FieldSet coarse = coarse_field_set(open_field_set(o->set), o->grid[0], o->grid[1], o->set);
    write_field_set(o->output, coarse);
    print_figures(o->common, {{"set", o->output},
                              {"fields", coarse.size()},
                              {"channels", coarse.channels},
                              {"grid", o->grid},
                              {"transform", coarse.transform.text()},
                              {"mean", coarse.transform.mean},
                              {"deviation", coarse.transform.deviation}});
  });
}

}  // namespace htfm::app
