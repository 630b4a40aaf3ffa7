// Images side by side.
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "htfm/report/image_grid.h"
#include "test/io/support.h"

namespace htfm::report {
namespace {

using test::input_error;

TEST(ImageGrid, EachImageIsInItsPlace) {
  constexpr int64_t kHeight = 2, kWidth = 3;
  const at::Tensor images = at::arange(5 * 3 * kHeight * kWidth).to(at::kByte).view({5, 3, kHeight, kWidth});
  for (const GridStyle& style : {GridStyle{2, 1}, GridStyle{0, 1}, GridStyle{1, 4}}) {
    const at::Tensor grid = image_grid(images, 2, style);
    const int64_t down = kHeight * style.scale + style.gap, across = kWidth * style.scale + style.gap;
    ASSERT_EQ(grid.sizes(), at::IntArrayRef({3, 3 * down + style.gap, 2 * across + style.gap}));
    at::Tensor left = at::full(grid.sizes(), 255, at::kByte);
    for (int64_t y = 0; y < grid.size(1); ++y)
      for (int64_t x = 0; x < grid.size(2); ++x) {
        const int64_t row = (y - style.gap) / down, column = (x - style.gap) / across,
                      inside_y = y - style.gap - row * down, inside_x = x - style.gap - column * across,
                      index = row * 2 + column;
        if (y < style.gap || x < style.gap || inside_y >= kHeight * style.scale || inside_x >= kWidth * style.scale ||
            index >= 5)
          continue;
        left.select(1, y).select(1, x).copy_(
            images.select(0, index).select(1, inside_y / style.scale).select(1, inside_x / style.scale));
      }
    EXPECT_TRUE(grid.equal(left));
  }
}

TEST(ImageGrid, ClassColumnsAreSortedAndLeaveGaps) {
  const at::Tensor classes = at::tensor({0, 2, 0, 0, 2}, at::kLong),
                   distance = at::tensor({3.0, 1.0, 1.0, 2.0, 0.5}, at::kDouble);
  const std::vector<std::vector<int64_t>> expected = {{2, -1, 4}, {3, -1, 1}};
  EXPECT_EQ(class_columns(classes, distance, 3, 2), expected);
  const at::Tensor grid = image_grid(at::zeros({5, 1, 1, 1}, at::kByte), expected, {0, 1});
  EXPECT_TRUE(grid.equal(at::tensor({0, 255, 0, 0, 255, 0}, at::kByte).view({1, 2, 3})));
}

TEST(ImageGrid, RefusesOtherThings) {
  EXPECT_MENTIONS(input_error([] {
                    image_grid(at::zeros({2, 3, 4, 4}), 2);
                  }),
                  "expected images n x c x h x w of uint8, got float32");
  EXPECT_MENTIONS(input_error([] {
                    image_grid(at::zeros({2, 3, 4, 4}, at::kByte), 0);
                  }),
                  "expected at least one column");
  EXPECT_MENTIONS(input_error([] {
                    image_grid(at::zeros({0, 3, 4, 4}, at::kByte), 4);
                  }),
                  "expected at least one image, got none");
}

}  // namespace
}  // namespace htfm::report
