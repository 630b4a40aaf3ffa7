#include "app/image_scores.h"

#include <fmt/format.h>

#include "htfm/base/error.h"

namespace htfm::app {

namespace {

at::Tensor as_images(const at::Tensor& rows, const ImageShape& shape) {
  return rows.reshape({rows.size(0), shape.channels, shape.height, shape.width});
}

}  // namespace

void ReferenceOptions::add(CLI::App& command) {
  command.add_option("--reference-cache", cache, "File that keeps the features of the real images; made where it does not exist");
  command.add_option("--batch", batch, "Images that go through the feature network at once")->check(CLI::PositiveNumber);
}

void add_image_choice(CLI::App& command, ImageSpec& spec) {
  command.add_option("--kind", spec.kind, "What real images are in: auto, cifar10, png, images")
      ->check(CLI::IsMember({"auto", "cifar10", "png", "images"}));
  command.add_option("--subset", spec.subset, "Of real images with labels: all or long-tail")->check(CLI::IsMember({"all", "long-tail"}));
  command.add_option("--imbalance", spec.imbalance, "Long tail: size of the last class over that of the first")
      ->check(CLI::Range(1e-6, 1.0));
}

SampledImages sampled_images(const at::Tensor& samples, const std::string& what) {
  const ByteImages bytes = to_bytes(samples);
  SampledImages out{bytes.pixels, bytes.not_finite.sum().item<int64_t>()};
  if (out.nonfinite > 0) out.pixels = bytes.pixels.index_select(0, bytes.not_finite.logical_not().nonzero().view({-1}));
  if (out.pixels.size(0) == 0) throw InputError("[images] {}: expected finite images, got none in {}", what, samples.size(0));
  out.clipped_share = static_cast<double>(bytes.clipped) / static_cast<double>(out.pixels.numel());
  return out;
}

ImageReference::ImageReference(const Dataset& data, const std::string& features, at::Device device, ReferenceOptions options)
    : network_(features, device), data_(data), options_(std::move(options)) {
  if (!data.image) throw InputError("[data] {}: expected images, got a table", data.origin);
  if (device.is_cpu())  // minutes there, seconds on a GPU
    network_.progress = [line = std::make_shared<StatusLine>("features: ")](int64_t done, int64_t all) {
      line->show(fmt::format("{} of {} images", done, all));
    };
  reference_ = cached_reference(network_, to_bytes(as_images(data.rows, *data.image)).pixels, data.hash, options_.cache, options_.batch);
}

Json ImageReference::score(const at::Tensor& samples, int k) const {
  const SampledImages fake = sampled_images(as_images(samples, *data_.image), "samples");
  const auto classes = static_cast<int64_t>(data_.classes.size());
  const ImageScores s = image_scores(reference_, network_(fake.pixels, options_.batch), data_.labels, classes, k);
  const std::string name = network_.distance_name(options_.inception);
  Json j{{name, s.distance.value},
         {"fd", s.distance.value},
         {"fd_name", name},
         {"fd_mean", s.distance.mean},
         {"fd_covariance", s.distance.covariance},
         {"precision", s.neighbours.score.precision},
         {"recall", s.neighbours.score.recall},
         {"f1", s.neighbours.score.f1},
         {"k", k},
         {"n_fake", s.fake},
         {"n_real", s.real},
         {"nonfinite", fake.nonfinite},
         {"clipped_share", fake.clipped_share},
         {"reference", data_.origin},
         {"reference_hash", data_.hash},
         {"features", network_.name()},
         {"features_sha256", network_.hash()}};
  if (s.classes.empty()) return j;
  std::vector<int64_t> real, counts;
  std::vector<double> recall;
  for (const ClassCoverage& c : s.classes) real.push_back(c.real), counts.push_back(c.fake), recall.push_back(c.recall);
  j["class_names"] = data_.classes, j["class_real"] = real, j["class_fake"] = counts, j["class_recall"] = recall;
  j["class_distance"] = s.class_distance;
  return j;
}

Nearest ImageReference::nearest(const SampledImages& samples) const {
  const at::Tensor fake = network_(samples.pixels, options_.batch);
  return nearest_features(reference_.features.to(fake.device()), fake);
}

}  // namespace htfm::app
