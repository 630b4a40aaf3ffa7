// htfm demo: the main job on built-in data, from training to the report.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/commands.h"
#include "app/progress.h"
#include "htfm/io/file.h"
#include "htfm/io/npy.h"
#include "htfm/page/run_page.h"

namespace htfm::app {

namespace {

// Beyond the data: 32,000 points say little of 1 in 10,000 and nothing of 1 in 100,000.
constexpr int64_t kMostFarSamples = 400'000, kLawDraws = 4'000'000;
const std::vector<double> kOneIn{1'000, 10'000, 100'000};

}  // namespace

void add_demo(CLI::App& app) {
  struct Options {
    Common common;
    std::string folder = "htfm-demo";
    int64_t epochs = 100;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("demo", "Train three tails on the 2D mixture, sample, score and report");
  c->footer("Example: htfm demo -o demo    then open demo/report.html");
  c->add_option("-o,--output", o->folder, "Folder for runs, samples and report")
      ->check(output_folder())
      ->capture_default_str();
  c->add_option("--epochs", o->epochs, "Passes over the data")->check(positive())->capture_default_str();
  o->common.add(*c);
  c->callback([o] {
    o->common.apply();
    const auto started = std::chrono::steady_clock::now();
    struct Variant {
      const char* folder;
      std::vector<std::string> settings;
    };
    const std::vector<Variant> variants{{"gaussian", {"clock.family=deterministic"}},
                                        {"stable", {"clock.family=stable", "clock.alpha=1.5"}},
                                        {"student", {"clock.family=inverse-gamma", "clock.nu=1.5"}}};
    make_folder(o->folder);
    const std::string page = o->folder + "/report.html";
    const RunPageText text{"Heavy-tailed flow matching on the 2D mixture",
                           "Nine imbalanced components with infinite variance, learned from 32,000 points under three "
                           "clocks: the Gaussian one, the "
                           "stable one and the inverse-gamma one (Student-t).",
                           page_origin("htfm demo")};
    std::optional<RunReference> reference;
    std::vector<ScoredRun> runs;
    const int64_t far_samples = std::clamp<int64_t>(4'000 * o->epochs, 20'000, kMostFarSamples);
    std::optional<FarQuantiles> far;
    Json figures = Json::object();
    for (const Variant& v : variants) {
      std::vector<std::string> settings = v.settings;
      settings.push_back(fmt::format("seed={}", o->common.seed));
      settings.push_back(fmt::format("train.epochs={}", o->epochs));
      settings.insert(settings.end(), {"coupling.kind=pool", "precondition.scale=clock", "data.tail=pareto",
                                       "train.lr_decay=0.3", "train.lr_decay_steps=900"});
      const RunConfig config = parse_config("", "demo", settings);
      const std::string folder = o->folder + "/" + v.folder, name = variant_name(config.clock);
      Model model = train_with_status(config, {.folder = folder, .resume = true}, name);
      if (!reference) reference = make_run_reference(config, config.sample.n, true);
      SampleOptions options = sample_options(config);
      options.report = sample_status(name);
      runs.push_back(score_run(std::move(model), options, *reference, folder));
      write_npy(folder + "/samples.npy", runs.back().sampled.samples);
      Json j{{"nfe", runs.back().sampled.evaluations}, {"diverged", runs.back().sampled.diverged}};
      for (const char* metric : {"f1_prd", "f1_knn", "w1_sliced", "log_q_0.999", "hill_fake"})
        j[metric] = runs.back().scores[metric];
      const std::vector<double>& centre = runs.front().scores.tails->center;
      if (!far) far = far_quantiles_of_law(config, centre, kOneIn, kLawDraws);
      say(fmt::format("{}: {} samples for its far tail", name, far_samples));
      add_far_quantiles(*far, runs.back(), centre, far_samples);
      for (size_t k = 0; k < kOneIn.size(); ++k)
        j[fmt::format("one_in_{:.0f}", kOneIn[k])] = far->models.back().quantile[k];
      figures[name] = j;
      // A first picture as soon as there is one.
      atomic_write(page, run_page(text, runs, *reference, &*far));
      if (runs.size() == 1) say(fmt::format("first pictures: {}", std::filesystem::absolute(page).string()));
    }
    for (size_t k = 0; k < kOneIn.size(); ++k)
      figures["the law itself"][fmt::format("one_in_{:.0f}", kOneIn[k])] = far->law[k];
    figures["two fresh draws"] =
        Json{{"f1_prd", (*reference->yardstick)["f1_prd"]}, {"w1_sliced", (*reference->yardstick)["w1_sliced"]}};
    figures["report"] = page;
    figures["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    print_figures(o->common, figures);
    say(fmt::format("Open {} in a browser.", std::filesystem::absolute(page).string()));
  });
}

}  // namespace htfm::app
