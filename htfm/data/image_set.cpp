#include "htfm/data/image_set.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <atomic>
#include <cmath>
#include <filesystem>

#include "htfm/base/parallel.h"
#include "htfm/base/registry.h"
#include "htfm/data/cifar.h"
#include "htfm/data/image_folder.h"
#include "htfm/field/field_set.h"
#include "htfm/io/dtype.h"
#include "htfm/io/hash.h"
#include "htfm/io/npy.h"

namespace htfm {
namespace {

struct ImageKind {
  std::string_view name;
  ImageSet (*read)(const std::string& path);
};

constexpr std::array kKinds = {
    ImageKind{"cifar10", read_cifar10},
    ImageKind{"png", read_image_folder},
    ImageKind{"images", read_image_array},
};

constexpr double kHalfStep = 0.5 / 127.5;
constexpr int64_t kGrain = 64;  // images of a task

bool is_colour(int64_t channels) { return channels == 1 || channels == 3; }

// As n x c x h x w.
at::Tensor channels_first(const at::Tensor& array, const std::string& path) {
  if (array.numel() == 0 || array.dim() < 3 || array.dim() > 4)
    throw InputError("[images] {}: expected n x c x h x w, n x h x w x c or n x h x w, none of them 0, got shape {}",
                     path, shape_text(array.sizes()));
  if (array.dim() == 3) return array.unsqueeze(1);
  if (is_colour(array.size(1))) return array;
  if (is_colour(array.size(3))) return array.permute({0, 3, 1, 2}).contiguous();
  throw InputError("[images] {}: expected 1 or 3 channels in the second or the last place of the shape, got shape {}",
                   path, shape_text(array.sizes()));
}

// A row's length as a square image: 3 s s, or s s.
ImageShape square_shape(int64_t length, const std::string& path) {
  for (const int64_t channels : {3, 1}) {
    const auto side =
        static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(length) / static_cast<double>(channels))));
    if (side > 0 && channels * side * side == length) return {channels, side, side};
  }
  throw InputError(
      "[images] {}: expected rows of 3 s s or s s numbers where the shape of an image is not given, got {}", path,
      length);
}

void check_range(const at::Tensor& pixels, const std::string& path) {
  check_finite(pixels, path);
  const double low = pixels.min().item<double>(), high = pixels.max().item<double>();
  if (low < -1 - kHalfStep || high > 1 + kHalfStep)
    throw InputError("[images] {}: expected floats in [-1,1] (values from 0 to 255 as uint8), got some from {} to {}",
                     path, low, high);
}

}  // namespace

std::string ImageShape::text() const { return fmt::format("{} x {} x {}", channels, height, width); }

std::vector<int64_t> ImageSet::class_counts() const {
  std::vector<int64_t> counts(classes.size(), 0);
  if (labels.defined())
    for (int64_t i = 0; i < size(); ++i) ++counts.at(labels.const_data_ptr<int64_t>()[i]);
  return counts;
}

void set_hash(ImageSet& set) {
  Xxh64 hash;
  hash.update(set.pixels.const_data_ptr(), set.pixels.nbytes());
  if (set.labels.defined()) hash.update(set.labels.const_data_ptr(), set.labels.nbytes());
  set.hash = hash.hex();
}

std::string image_kind(const std::string& path) {
  if (std::error_code none; std::filesystem::is_directory(path, none)) {
    if (has_cifar10_batches(path)) return "cifar10";
    if (has_png_files(path)) return "png";
    throw InputError("[data] {}: expected a folder with data_batch_*.bin (CIFAR-10) or PNG files, got neither", path);
  }
  if (path.ends_with(".bin")) return "cifar10";
  for (const char* end : {".csv", ".tsv", ".parquet", ".npy", ".csv.gz", ".tsv.gz", ".xlsx"})
    if (path.ends_with(end)) return path.ends_with(".npy") && read_npy_shape(path).size() == 4 ? "images" : "table";
  return is_field_set(path) ? "fields" : "table";
}

ImageSet read_images(const ImageSpec& spec) {
  const std::string kind = spec.kind == "auto" ? image_kind(spec.path) : spec.kind;
  if (kind == "table" || kind == "fields")
    throw InputError(
        "[data] {}: expected images: CIFAR-10 batches, a folder of PNG files, or an .npy array of four dimensions, "
        "got {}",
        spec.path, kind == "table" ? "a table" : "prepared fields");
  ImageSet set = find_named(kKinds, kind, "data.kind").read(spec.path);
  if (spec.subset == "long-tail") return long_tail(set, spec.imbalance);
  if (spec.subset != "all") throw InputError("[data.subset] expected all or long-tail, got '{}'", spec.subset);
  return set;
}

std::vector<int64_t> long_tail_counts(int64_t classes, double imbalance, int64_t head) {
  std::vector<int64_t> counts;
  for (int64_t c = 0; c < classes; ++c) {
    const double share = classes > 1 ? static_cast<double>(c) / static_cast<double>(classes - 1) : 0;
    counts.push_back(static_cast<int64_t>(static_cast<double>(head) * std::pow(imbalance, share)));
  }
  return counts;
}

ImageSet long_tail(const ImageSet& set, double imbalance, int64_t head) {
  if (!set.labels.defined())
    throw InputError("[data.subset] {}: expected images with labels for a long tail, got none", set.origin);
  const std::vector<int64_t> wanted = long_tail_counts(static_cast<int64_t>(set.classes.size()), imbalance, head);
  std::vector<int64_t> taken(wanted.size(), 0), index;
  const int64_t* label = set.labels.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < set.size(); ++i)
    if (taken[label[i]] < wanted[label[i]]) ++taken[label[i]], index.push_back(i);
  for (size_t c = 0; c < wanted.size(); ++c)
    if (taken[c] < wanted[c])
      throw InputError("[data.subset] {}: expected at least {} images of class {} ({}) for a long tail, got {}",
                       set.origin, wanted[c], c, set.classes[c], taken[c]);
  const at::Tensor rows = at::from_blob(index.data(), {static_cast<int64_t>(index.size())}, at::kLong);
  ImageSet out{
      .pixels = set.pixels.index_select(0, rows), .labels = set.labels.index_select(0, rows), .classes = set.classes};
  out.notes = set.notes;
  out.origin = fmt::format("{}, long-tailed subset of {} (imbalance {})", set.origin, index.size(), imbalance);
  set_hash(out);
  return out;
}

ImageSet read_image_array(const std::string& path) {
  ImageSet set;
  set.pixels = channels_first(read_npy(path, NpyNumbers::pixels), path);
  if (set.pixels.scalar_type() != at::kByte) {
    check_range(set.pixels, path);
    set.pixels = set.pixels.to(at::kFloat);
  }
  set_hash(set);
  set.origin = fmt::format("{}, {} images", path, set.size());
  return set;
}

at::Tensor read_image_samples(const std::string& path, const std::optional<ImageShape>& shape) {
  at::Tensor x = read_npy(path, NpyNumbers::pixels);
  if (x.dim() == 2 && x.numel() > 0) {
    const ImageShape own = shape ? *shape : square_shape(x.size(1), path);
    if (x.size(1) != own.size())
      throw InputError("[images] {}: expected rows of {} = {} numbers, got {}", path, own.text(), own.size(),
                       x.size(1));
    return x.view({x.size(0), own.channels, own.height, own.width});
  }
  x = channels_first(x, path);
  const ImageShape own{x.size(1), x.size(2), x.size(3)};
  if (shape && own != *shape)
    throw InputError("[images] {}: expected images of {}, got {}", path, shape->text(), own.text());
  return x;
}

at::Tensor image_rows(const at::Tensor& pixels) {
  const at::Tensor rows = pixels.reshape({pixels.size(0), -1});
  return rows.scalar_type() == at::kByte ? rows.to(at::kFloat).div_(127.5).sub_(1) : rows.to(at::kFloat);
}

ByteImages to_bytes(const at::Tensor& images) {
  const int64_t n = images.size(0);
  ByteImages out{images, 0, at::zeros({n}, at::kBool)};
  if (images.scalar_type() == at::kByte) return out;
  const at::Tensor from = images.to(at::kCPU, at::kFloat).contiguous();
  out.pixels = at::empty(from.sizes(), at::kByte);
  const int64_t size = n > 0 ? from.numel() / n : 0;
  const float* x = from.const_data_ptr<float>();
  auto* p = out.pixels.mutable_data_ptr<uint8_t>();
  bool* bad = out.not_finite.mutable_data_ptr<bool>();
  std::atomic<int64_t> clipped = 0;
  parallel_ranges(n, kGrain, [&](int64_t begin, int64_t end) {
    int64_t count = 0;
    for (int64_t i = begin; i < end; ++i) {
      const float* row = x + i * size;
      bad[i] = !std::all_of(row, row + size, [](float v) { return std::isfinite(v); });
      for (int64_t k = 0; k < size; ++k) {
        count += !bad[i] && std::abs(row[k]) > 1 + kHalfStep;
        p[i * size + k] =
            bad[i] ? uint8_t{0} : static_cast<uint8_t>(std::nearbyint(std::clamp(127.5F * (row[k] + 1), 0.0F, 255.0F)));
      }
    }
    clipped += count;
  });
  out.clipped = clipped;
  return out;
}

}  // namespace htfm
