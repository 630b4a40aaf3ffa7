#include "app/image_eval.h"

#include <fmt/format.h>

#include "htfm/base/error.h"
#include "htfm/device/choose_device.h"
#include "htfm/io/file.h"

namespace htfm::app {

namespace {

// One line a class for the eye, an object for a program. `given`: where samples were drawn by class.
Json class_figures(const ImageEvaluation& evaluation, const std::optional<ClassScores>& given,
                   const std::vector<std::string>& names, bool json) {
  Json out = Json::object();
  for (size_t c = 0; c < evaluation.scores.classes.size(); ++c) {
    const ClassCoverage& own = evaluation.scores.classes[c];
    const double expected = evaluation.expected(c);
    if (json)
      out[names[c]] = {{"real", own.real}, {"fake", own.fake}, {"fake_expected", expected}, {"recall", own.recall}};
    else
      out[names[c]] = fmt::format("real {:>6}  fake {:>6} ({:.0f} expected)  recall {:.4f}", own.real, own.fake,
                                  expected, own.recall);
    if (!given) continue;
    const ClassScore& score = given->classes[c];
    if (json)
      out[names[c]].update({{"asked", score.fake},
                            {"fd", score.distance},
                            {"accuracy", score.accuracy},
                            {"accuracy_nearest", score.nearest}});
    else
      out[names[c]] = fmt::format("{}  asked {:>6}  distance {:.4g}  accuracy {:.4f}", out[names[c]].get<std::string>(),
                                  score.fake, score.distance, score.accuracy);
  }
  return out;
}

Json read_about(const std::string& path) {
  Json j = Json::parse(read_file(path), nullptr, false);
  if (!j.is_object())
    throw InputError("[--about] {}: expected a JSON object, as `htfm sample --json` prints it, got other text", path);
  return j;
}

}  // namespace

void ImageReferenceOptions::add(CLI::App& command) {
  command.add_option("--features", features.network,
                     "Feature network for images: a TorchScript file, images of 0 to 255 in, n x d out");
  command.add_option("--reference-cache", features.cache,
                     "File that keeps the features of the real images; made where it does not exist");
  command.add_option("--kind", real.kind, "What --real holds: auto, cifar10, png, images")
      ->check(one_of({"auto", "cifar10", "png", "images"}));
  command.add_option("--subset", real.subset, "Of real images with labels: all or long-tail")
      ->check(one_of({"all", "long-tail"}));
  command.add_option("--imbalance", real.imbalance, "Long tail: size of the last class over that of the first")
      ->check(between(1e-6, 1.0));
  command.add_option("--batch", features.batch, "Images that go through the feature network at once")
      ->check(positive());
}

ImageReference reference_with_status(ImageSet images, ImageFeatureSpec features) {
  for (const std::string& note : images.notes) say(note);
  if (features.device.is_cpu())  // minutes there, seconds on a GPU
    features.report = [line = std::make_shared<StatusLine>("features: ")](int64_t done, int64_t all) {
      line->show(fmt::format("{} of {} images", done, all));
    };
  return make_image_reference(std::move(images), features);
}

Json eval_images(const ImageEvalOptions& o, const Common& common) {
  const Json about = o.about.empty() ? Json() : read_about(o.about);
  ImageFeatureSpec features = o.reference.features;
  ImageSet images = read_images(o.reference.real);
  const SampledImages fake = read_sampled_images(o.fake, images.shape());  // before the features, which take long
  const at::Tensor classes = read_class_numbers(o.fake, fake.pixels.size(0) + fake.nonfinite),
                   asked =
                       classes.defined() && images.labels.defined() ? labels_of_classes(classes, images) : at::Tensor();
  features.device = choose_device(common.device, "unet");
  const ImageReference real = reference_with_status(std::move(images), features);
  const ImageEvaluation evaluation = evaluate_images(real, fake, o.k);
  const ImageScores& scores = evaluation.scores;
  std::optional<ClassScores> by_class;
  if (asked.defined()) by_class = evaluate_classes(real, evaluation.features, fake.of_kept(asked));
  Json j{{"real", o.reference.real.path},
         {"fake", o.fake},
         {"reference", real.images.origin},
         {"split", o.split},
         {"data_hash", real.images.hash},
         {"features", real.network->name()},
         {"features_sha256", real.network->hash()},
         {"dimension", evaluation.dimension},
         {"n_real", scores.real},
         {"n_fake", scores.fake},
         {"nonfinite", evaluation.nonfinite},
         {"clipped_share", evaluation.clipped_share}};
  const std::string name = real.network->distance_name(o.inception);
  if (common.json) {
    j["fd_name"] = name;
    j["fd"] = scores.distance.value;
    j["fd_mean"] = scores.distance.mean;
    j["fd_covariance"] = scores.distance.covariance;
  } else {
    j[name] = fmt::format("{:.6g}  (means {:.4g}, covariances {:.4g})", scores.distance.value, scores.distance.mean,
                          scores.distance.covariance);
  }
  j["precision"] = scores.neighbours.score.precision;
  j["recall"] = scores.neighbours.score.recall;
  j["f1"] = scores.neighbours.score.f1;
  j["k"] = scores.k;
  if (!scores.classes.empty()) {
    j["class_distance"] = scores.class_distance;
    if (by_class) {
      j["class_fd_mean"] = by_class->distance;
      j["class_accuracy"] = by_class->accuracy;
      j["class_accuracy_nearest"] = by_class->nearest;
    }
    j["classes"] = class_figures(evaluation, by_class, real.images.classes, common.json);
  }
  if (!about.is_null()) j["samples"] = about;
  return j;
}

}  // namespace htfm::app
