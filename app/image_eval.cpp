#include "app/image_eval.h"

#include <fmt/format.h>

#include "htfm/base/error.h"
#include "htfm/device/choose_device.h"
#include "htfm/io/file.h"
#include "htfm/page/figures_json.h"

namespace htfm::app {

namespace {

Json read_about(const std::string& path) {
  Json j = Json::parse(read_file(path), nullptr, false);
  if (!j.is_object())
    throw InputError("[--about] {}: expected a JSON object, as `htfm sample --json` prints it, got none", path);
  return j;
}

}  // namespace

void ImageReferenceOptions::add(CLI::App& command) {
  command.add_option("--features", features.network,
                     "Feature network for images: a TorchScript file that takes images with values from 0 to 255 and "
                     "returns n x d features");
  command.add_option("--reference-cache", features.cache,
                     "File that keeps the features of the real images; created if it does not exist");
  command.add_option("--kind", real.kind, "What --real holds: auto, cifar10, png, images")
      ->check(one_of({"auto", "cifar10", "png", "images"}));
  command.add_option("--subset", real.subset, "Which of the labelled real images: all or long-tail")
      ->check(one_of({"all", "long-tail"}));
  command
      .add_option("--imbalance", real.imbalance, "Long tail: ratio of the size of the last class to that of the first")
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
  std::optional<ClassScores> by_class;
  if (asked.defined()) by_class = evaluate_classes(real, evaluation.features, fake.of_kept(asked));
  Json j{{"real", o.reference.real.path}, {"fake", o.fake}, {"reference", real.images.origin}, {"split", o.split}};
  j.update(Json::parse(
      image_scores_json(real, evaluation, by_class, real.network->distance_name(o.inception), !common.json)));
  if (!about.is_null()) j["samples"] = about;
  return j;
}

}  // namespace htfm::app
