// Maps of fields: a scale whose lightness falls, colours that say the value, a legend below.
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/report/field_map.h"

namespace htfm::report {
namespace {

// Relative luminance of sRGB.
double luminance(const std::array<uint8_t, 3>& c) {
  const auto linear = [](uint8_t v) {
    const double x = v / 255.0;
    return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
}

TEST(ScaleColor, FallsInLightnessByEqualSteps) {
  double before = 2;
  for (int k = 0; k <= 50; ++k) {
    const double now = std::cbrt(luminance(scale_color(k / 50.0)));  // about lightness
    EXPECT_LT(now, before) << k;
    if (k > 0) {
      EXPECT_NEAR(before - now, 0.0145, 0.009) << k;
    }
    before = now;
  }
  EXPECT_EQ(scale_color(-1), scale_color(0));
  EXPECT_EQ(scale_color(2), scale_color(1));
}

std::array<uint8_t, 3> pixel(const at::Tensor& image, int64_t y, int64_t x) {
  std::array<uint8_t, 3> out{};
  for (int64_t c = 0; c < 3; ++c) out[static_cast<size_t>(c)] = image[c][y][x].item<uint8_t>();
  return out;
}

TEST(FieldMaps, ShowValuesNorthUpWithALegend) {
  at::Tensor fields = at::zeros({3, 16, 100}, at::kFloat);
  fields[0][0].fill_(10);  // the first row: the southern one
  fields[1][15][99] = std::numeric_limits<float>::quiet_NaN();
  const MapStyle style{.low = 0, .high = 10, .unit = "mm/h", .south_first = true, .columns = 2, .scale = 2, .gap = 4};
  const at::Tensor image = field_maps(fields, style);
  ASSERT_EQ(image.size(2), 2 * 204 + 4);
  EXPECT_EQ(pixel(image, 4, 4), scale_color(0));
  EXPECT_EQ(pixel(image, 4 + 31, 4), scale_color(1));
  EXPECT_EQ(pixel(image, 4, 4 + 204 + 199), (std::array<uint8_t, 3>{150, 150, 150}));
  // The legend runs over the whole scale, and there are black letters below it.
  const int64_t top = 2 * 36 + 4;
  EXPECT_EQ(pixel(image, top, 4), scale_color(0));
  EXPECT_EQ(pixel(image, top, image.size(2) - 5), scale_color(1));
  EXPECT_GT(image.narrow(1, top + 12, image.size(1) - top - 12).eq(0).sum().item<int64_t>(), 100);
  EXPECT_THROW(field_maps(fields, {.low = 1, .high = 1}), InputError);
}

TEST(MapStyle, IsLogarithmicWhereMostIsNearNothing) {
  at::Tensor rain = at::zeros({2, 100, 100}, at::kFloat);
  rain[0][0].fill_(20);
  rain[0][1].fill_(0.1);
  const MapStyle wet = map_style(rain);
  EXPECT_TRUE(wet.log);
  EXPECT_NEAR(wet.low, 0.1, 1e-6);
  EXPECT_NEAR(wet.high, 20, 1e-6);
  const at::Tensor warm = rain.add(280);
  EXPECT_FALSE(map_style(warm).log);
  for (const auto& [side, scale] : {std::pair<int64_t, int64_t>{128, 2}, {32, 8}, {300, 1}})
    EXPECT_EQ(map_style(at::full({1, side, side / 2}, 3.0, at::kFloat)).scale, scale);
  EXPECT_LT(map_style(at::full({1, 4, 4}, 3.0, at::kFloat)).low, map_style(at::full({1, 4, 4}, 3.0, at::kFloat)).high);
}

TEST(ImageFigure, StandsInThePageItself) {
  const std::string svg = image_figure(at::full({3, 10, 20}, 255, at::kByte), "white").svg();
  EXPECT_NE(svg.find("data:image/png;base64,iVBORw0KGgo"), std::string::npos);
}

}  // namespace
}  // namespace htfm::report
