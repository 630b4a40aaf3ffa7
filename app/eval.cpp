// htfm eval: scores of samples against data.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/commands.h"
#include "app/field_eval.h"
#include "app/image_eval.h"
#include "app/processes.h"
#include "htfm/base/error.h"
#include "htfm/evaluate/shared_metrics.h"
#include "htfm/io/table.h"

namespace htfm::app {

void add_eval(CLI::App& app) {
  struct Options {
    Common common;
    std::string real, fake;
    std::vector<std::string> metrics;
    MetricOptions metric;
    ImageEvalOptions image;
    FieldEvalOptions field;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("eval", "Score samples against data");
  c->footer(
      "Example: htfm eval --real r.npy --fake s.npy --metrics f1_prd,w1_sliced\n"
      "         htfm eval --real cifar10-lt --fake s.npy --features net.pt --reference-cache ref.safetensors\n"
      "         htfm eval --real rain.fields --fake s.npy --page rain.html");
  c->add_option("--real", o->real, "Data (.npy or .csv), images (with --features), or a prepared set of fields")
      ->required();
  c->add_option(
       "--fake", o->fake,
       "Samples (.npy or .csv); for fields also another prepared set, or the same one to score its training part")
      ->required();
  std::vector<std::string> names;
  for (const MetricInfo& m : metric_infos()) names.emplace_back(m.name);
  c->add_option("--metrics", o->metrics, "Scores to compute, comma-separated; by default all")
      ->delimiter(',')
      ->check(one_of(names));
  CLI::Option* k =
      c->add_option("-k", o->metric.k,
                    "Neighbours, for f1_knn (default 10) and for precision and recall of images (default 3)")
          ->check(positive());
  c->add_option("--bootstrap", o->metric.bootstrap.rounds, "Resamples for the intervals of tail scores; 0: none")
      ->check(between(0, 10000))
      ->capture_default_str();
  o->image.reference.add(*c);
  c->add_option("--split", o->image.split, "Images: name of the reference to print with the scores")
      ->capture_default_str();
  c->add_option(
      "--inception", o->image.inception,
      "Images: SHA-256 of the 2015 Inception network; the distance is called FID only if --features is that file");
  c->add_option("--about", o->image.about,
                "Images: file with what `htfm sample --json` printed, to print with the scores");
  o->field.add(*c);
  o->common.add_comm(*c);
  o->common.add(*c);
  c->callback([o, k] {
    const bool images = !o->image.reference.features.network.empty();
    o->common.apply(images);
    if (processes() && (images || image_kind(o->real) == "fields"))
      throw InputError("[--comm] expected one process to score images or fields, got {}: start the command alone",
                       processes()->size());
    if (images) {
      if (!o->metrics.empty())
        throw InputError("[--metrics] expected no list with --features, got '{}': images have scores of their own",
                         fmt::join(o->metrics, ","));
      o->image.reference.real.path = o->real, o->image.fake = o->fake;
      if (k->count() > 0) o->image.k = o->metric.k;
      print_figures(o->common, eval_images(o->image, o->common));
      return;
    }
    if (image_kind(o->real) == "fields") {
      if (!o->metrics.empty())
        throw InputError("[--metrics] expected no list with fields, which have scores of their own; got '{}'",
                         fmt::join(o->metrics, ","));
      FieldScoreOptions& scores = o->field.evaluation.scores;
      scores.bootstrap = o->metric.bootstrap, scores.bootstrap.seed = static_cast<uint64_t>(o->common.seed);
      print_figures(o->common, eval_fields(o->real, o->fake, o->field, o->common.json));
      return;
    }
    const at::Tensor real = read_table(o->real).values, fake = read_sample_rows(o->fake);
    o->metric.set_seed(static_cast<uint64_t>(o->common.seed));
    Json j{{"real", o->real}, {"fake", o->fake}};
    add_values(j, shared_metrics(o->metrics, real, fake, o->metric, processes()), o->common.json);
    j["seed"] = o->common.seed;
    j["bootstrap"] = o->metric.bootstrap.rounds;
    print_figures(o->common, j);
  });
}

}  // namespace htfm::app
