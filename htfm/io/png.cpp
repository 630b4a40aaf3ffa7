#include "htfm/io/png.h"

#include <ATen/ops/empty.h>
#include <png.h>

#include "htfm/base/error.h"
#include "htfm/io/dtype.h"
#include "htfm/io/file.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

constexpr uint64_t kMostPixels = uint64_t{1} << 28;  // a header may promise what no memory holds
constexpr std::string_view kPngMagic = "\x89PNG\r\n\x1a\n";

// libpng's simplified interface reports through the struct: no longjmp passes through C++ frames.
class PngImage {
 public:
  PngImage() { image.version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(&image); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
  png_image image{};
};

}  // namespace

at::Tensor parse_png(std::string_view bytes, const std::string& path) {
  if (!bytes.starts_with(kPngMagic))
    throw InputError("[png] {}: expected a PNG file, got {}", path,
                     bytes.empty() ? "an empty file" : "one that does not begin as PNG files do");
  PngImage png;
  png_image& image = png.image;
  if (!png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()))
    throw InputError("[png] {}: damaged: {}", path, printable(image.message));
  if (uint64_t{image.width} * image.height > kMostPixels)
    throw InputError("[png] {}: expected at most {} pixels, got {} x {}", path, kMostPixels, image.width, image.height);
  if (image.format & PNG_FORMAT_FLAG_LINEAR) throw InputError("[png] {}: expected 8 bits a sample, got 16", path);
  if (image.format & PNG_FORMAT_FLAG_ALPHA)
    throw InputError("[png] {}: expected grey or RGB, got an image with transparency", path);
  const int64_t channels = image.format & PNG_FORMAT_FLAG_COLOR ? 3 : 1;
  image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  const at::Tensor pixels = at::empty({image.height, image.width, channels}, at::kByte);
  if (!png_image_finish_read(&image, nullptr, pixels.mutable_data_ptr<uint8_t>(), 0, nullptr))
    throw InputError("[png] {}: damaged: {}", path, printable(image.message));
  return pixels.permute({2, 0, 1}).contiguous();
}

at::Tensor read_png(const std::string& path) { return parse_png(read_file(path), path); }

std::string format_png(const at::Tensor& tensor) {
  if (tensor.dim() != 3 || (tensor.size(0) != 1 && tensor.size(0) != 3) || tensor.numel() == 0 ||
      tensor.scalar_type() != at::kByte)
    throw InputError("[png] expected c x h x w of uint8 with c = 1 or 3 to write, got {} of shape {}",
                     dtype_name(tensor.scalar_type()), shape_text(tensor.sizes()));
  const at::Tensor pixels = packed(tensor.permute({1, 2, 0}));
  PngImage png;
  png_image& image = png.image;
  image.height = static_cast<png_uint_32>(tensor.size(1));
  image.width = static_cast<png_uint_32>(tensor.size(2));
  image.format = tensor.size(0) == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = bytes.size();
  if (!png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.const_data_ptr<uint8_t>(), 0, nullptr))
    throw Error("[png] cannot write an image of {} x {}: {}", image.width, image.height, image.message);
  bytes.resize(size);
  return bytes;
}

void write_png(const std::string& path, const at::Tensor& image) { atomic_write(path, format_png(image)); }

}  // namespace htfm
