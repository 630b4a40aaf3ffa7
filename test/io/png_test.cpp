// PNG files against an encoder of its own (golden/make_io.py), and what happens to damaged ones.
#include "htfm/io/png.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "test/io/support.h"

namespace htfm {
namespace {

using test::golden;
using test::input_error;

/// The script's formula.
at::Tensor pixels(int64_t channels, int64_t height = 5, int64_t width = 7) {
  at::Tensor image = at::empty({channels, height, width}, at::kByte);
  auto* out = image.mutable_data_ptr<uint8_t>();
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x) *out++ = static_cast<uint8_t>((31 * c + 7 * y + 3 * x * x + 200) % 256);
  return image;
}

TEST(Png, ReadsGreyRgbAndPalette) {
  EXPECT_TRUE(read_png(golden("grey.png")).equal(pixels(1)));
  EXPECT_TRUE(read_png(golden("rgb.png")).equal(pixels(3)));
  const at::Tensor palette = read_png(golden("palette.png")), colours = pixels(3, 1);
  ASSERT_EQ(palette.sizes(), at::IntArrayRef({3, 5, 7}));
  for (int64_t y = 0; y < 5; ++y)
    for (int64_t x = 0; x < 7; ++x)
      EXPECT_TRUE(palette.select(1, y).select(1, x).equal(colours.select(1, 0).select(1, (x + y) % 7)));
}

TEST(Png, WhatIsWrittenReadsBackEqual) {
  const test::TemporaryFolder folder;
  for (const int64_t channels : {1, 3})
    for (const int64_t side : {1, 32, 500}) {
      const at::Tensor image = pixels(channels, side, side + 3);
      write_png(folder / "a.png", image);
      EXPECT_TRUE(read_png(folder / "a.png").equal(image));
    }
  const at::Tensor turned = pixels(3).transpose(1, 2);  // not packed in memory
  EXPECT_TRUE(parse_png(format_png(turned), "turned").equal(turned));
}

TEST(Png, RefusesWhatItCannotKeep) {
  EXPECT_MENTIONS(input_error([] { read_png(golden("alpha.png")); }),
                  "alpha.png: expected grey or RGB, got an image with transparency");
  EXPECT_MENTIONS(input_error([] { read_png(golden("sixteen.png")); }), "expected 8 bits a sample, got 16");
  EXPECT_MENTIONS(input_error([] { read_png(golden("f4.npy")); }),
                  "f4.npy: expected a PNG file, got one that does not begin");
  EXPECT_MENTIONS(input_error([] { parse_png("", "e.png"); }), "e.png: expected a PNG file, got an empty file");
  EXPECT_MENTIONS(input_error([] { read_png("no/such.png"); }), "no/such.png");
  EXPECT_MENTIONS(input_error([] {
                    format_png(at::zeros({2, 4, 4}, at::kByte));
                  }),
                  "c = 1 or 3 to write, got uint8 of shape (2, 4, 4)");
  EXPECT_MENTIONS(input_error([] { format_png(at::zeros({3, 4, 4})); }), "got float32 of shape (3, 4, 4)");
}

TEST(Png, EveryTruncationIsNamed) {
  const std::string whole = test::slurp(golden("rgb.png"));
  for (size_t size = 8; size + 12 < whole.size(); ++size)  // the last chunk only says that it is the last
    EXPECT_MENTIONS(input_error([&] { parse_png(std::string_view(whole).substr(0, size), "cut.png"); }),
                    "[png] cut.png: damaged: ");
}

TEST(Png, APromiseThatNoMemoryHoldsIsRefused) {
  std::string bytes = test::slurp(golden("grey.png"));
  bytes[16] = bytes[20] = 0;
  bytes[17] = bytes[21] = 0x0f;  // a million pixels on each side; the checksum of the header then is wrong, too
  EXPECT_MENTIONS(input_error([&] { parse_png(bytes, "huge.png"); }), "huge.png: ");
}

}  // namespace
}  // namespace htfm
