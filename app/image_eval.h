// Scores of images as `htfm eval` prints them, and the options that `htfm grid` shares.
#pragma once

#include "app/common.h"
#include "htfm/evaluate/images.h"

namespace htfm::app {

/// Options that name real images, a feature network and where its features are kept.
struct ImageReferenceOptions {
  ImageSpec real;
  ImageFeatureSpec features;

  /// Adds --features, --reference-cache, --kind, --subset, --imbalance and --batch; --real is the command's own.
  void add(CLI::App& command);
};

/// The reference, with what is to be said on reading and a status line where it takes minutes.
ImageReference reference_with_status(ImageSet images, ImageFeatureSpec features);

/// `htfm eval` with --features.
struct ImageEvalOptions {
  ImageReferenceOptions reference;
  std::string fake, split = "train", inception, about;
  int k = 3;
};
Json eval_images(const ImageEvalOptions& options, const Common& common);

}  // namespace htfm::app
