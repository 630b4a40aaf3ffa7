#include "htfm/evaluate/images.h"

#include "htfm/base/error.h"

namespace htfm {

ImageReference make_image_reference(ImageSet images, const ImageFeatureSpec& features) {
  ImageReference out;
  out.images = std::move(images);
  out.network = std::make_unique<FeatureNetwork>(features.network, features.device);
  out.network->progress = features.report;
  out.reference = cached_reference(*out.network, to_bytes(out.images.pixels).pixels, out.images.hash, features.cache,
                                   features.batch);
  out.batch = features.batch;
  return out;
}

SampledImages sampled_images(const at::Tensor& samples, const std::string& where) {
  const ByteImages bytes = to_bytes(samples);
  SampledImages out{bytes.pixels, bytes.not_finite.sum().item<int64_t>()};
  if (out.nonfinite > 0) out.pixels = bytes.pixels.index_select(0, bytes.not_finite.logical_not().nonzero().view({-1}));
  if (out.pixels.size(0) == 0)
    throw InputError("[fake] {}: expected finite images, got none in {}", where, out.nonfinite);
  out.clipped_share = static_cast<double>(bytes.clipped) / static_cast<double>(out.pixels.numel());
  return out;
}

SampledImages read_sampled_images(const std::string& path, const std::optional<ImageShape>& shape) {
  return sampled_images(read_image_samples(path, shape), path);
}

double ImageEvaluation::expected(size_t c) const {
  return static_cast<double>(scores.classes.at(c).real) * static_cast<double>(scores.fake) /
         static_cast<double>(scores.real);
}

ImageEvaluation evaluate_images(const ImageReference& real, const SampledImages& samples, int k) {
  const at::Tensor features = (*real.network)(samples.pixels, real.batch);
  const auto classes = static_cast<int64_t>(real.images.classes.size());
  return {image_scores(real.reference, features, real.images.labels, classes, k), features.size(1), samples.nonfinite,
          samples.clipped_share};
}

Nearest nearest_images(const ImageReference& real, const SampledImages& samples) {
  const at::Tensor features = (*real.network)(samples.pixels, real.batch);
  return nearest_features(real.reference.features.to(features.device()), features);
}

}  // namespace htfm
