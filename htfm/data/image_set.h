// Sets of images: pixels, labels and the names of their classes.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

struct ImageShape {
  int64_t channels = 0, height = 0, width = 0;

  int64_t size() const { return channels * height * width; }
  std::string text() const;  ///< "3 x 32 x 32"
  bool operator==(const ImageShape&) const = default;
};

struct ImageSet {
  at::Tensor pixels = {};                 ///< n x c x h x w: uint8, or float32 in [-1,1]
  at::Tensor labels = {};                 ///< n whole numbers (int64); undefined where the set has no classes
  std::vector<std::string> classes = {};  ///< names, by label
  std::string hash = {};                  ///< XXH64 of pixels and labels
  std::string origin = {};                ///< what it is, for reports
  std::vector<std::string> notes = {};    ///< what was left out on reading, a sentence each

  int64_t size() const { return pixels.size(0); }
  ImageShape shape() const { return {pixels.size(1), pixels.size(2), pixels.size(3)}; }
  /// How many images each class has; empty where there are no classes.
  std::vector<int64_t> class_counts() const;
};

/// Where images are and which of them are wanted.
struct ImageSpec {
  std::string path = {};
  std::string kind = "auto";  ///< cifar10, png, images, or auto (image_kind)
  std::string subset =
      "all";                ///< all, or long-tail: the first n_c = int(5000 imbalance^(c / (classes - 1))) of class c
  double imbalance = 0.01;  ///< size of the last class of the long tail over that of the first
};

/// What a path holds: cifar10 (a .bin file, or a folder with data_batch_*.bin), png (a folder with PNG files, or with
/// folders of them), images (an .npy array of four dimensions), fields (a prepared set), or table (anything else).
std::string image_kind(const std::string& path);

/// Reads a set; one line that names file and place for anything missing, damaged or of another size.
ImageSet read_images(const ImageSpec& spec);

/// The n_c of a long tail over so many classes.
std::vector<int64_t> long_tail_counts(int64_t classes, double imbalance = 0.01, int64_t head = 5000);
/// The first n_c images of each class, in the set's order.
ImageSet long_tail(const ImageSet& set, double imbalance = 0.01, int64_t head = 5000);

/// Images in an .npy array: n x c x h x w or n x h x w x c with c = 1 or 3, or n x h x w; uint8, or floats in [-1,1].
/// No labels.
ImageSet read_image_array(const std::string& path);

/// Samples in an .npy array as n x c x h x w: images as in read_image_array, or rows n x (c h w); uint8 or floats, of
/// any size and not necessarily finite. `shape`: that of an image; without it rows are square, in colour where their
/// length allows.
at::Tensor read_image_samples(const std::string& path, const std::optional<ImageShape>& shape = {});

/// Rows as networks see them: n x (c h w) float32, bytes p as p / 127.5 - 1.
at::Tensor image_rows(const at::Tensor& pixels);

/// Images as bytes, and what that changed.
struct ByteImages {
  at::Tensor pixels;      ///< uint8, of the images' shape
  int64_t clipped = 0;    ///< values beyond [-1,1] by more than half a step of a byte
  at::Tensor not_finite;  ///< which images hold a value that is not finite (their pixels are 0): n of bool
};
/// From uint8, or from floats x in [-1,1]: the nearest whole number to 127.5 (x + 1), clipped to 0..255.
ByteImages to_bytes(const at::Tensor& images);

/// Sets the hash from pixels and labels.
void set_hash(ImageSet& set);

}  // namespace htfm
