#include "htfm/evaluate/images.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "htfm/base/error.h"
#include "htfm/condition/condition_table.h"
#include "htfm/io/table.h"

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
  if (out.nonfinite > 0) {
    out.kept = bytes.not_finite.logical_not().nonzero().view({-1});
    out.pixels = bytes.pixels.index_select(0, out.kept);
  }
  if (out.pixels.size(0) == 0)
    throw InputError("[fake] {}: expected finite images, got none in {}", where, out.nonfinite);
  out.clipped_share = static_cast<double>(bytes.clipped) / static_cast<double>(out.pixels.numel());
  return out;
}

SampledImages read_sampled_images(const std::string& path, const std::optional<ImageShape>& shape) {
  return sampled_images(read_image_samples(path, shape), path);
}

at::Tensor read_class_numbers(const std::string& samples, int64_t rows) {
  const std::string path = samples + ".conditions.csv";
  if (!std::filesystem::exists(path)) return {};
  const Table table = read_table(path);
  const auto found = std::find(table.names.begin(), table.names.end(), "class");
  if (found == table.names.end()) return {};
  if (table.values.size(0) != rows)
    throw InputError("[fake] {}: expected the classes of {} samples, got {}", path, rows, table.values.size(0));
  return table.values.select(1, found - table.names.begin()).contiguous();
}

at::Tensor labels_of_classes(const at::Tensor& numbers, const ImageSet& real) {
  const ConditionColumn column{"class", real.classes};
  std::map<double, int64_t> label;
  for (size_t c = 0; c < real.classes.size(); ++c)
    label[column.numbered() ? std::stod(real.classes[c]) : static_cast<double>(c)] = static_cast<int64_t>(c);
  at::Tensor out = at::empty({numbers.size(0)}, at::kLong);
  for (int64_t i = 0; i < numbers.size(0); ++i) {
    const double number = numbers.const_data_ptr<double>()[i];
    const auto own = label.find(number);
    if (own == label.end())
      throw InputError("[fake] sample {}: expected a class of {}, got {}", i + 1, real.origin, number);
    out.mutable_data_ptr<int64_t>()[i] = own->second;
  }
  return out;
}

double ImageEvaluation::expected(size_t c) const {
  return static_cast<double>(scores.classes.at(c).real) * static_cast<double>(scores.fake) /
         static_cast<double>(scores.real);
}

ImageEvaluation evaluate_images(const ImageReference& real, const SampledImages& samples, int k) {
  const at::Tensor features = (*real.network)(samples.pixels, real.batch);
  const auto classes = static_cast<int64_t>(real.images.classes.size());
  return {image_scores(real.reference, features, real.images.labels, classes, k), features.size(1), samples.nonfinite,
          samples.clipped_share, features};
}

ClassScores evaluate_classes(const ImageReference& real, const at::Tensor& features, const at::Tensor& asked) {
  if (!real.images.labels.defined())
    throw InputError("[real] {}: expected images with labels for scores of classes, got images without",
                     real.images.origin);
  return class_scores(real.reference.features, real.images.labels, features, asked,
                      static_cast<int64_t>(real.images.classes.size()));
}

Nearest nearest_images(const ImageReference& real, const SampledImages& samples) {
  const at::Tensor features = (*real.network)(samples.pixels, real.batch);
  return nearest_features(real.reference.features.to(features.device()), features);
}

}  // namespace htfm
