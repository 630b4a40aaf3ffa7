// The pixel kernels of every instruction set that this machine has, against plain loops in double.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "htfm/base/random.h"
#include "htfm/net/pixel_kernels.h"

namespace htfm {
namespace {

struct PixelCase {
  const char* name;
  const PixelKernels* table;
};

std::vector<PixelCase> pixel_tables() {
  std::vector<PixelCase> all{{"base", &kernel_table<PixelKernels, Isa::base>()}};
#if defined(__x86_64__)
  if (isa() >= Isa::v3) all.push_back({"v3", &kernel_table<PixelKernels, Isa::v3>()});
  if (isa() >= Isa::v4) all.push_back({"v4", &kernel_table<PixelKernels, Isa::v4>()});
#endif
  return all;
}

constexpr int64_t kPixels = 150, kGap = 5;  // floats between the rows of a slice
constexpr float kUntouched = -77;

// Rows of channels with gaps, and the same as a function of pixel and channel.
struct Image {
  Image(const char* name, int64_t channels) : stride(channels + kGap), values(static_cast<size_t>(kPixels * stride)) {
    fill_normal(Key(5).child(name), 0, kPixels * stride, values.data());
  }
  PixelRows rows() const { return {values.data(), stride}; }
  double at(int64_t p, int64_t c) const { return values[static_cast<size_t>(p * stride + c)]; }
  int64_t stride;
  std::vector<float> values;
};

std::vector<float> channel_values(const char* name, int64_t channels) {
  std::vector<float> v(static_cast<size_t>(channels));
  fill_normal(Key(6).child(name), 0, channels, v.data());
  return v;
}

double logistic(double z) { return 1 / (1 + std::exp(-z)); }

class Pixels : public testing::TestWithParam<PixelCase> {
 protected:
  const PixelKernels& k = *GetParam().table;
  // Whole vectors of every width, and what is left over.
  static constexpr int64_t kChannels[] = {1, 3, 8, 16, 24, 40, 64};
};

TEST_P(Pixels, AddsBiasAndResidual) {
  for (const int64_t channels : kChannels)
    for (const bool more : {false, true}) {
      const Image y("y", channels), residual("residual", channels);
      const std::vector<float> bias = channel_values("bias", channels);
      std::vector<float> out(static_cast<size_t>(kPixels * (channels + 2)), kUntouched);
      k.add(kPixels, channels, y.rows(), more ? bias.data() : nullptr, more ? residual.rows() : PixelRows{}, 0.5f,
            out.data(), channels + 2);
      for (int64_t p = 0; p < kPixels; ++p)
        for (int64_t c = 0; c < channels + 2; ++c) {
          const double expected =
              c < channels ? 0.5 * (y.at(p, c) + (more ? bias[c] + residual.at(p, c) : 0)) : kUntouched;
          ASSERT_NEAR(out[p * (channels + 2) + c], expected, c < channels ? 1e-6 : 0)
              << channels << " " << p << " " << c;
        }
    }
}

TEST_P(Pixels, SumsAreThoseInDouble) {
  for (const int64_t channels : kChannels) {
    const Image x("x", channels);
    const std::vector<float> centre = channel_values("centre", channels);
    std::vector<double> plain(static_cast<size_t>(channels)), square(plain);
    k.sums(kPixels, channels, x.rows(), nullptr, false, plain.data());
    k.sums(kPixels, channels, x.rows(), centre.data(), true, square.data());
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0, squares = 0;
      for (int64_t p = 0; p < kPixels; ++p) sum += x.at(p, c), squares += std::pow(x.at(p, c) - centre[c], 2);
      ASSERT_NEAR(plain[c], sum, 2e-5) << channels;
      ASSERT_NEAR(square[c], squares, 1e-6 * squares) << channels;
    }
  }
}

TEST_P(Pixels, ActivationAndItsGradient) {
  for (const int64_t channels : kChannels)
    for (const bool silu : {false, true}) {
      const Image x("x", channels);
      const auto centre = channel_values("centre", channels), slope = channel_values("slope", channels),
                 offset = channel_values("offset", channels);
      const ChannelNorm norm{centre.data(), slope.data(), offset.data()};
      std::vector<float> out(static_cast<size_t>(kPixels * channels)), dz(out), dy(out);
      fill_normal(Key(7), 0, kPixels * channels, dy.data());
      std::vector<double> plain(static_cast<size_t>(channels)), weighted(plain);
      k.activate(kPixels, channels, x.rows(), norm, silu, out.data());
      k.activate_backward(kPixels, channels, x.rows(), norm, silu, dy.data(), dz.data(), plain.data(), weighted.data());
      for (int64_t c = 0; c < channels; ++c) {
        double sum = 0, product = 0;
        for (int64_t p = 0; p < kPixels; ++p) {
          const double v = x.at(p, c) - centre[c], z = slope[c] * v + offset[c], s = logistic(z);
          const double d = dy[p * channels + c] * (silu ? s * (1 + z * (1 - s)) : 1);
          ASSERT_NEAR(out[p * channels + c], silu ? z * s : z, 3e-6) << channels;
          ASSERT_NEAR(dz[p * channels + c], d, 3e-6) << channels;
          sum += d, product += d * v;
        }
        ASSERT_NEAR(plain[c], sum, 1e-4) << channels;
        ASSERT_NEAR(weighted[c], product, 2e-4) << channels;
      }
    }
}

TEST_P(Pixels, CombinesGradients) {
  for (const int64_t channels : kChannels)
    for (const int added : {0, 1, 2}) {
      const Image x("x", channels), dz("dz", channels), first("first", channels), second("second", channels);
      const auto centre = channel_values("centre", channels), slope = channel_values("slope", channels),
                 bend = channel_values("bend", channels), constant = channel_values("constant", channels);
      std::vector<float> out(static_cast<size_t>(kPixels * channels));
      std::vector<double> sums(static_cast<size_t>(channels));
      k.combine(kPixels, channels, dz.rows(), x.rows(), {centre.data(), slope.data(), nullptr}, bend.data(),
                constant.data(), added > 0 ? first.rows() : PixelRows{}, added > 1 ? second.rows() : PixelRows{}, 0.7f,
                out.data(), channels, sums.data());
      for (int64_t c = 0; c < channels; ++c) {
        double total = 0;
        for (int64_t p = 0; p < kPixels; ++p) {
          const double d = 0.7f * (slope[c] * dz.at(p, c) + bend[c] * (x.at(p, c) - centre[c]) + constant[c] +
                                   (added > 0 ? first.at(p, c) : 0) + (added > 1 ? second.at(p, c) : 0));
          ASSERT_NEAR(out[p * channels + c], d, 5e-6) << channels;
          total += d;
        }
        ASSERT_NEAR(sums[c], total, 2e-4) << channels;
      }
    }
}

TEST_P(Pixels, MixesRows) {
  for (const int64_t channels : kChannels) {
    const Image x("x", channels);
    const float* row[3] = {x.values.data(), x.values.data() + 2 * x.stride, x.values.data() + 7 * x.stride};
    const float weight[3] = {0.25f, -1.5f, 3};
    std::vector<float> out(static_cast<size_t>(channels + 1), kUntouched);
    k.mix(channels, 3, row, weight, out.data());
    for (int64_t c = 0; c < channels; ++c)
      ASSERT_NEAR(out[c], 0.25 * x.at(0, c) - 1.5 * x.at(2, c) + 3 * x.at(7, c), 3e-6) << channels;
    ASSERT_EQ(out[channels], kUntouched);
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, Pixels, testing::ValuesIn(pixel_tables()),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace htfm
