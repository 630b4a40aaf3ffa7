#include "htfm/page/demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "htfm/io/file.h"
#include "htfm/io/npy.h"
#include "htfm/model/description.h"
#include "htfm/page/run_page.h"

namespace htfm {

namespace {

// Beyond the data: 32,000 points say little of 1 in 10,000 and nothing of 1 in 100,000.
constexpr int64_t kMostFarSamples = 400'000, kLawDraws = 4'000'000;
const std::vector<double> kOneIn{1'000, 10'000, 100'000};

struct DemoVariant {
  const char* folder;
  std::vector<std::string> settings;
};

RunConfig demo_config(const DemoVariant& variant, const DemoOptions& options) {
  std::vector<std::string> settings = variant.settings;
  settings.push_back(fmt::format("seed={}", options.seed));
  settings.push_back(fmt::format("train.epochs={}", options.epochs));
  settings.insert(settings.end(), {"coupling.kind=pool", "precondition.scale=clock", "data.tail=pareto",
                                   "train.lr_decay=0.3", "train.lr_decay_steps=900"});
  return parse_config("", "demo", settings);
}

}  // namespace

Demo run_demo(const DemoOptions& options) {
  const std::vector<DemoVariant> variants{{"gaussian", {"clock.family=deterministic"}},
                                          {"stable", {"clock.family=stable", "clock.alpha=1.5"}},
                                          {"student", {"clock.family=inverse-gamma", "clock.nu=1.5"}}};
  const RunPageText text{"Heavy-tailed flow matching on the 2D mixture",
                         "Nine imbalanced components with infinite variance, learned from 32,000 points under three "
                         "clocks: the Gaussian one, the stable one and the inverse-gamma one (Student-t).",
                         options.provenance};
  const auto note = [&](const std::string& sentence) {
    if (options.note) options.note(sentence);
  };
  const int64_t far_samples = std::clamp<int64_t>(4'000 * options.epochs, 20'000, kMostFarSamples);
  make_folder(options.folder);
  Demo out;
  out.page = options.folder + "/report.html";
  for (const DemoVariant& variant : variants) {
    const RunConfig config = demo_config(variant, options);
    const std::string folder = options.folder + "/" + variant.folder, name = variant_name(config.clock);
    const TrainOptions training{.folder = folder, .resume = true};
    Model model = options.train ? options.train(config, training, name) : train(config, training);
    if (out.runs.empty()) out.reference = make_run_reference(config, config.sample.n, true);
    SampleOptions drawing = sample_options(config);
    if (options.sampled) drawing.report = options.sampled(name);
    out.runs.push_back(score_run(std::move(model), drawing, out.reference, folder));
    write_npy(folder + "/samples.npy", out.runs.back().sampled.samples);
    const std::vector<double>& centre = out.runs.front().scores.tails->center;
    if (out.runs.size() == 1) out.far = far_quantiles_of_law(config, centre, kOneIn, kLawDraws);
    note(fmt::format("{}: {} samples for its far tail", name, far_samples));
    add_far_quantiles(out.far, out.runs.back(), centre, far_samples);
    atomic_write(out.page, run_page(text, out.runs, out.reference, &out.far));
    if (out.runs.size() == 1) note(fmt::format("first pictures: {}", std::filesystem::absolute(out.page).string()));
  }
  return out;
}

}  // namespace htfm
