// htfm demo: the main job on built-in data, from training to the report.
#include "htfm/page/demo.h"

#include <fmt/format.h>

#include <filesystem>

#include "app/commands.h"
#include "app/progress.h"
#include "htfm/page/figures_json.h"

namespace htfm::app {

void add_demo(CLI::App& app) {
  struct Options {
    Common common;
    DemoOptions demo{.folder = "htfm-demo"};
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("demo", "Train under three clocks on the 2D mixture, sample, score and report");
  c->footer("Example: htfm demo -o demo    then open demo/report.html");
  c->add_option("-o,--output", o->demo.folder, "Folder for runs, samples and report")
      ->check(output_folder())
      ->capture_default_str();
  c->add_option("--epochs", o->demo.epochs, "Passes over the data")->check(positive())->capture_default_str();
  o->common.add(*c);
  c->callback([o] {
    o->common.apply();
    const auto started = std::chrono::steady_clock::now();
    o->demo.seed = o->common.seed, o->demo.provenance = page_origin("htfm demo");
    o->demo.train = train_with_status, o->demo.sampled = sample_status, o->demo.note = say;
    const Demo demo = run_demo(o->demo);
    Json figures = Json::parse(demo_json(demo));
    figures["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    print_figures(o->common, figures);
    say(fmt::format("Open {} in a browser.", std::filesystem::absolute(demo.page).string()));
  });
}

}  // namespace htfm::app
