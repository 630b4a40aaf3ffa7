// The scores of image samples.
#include "app/image_eval.h"

#include <fmt/format.h>

#include "htfm/base/error.h"
#include "htfm/io/file.h"

namespace htfm::app {

namespace {

// One line a class for the eye, an object for a program.
Json class_figures(const ImageScores& scores, const std::vector<std::string>& names, bool json) {
  Json out = Json::object();
  for (size_t c = 0; c < scores.classes.size(); ++c) {
    const ClassCoverage& own = scores.classes[c];
    const double expected = static_cast<double>(own.real) * static_cast<double>(scores.fake) / static_cast<double>(scores.real);
    if (json)
      out[names[c]] = {{"real", own.real}, {"fake", own.fake}, {"fake_expected", expected}, {"recall", own.recall}};
    else
      out[names[c]] = fmt::format("real {:>6}  fake {:>6} ({:.0f} expected)  recall {:.4f}", own.real, own.fake, expected, own.recall);
  }
  return out;
}

Json read_about(const std::string& path) {
  Json j = Json::parse(read_file(path), nullptr, false);
  if (!j.is_object()) throw InputError("[--about] {}: expected a JSON object, as `htfm sample --json` prints it", path);
  return j;
}

}  // namespace

void ImageReferenceOptions::add(CLI::App& command) {
  command.add_option("--features", features, "Feature network for images: a TorchScript file, images of 0 to 255 in, n x d out");
  command.add_option("--reference-cache", cache, "File that keeps the features of the real images; made where it does not exist");
  command.add_option("--kind", real.kind, "What --real holds: auto, cifar10, png, images")
      ->check(CLI::IsMember({"auto", "cifar10", "png", "images"}));
  command.add_option("--subset", real.subset, "Of real images with labels: all or long-tail")->check(CLI::IsMember({"all", "long-tail"}));
  command.add_option("--imbalance", real.imbalance, "Long tail: size of the last class over that of the first")->check(between(1e-6, 1.0));
  command.add_option("--batch", batch, "Images that go through the feature network at once")->check(positive());
}

ImageReference load_reference(const ImageReferenceOptions& o, at::Device device) { return load_reference(read_images(o.real), o, device); }

ImageReference load_reference(ImageSet images, const ImageReferenceOptions& o, at::Device device) {
  ImageReference out;
  out.images = std::move(images);
  for (const std::string& note : out.images.notes) say(note);
  out.network = std::make_unique<FeatureNetwork>(o.features, device);
  if (device.is_cpu())  // minutes there, seconds on a GPU
    out.network->progress = [line = std::make_shared<StatusLine>("features: ")](int64_t done, int64_t all) {
      line->show(fmt::format("{} of {} images", done, all));
    };
  out.reference = cached_reference(*out.network, to_bytes(out.images.pixels).pixels, out.images.hash, o.cache, o.batch);
  return out;
}

SampledImages load_samples(const std::string& path, const std::optional<ImageShape>& shape) {
  return sampled_images(read_image_samples(path, shape), path);
}

SampledImages sampled_images(const at::Tensor& samples, const std::string& where) {
  const ByteImages bytes = to_bytes(samples);
  SampledImages out{bytes.pixels, bytes.not_finite.sum().item<int64_t>()};
  if (out.nonfinite > 0) out.pixels = bytes.pixels.index_select(0, bytes.not_finite.logical_not().nonzero().view({-1}));
  if (out.pixels.size(0) == 0) throw InputError("[--fake] {}: expected finite images, got none in {}", where, out.nonfinite);
  out.clipped_share = static_cast<double>(bytes.clipped) / static_cast<double>(out.pixels.numel());
  return out;
}

Json eval_images(const ImageEvalOptions& o, const Common& common) {
  const Json about = o.about.empty() ? Json() : read_about(o.about);
  ImageSet images = read_images(o.reference.real);
  const SampledImages fake = load_samples(o.fake, images.shape());  // before the features, which take long
  const ImageReference real = load_reference(std::move(images), o.reference, common.network_device("unet"));
  const at::Tensor features = (*real.network)(fake.pixels, o.reference.batch);
  const auto classes = static_cast<int64_t>(real.images.classes.size());
  const ImageScores scores = image_scores(real.reference, features, real.images.labels, classes, o.k);
  Json j{{"real", o.reference.real.path},
         {"fake", o.fake},
         {"reference", real.images.origin},
         {"split", o.split},
         {"data_hash", real.images.hash},
         {"features", real.network->name()},
         {"features_sha256", real.network->hash()},
         {"dimension", features.size(1)},
         {"n_real", scores.real},
         {"n_fake", scores.fake},
         {"nonfinite", fake.nonfinite},
         {"clipped_share", fake.clipped_share}};
  const std::string name = real.network->distance_name(o.inception);
  if (common.json) {
    j["fd_name"] = name;
    j["fd"] = scores.distance.value;
    j["fd_mean"] = scores.distance.mean;
    j["fd_covariance"] = scores.distance.covariance;
  } else {
    j[name] =
        fmt::format("{:.6g}  (means {:.4g}, covariances {:.4g})", scores.distance.value, scores.distance.mean, scores.distance.covariance);
  }
  j["precision"] = scores.neighbours.score.precision;
  j["recall"] = scores.neighbours.score.recall;
  j["f1"] = scores.neighbours.score.f1;
  j["k"] = scores.k;
  if (!scores.classes.empty()) {
    j["class_distance"] = scores.class_distance;
    j["classes"] = class_figures(scores, real.images.classes, common.json);
  }
  if (!about.is_null()) j["samples"] = about;
  return j;
}

}  // namespace htfm::app
