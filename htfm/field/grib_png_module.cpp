#include "htfm/field/grib_png_module.h"

#include <png.h>

#include <csetjmp>
#include <cstring>
#include <vector>

#include "htfm/base/error.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

constexpr std::string_view kMagic = "\x89PNG\r\n\x1a\n";

uint32_t big_endian(std::string_view bytes, size_t at) {
  uint32_t v = 0;
  for (size_t k = 0; k < 4; ++k) v = v << 8 | static_cast<unsigned char>(bytes[at + k]);
  return v;
}

// What libpng's callbacks see. Its errors leave by longjmp, into a frame that holds nothing to be destroyed.
struct Reader {
  std::string_view left;
  char message[96] = {};
  std::jmp_buf jump;
};

void read_bytes(png_structp png, png_bytep out, size_t size) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (size > reader->left.size()) png_error(png, "it ends too early");
  std::memcpy(out, reader->left.data(), size);
  reader->left.remove_prefix(size);
}

[[noreturn]] void fail(png_structp png, png_const_charp message) {
  auto* reader = static_cast<Reader*>(png_get_error_ptr(png));
  std::strncpy(reader->message, message, sizeof reader->message - 1);
  std::longjmp(reader->jump, 1);
}

void ignore(png_structp, png_const_charp) {}

struct Png {
  png_structp png = nullptr;
  png_infop info = nullptr;
  explicit Png(Reader& reader) : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, fail, ignore)) {
    if (png) info = png_create_info_struct(png);
  }
  ~Png() {
    if (png) png_destroy_read_struct(&png, info ? &info : nullptr, nullptr);
  }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
};

// No object with a destructor may live in these two: see Reader.
bool begin(Reader& reader, const Png& png) {
  if (setjmp(reader.jump)) return false;
  png_set_read_fn(png.png, &reader, read_bytes);
  png_read_info(png.png, png.info);
  return true;
}

bool next_row(Reader& reader, const Png& png, unsigned char* row) {
  if (setjmp(reader.jump)) return false;
  png_read_row(png.png, row, nullptr);
  return true;
}

}  // namespace

bool readable_png(std::string_view png, int64_t height, int64_t width, int64_t bits) {
  if (png.size() < 33 || !png.starts_with(kMagic) || png.substr(12, 4) != "IHDR") return false;
  const auto byte = [&](size_t i) { return int{static_cast<unsigned char>(png[i])}; };
  const int depth = byte(24), colour = byte(25), interlace = byte(28);
  return big_endian(png, 16) == width && big_endian(png, 20) == height && depth == (bits + 7) / 8 * 8 &&
         (depth == 8 || depth == 16) && colour == 0 && interlace == 0;
}

void visit_packed_png(std::string_view bytes, const PackedScale& scale, const Window& window, const RowVisitor& visitor,
                      const std::string& where) {
  const bool wide = bytes[24] == 16;
  std::vector<double> values(wide ? 65536 : 256), out(static_cast<size_t>(window.width));  // by the number; a row
  for (size_t k = 0; k < values.size(); ++k) values[k] = scale.value(static_cast<uint32_t>(k));
  std::vector<unsigned char> row(static_cast<size_t>(big_endian(bytes, 16)) * (wide ? 2 : 1));
  Reader reader{.left = bytes, .jump = {}};
  const Png png(reader);
  bool whole = png.info && begin(reader, png);
  // The rows below the window are not even inflated.
  for (int64_t j = 0; whole && j < window.row + window.height; ++j) {
    whole = next_row(reader, png, row.data());
    if (!whole || j < window.row) continue;
    if (wide) {
      const unsigned char* from = row.data() + 2 * window.column;
      for (int64_t i = 0; i < window.width; ++i) out[i] = values[from[2 * i] << 8 | from[2 * i + 1]];
    } else {
      const unsigned char* from = row.data() + window.column;
      for (int64_t i = 0; i < window.width; ++i) out[i] = values[from[i]];
    }
    visitor(j - window.row, out.data());
  }
  if (!whole) throw InputError("{}: damaged: the packed image: {}", where, printable(reader.message));
}

}  // namespace htfm
