#include "htfm/net/pixel_kernels.h"

#include "htfm/net/sigmoid_kernels.h"

namespace htfm {
namespace {

constexpr int kLanes = kLanesOf<float>;
constexpr int64_t kFlush = 64;  // pixels whose sums are added in float32 before they go to float64

// Calls body<L>(c) for vectors of L channels from c on, as wide ones as there are.
template <class Body>
[[gnu::always_inline]] inline void over_channels(int64_t channels, const Body& body) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) body.template operator()<kLanes>(c);
  if constexpr (kLanes > 8)
    for (; c + 8 <= channels; c += 8) body.template operator()<8>(c);
  for (; c < channels; ++c) body.template operator()<1>(c);
}

template <int L>
[[gnu::always_inline]] inline void add_to(double* out, Vector<float, L> v) {
  for (int i = 0; i < L; ++i) out[i] += static_cast<double>(v[i]);
}

void add(int64_t pixels, int64_t channels, PixelRows y, const float* bias, PixelRows more, float scale, float* out,
         int64_t out_stride) {
  for (int64_t p = 0; p < pixels; ++p)
    over_channels(channels, [&]<int L>(int64_t c) [[gnu::always_inline]] {
      auto v = load_lanes<L>(y.data + p * y.stride + c);
      if (bias) v += load_lanes<L>(bias + c);
      if (more.data) v += load_lanes<L>(more.data + p * more.stride + c);
      store_lanes<L>(out + p * out_stride + c, v * scale);
    });
}

void sums(int64_t pixels, int64_t channels, PixelRows x, const float* centre, bool square, double* out) {
  over_channels(channels, [&]<int L>(int64_t c) [[gnu::always_inline]] {
    using V = Vector<float, L>;
    const V middle = centre ? load_lanes<L>(centre + c) : V{};
    for (int i = 0; i < L; ++i) out[c + i] = 0;
    for (int64_t first = 0; first < pixels; first += kFlush) {
      const int64_t last = first + kFlush < pixels ? first + kFlush : pixels;
      V total{};
      for (int64_t p = first; p < last; ++p) {
        const V v = load_lanes<L>(x.data + p * x.stride + c) - middle;
        total += square ? v * v : v;
      }
      add_to<L>(out + c, total);
    }
  });
}

template <bool Silu>
void activate_of(int64_t pixels, int64_t channels, PixelRows x, const ChannelNorm& norm, float* out) {
  for (int64_t p = 0; p < pixels; ++p)
    over_channels(channels, [&]<int L>(int64_t c) [[gnu::always_inline]] {
      const auto v = load_lanes<L>(x.data + p * x.stride + c) - load_lanes<L>(norm.centre + c);
      const auto z = v * load_lanes<L>(norm.slope + c) + load_lanes<L>(norm.offset + c);
      store_lanes<L>(out + p * channels + c, Silu ? z * sigmoid_lanes<L>(z) : z);
    });
}

void activate(int64_t pixels, int64_t channels, PixelRows x, const ChannelNorm& norm, bool silu, float* out) {
  (silu ? activate_of<true> : activate_of<false>)(pixels, channels, x, norm, out);
}

template <bool Silu>
void activate_backward_of(int64_t pixels, int64_t channels, PixelRows x, const ChannelNorm& norm, const float* dy,
                          float* dz, double* plain, double* weighted) {
  over_channels(channels, [&]<int L>(int64_t c) [[gnu::always_inline]] {
    using V = Vector<float, L>;
    const V a = load_lanes<L>(norm.slope + c), b = load_lanes<L>(norm.offset + c),
            middle = load_lanes<L>(norm.centre + c);
    for (int i = 0; i < L; ++i) plain[c + i] = weighted[c + i] = 0;
    for (int64_t first = 0; first < pixels; first += kFlush) {
      const int64_t last = first + kFlush < pixels ? first + kFlush : pixels;
      V sum{}, product{};
      for (int64_t p = first; p < last; ++p) {
        const V v = load_lanes<L>(x.data + p * x.stride + c) - middle;
        V d = load_lanes<L>(dy + p * channels + c);
        if (Silu) {
          const V z = v * a + b, s = sigmoid_lanes<L>(z);
          d = d * s * (z * (1.0f - s) + 1.0f);
        }
        store_lanes<L>(dz + p * channels + c, d);
        sum += d, product += d * v;
      }
      add_to<L>(plain + c, sum), add_to<L>(weighted + c, product);
    }
  });
}

void activate_backward(int64_t pixels, int64_t channels, PixelRows x, const ChannelNorm& norm, bool silu,
                       const float* dy, float* dz, double* plain, double* weighted) {
  (silu ? activate_backward_of<true> : activate_backward_of<false>)(pixels, channels, x, norm, dy, dz, plain, weighted);
}

void combine(int64_t pixels, int64_t channels, PixelRows dz, PixelRows x, const ChannelNorm& norm, const float* bend,
             const float* constant, PixelRows first, PixelRows second, float scale, float* out, int64_t out_stride,
             double* sums) {
  over_channels(channels, [&]<int L>(int64_t c) [[gnu::always_inline]] {
    using V = Vector<float, L>;
    const V slope = load_lanes<L>(norm.slope + c), middle = load_lanes<L>(norm.centre + c), b = load_lanes<L>(bend + c),
            offset = load_lanes<L>(constant + c);
    for (int i = 0; i < L; ++i) sums[c + i] = 0;
    for (int64_t begin = 0; begin < pixels; begin += kFlush) {
      const int64_t end = begin + kFlush < pixels ? begin + kFlush : pixels;
      V total{};
      for (int64_t p = begin; p < end; ++p) {
        V v = slope * load_lanes<L>(dz.data + p * dz.stride + c) +
              b * (load_lanes<L>(x.data + p * x.stride + c) - middle) + offset;
        if (first.data) v += load_lanes<L>(first.data + p * first.stride + c);
        if (second.data) v += load_lanes<L>(second.data + p * second.stride + c);
        v *= scale;
        total += v;
        store_lanes<L>(out + p * out_stride + c, v);
      }
      add_to<L>(sums + c, total);
    }
  });
}

void mix(int64_t channels, int64_t count, const float* const* row, const float* weight, float* out) {
  over_channels(channels, [&]<int L>(int64_t c) [[gnu::always_inline]] {
    Vector<float, L> total{};
    for (int64_t k = 0; k < count; ++k) total += weight[k] * load_lanes<L>(row[k] + c);
    store_lanes<L>(out + c, total);
  });
}

}  // namespace

HTFM_DEFINE_KERNELS(PixelKernels, &add, &sums, &activate, &activate_backward, &combine, &mix)

}  // namespace htfm
