// htfm demo: the main job on built-in data, from training to the report.
#include "htfm/page/demo.h"

#include <fmt/format.h>

#include <filesystem>

#include "app/commands.h"
#include "app/progress.h"

namespace htfm::app {

namespace {

Json demo_figures(const Demo& demo) {
  Json out = Json::object();
  for (size_t m = 0; m < demo.runs.size(); ++m) {
    const ScoredRun& run = demo.runs[m];
    Json j{{"nfe", run.sampled.evaluations}, {"diverged", run.sampled.diverged}};
    for (const char* metric : {"f1_prd", "f1_knn", "w1_sliced", "log_q_0.999", "hill_fake"})
      j[metric] = run.scores[metric];
    for (size_t k = 0; k < demo.far.one_in.size(); ++k)
      j[fmt::format("one_in_{:.0f}", demo.far.one_in[k])] = demo.far.models[m].quantile[k];
    out[run.name] = j;
  }
  for (size_t k = 0; k < demo.far.one_in.size(); ++k)
    out["the law itself"][fmt::format("one_in_{:.0f}", demo.far.one_in[k])] = demo.far.law[k];
  const MetricReport& fresh = *demo.reference.yardstick;
  out["two fresh draws"] = Json{{"f1_prd", fresh["f1_prd"]}, {"w1_sliced", fresh["w1_sliced"]}};
  out["report"] = demo.page;
  return out;
}

}  // namespace

void add_demo(CLI::App& app) {
  struct Options {
    Common common;
    DemoOptions demo{.folder = "htfm-demo"};
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("demo", "Train three tails on the 2D mixture, sample, score and report");
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
    Json figures = demo_figures(demo);
    figures["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    print_figures(o->common, figures);
    say(fmt::format("Open {} in a browser.", std::filesystem::absolute(demo.page).string()));
  });
}

}  // namespace htfm::app
