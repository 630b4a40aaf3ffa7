// The operations that convolutional networks are made of, forward and backward, fused the way the hardware wants them.
// Activations are n x height x width x channels; weights are out x kernel x kernel x in. One definition of a network
// serves every implementation.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// A tensor that is still a sum: scale (y + biases + residual). Who reads it first adds it up.
struct PendingSum {
  at::Tensor y;                       ///< n x h x w x c, dense
  std::vector<at::Tensor> bias = {};  ///< up to two, c values each, float32
  at::Tensor residual = {};           ///< like y, maybe a slice of channels; may be undefined
  int64_t column = -1;                ///< of the sums over pixels of its gradient: those of its biases
  float scale = 1;
};

/// act(norm(x) (1 + scale) + shift) over groups of channels.
struct NormLayer {
  at::Tensor gamma, beta;  ///< c, float32
  int64_t groups = 32;
  bool silu = true;
  at::Tensor modulation = {};  ///< n x 2c (scale, shift), float32, rows may be strided; may be undefined
};

struct NormStatistics {
  at::Tensor mean, inverse_deviation;  ///< n x groups, float32
};

/// Where the sums over pixels of a backward pass go: columns of an n x width matrix, -1 for none. They are added over n
/// at the end.
struct NormColumns {
  int64_t gamma = -1, beta = -1;
  int64_t input =
      -1;  ///< of the input's gradient, for the biases of the sum it came from: as many as the first part has channels
};

struct NormBackward {
  at::Tensor gradient;   ///< of the output, dense
  at::Tensor x;          ///< the input, maybe a slice of channels
  at::Tensor bias = {};  ///< to be added to x; may be undefined
  NormStatistics statistics = {};
  std::vector<at::Tensor> add = {};  ///< up to two more gradients of the input
  int64_t split = 0;                 ///< channels of the first part of the input's gradient; 0: all
  NormColumns columns = {};
  at::Tensor modulation_gradient = {};  ///< n x 2c, written
  float scale = 1;  ///< of the sum that the first part came from: its gradient is that of the sum before scaling
};

struct InputGradients {
  at::Tensor first, second;  ///< parts of the input's gradient, dense; the second undefined where there is no split
};

/// What activations are multiplied by before they are rounded to float8 (e4m3), whose three bits of mantissa hold from
/// 2^-6 to 448; larger values become the largest.
constexpr float kEightBitScale = 8;
/// The weights of a 3x3 convolution in eight bits: float8 values, out x 3 x 3 x in, and what makes products of them
/// with such activations the convolution again, a factor of each output channel.
struct EightBitWeight {
  at::Tensor values, factor;
};
EightBitWeight in_eight_bits(const at::Tensor& weight);

struct ConvGradients {
  at::Tensor input, weight;  ///< dense; the input's may be left out; the weights' maybe in float32
};

class ImageOps {
 public:
  virtual ~ImageOps() = default;
  virtual at::Device device() const = 0;
  virtual at::ScalarType type() const = 0;  ///< of activations and of the weights in products
  /// Channels of images are padded with zeros to a multiple of this.
  virtual int64_t channel_multiple() const = 0;
  int64_t padded(int64_t channels) const {
    const int64_t m = channel_multiple();
    return (channels + m - 1) / m * m;
  }

  at::Tensor empty(at::IntArrayRef shape) const;
  at::Tensor zeros_float(at::IntArrayRef shape) const;

  /// 3x3 (or 6x6) convolution without bias, padded by a pixel (by two); dense input. The gradient with respect to x is
  /// left out where `need_x` is false.
  virtual at::Tensor conv(const at::Tensor& x, const at::Tensor& weight, int64_t stride) const;
  virtual ConvGradients conv_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                                      int64_t stride, bool need_x) const;

  /// 3x3 convolution of the image at twice its size (nearest neighbour), as one transposed convolution of the image
  /// itself with a 4x4 kernel: 4/9 of the products, and the large image is never written. The kernel is `spread` from
  /// the 3x3 one, its gradient `gather`ed.
  at::Tensor conv_up(const at::Tensor& x, const at::Tensor& spread_weight) const;
  ConvGradients conv_up_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& spread_weight) const;
  at::Tensor spread(const at::Tensor& weight) const;
  at::Tensor gather(const at::Tensor& spread_gradient) const;
  /// 3x3 convolution with stride 2 of the image after the filter (1, 3, 3, 1) at its own size, as one 6x6 kernel for
  /// `conv` with stride 2; and that kernel's gradient back to the 3x3 one.
  at::Tensor spread_filter(const at::Tensor& weight) const;
  at::Tensor gather_filter(const at::Tensor& spread_gradient) const;

  /// Norm of a sum: channels 0..c_y of the input are y + biases + residual, and are stored in x where it is defined
  /// (then it may have more channels, which are read). Without y the input is x.
  virtual at::Tensor norm(const PendingSum& sum, const at::Tensor& x, const NormLayer& layer,
                          NormStatistics* statistics) const = 0;
  /// Such a norm, then a 3x3 convolution with stride 1 of its output, which is `kept` where that is asked for.
  virtual at::Tensor norm_conv(const PendingSum& sum, const at::Tensor& x, const NormLayer& layer,
                               const at::Tensor& weight, NormStatistics* statistics, at::Tensor* kept) const;
  /// Whether such a convolution between so many channels of h x w images has eight bits where nothing is kept for a
  /// backward pass.
  virtual bool in_eight_bits(int64_t /*height*/, int64_t /*width*/, int64_t /*in*/, int64_t /*out*/) const {
    return false;
  }
  /// The norm's output and the weights in eight bits, products added up in float32.
  virtual at::Tensor eight_bit_norm_conv(const PendingSum& sum, const at::Tensor& x, const NormLayer& layer,
                                         const EightBitWeight& weight) const;
  /// Gradients of the input; sums over pixels go to `columns` of `sums` (n x width, float32).
  virtual InputGradients norm_backward(const NormBackward& in, const NormLayer& layer,
                                       const at::Tensor& sums) const = 0;

  /// Leaves out a share of the values of a dense image and scales the others up, in place: which, is a function of the
  /// samples' keys (htfm/net/dropout.h) and of the place in the network.
  virtual void dropout(at::Tensor& x, const at::Tensor& keys, int64_t place, double rate) const = 0;

  /// Adds up a sum, dense; also stored in `copy` (maybe a slice) where defined.
  virtual at::Tensor add_up(const PendingSum& sum, const at::Tensor& copy) const = 0;
  /// scale (a + b) (b may be undefined), and its sums over pixels in `column` of sums.
  virtual at::Tensor add_backward(const at::Tensor& a, const at::Tensor& b, const at::Tensor& sums, int64_t column,
                                  float scale = 1) const = 0;

  /// Half or twice the size by the filter (1, 3, 3, 1) in both directions, zeros beyond the border; x may be a slice.
  /// Half: weights of sum 1; twice: of sum 4, so that a constant stays. `gain` multiplies them: fir_up(g, 1/4) is the
  /// adjoint of fir_down, fir_down(g, 4) that of fir_up.
  virtual at::Tensor fir_down(const at::Tensor& x, float gain = 1) const = 0;
  virtual at::Tensor fir_up(const at::Tensor& x, float gain = 1) const = 0;

  /// Attention over pixels: qkv is n x h x w x 3c, the output n x h x w x c. `saved` keeps what the backward pass
  /// needs; that one writes the sums of the gradient over pixels too.
  virtual at::Tensor attention(const at::Tensor& qkv, int64_t heads, std::vector<at::Tensor>* saved) const = 0;
  virtual at::Tensor attention_backward(const at::Tensor& dy, const at::Tensor& qkv, int64_t heads,
                                        const std::vector<at::Tensor>& saved, const at::Tensor& sums,
                                        int64_t column) const = 0;

  /// Attention in plain products, for types and sizes that have nothing better.
  at::Tensor plain_attention(const at::Tensor& qkv, int64_t heads, std::vector<at::Tensor>* saved) const;
  at::Tensor plain_attention_backward(const at::Tensor& dy, const at::Tensor& qkv, int64_t heads,
                                      const std::vector<at::Tensor>& saved, const at::Tensor& sums,
                                      int64_t column) const;

  /// Products over channels: x (rows, maybe strided) times weight (out x in) transposed, with an optional bias; and the
  /// two backward products.
  at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {}) const;
  at::Tensor product_backward_input(const at::Tensor& dy, const at::Tensor& weight) const;
  at::Tensor product_backward_weight(const at::Tensor& dy, const at::Tensor& x) const;

 protected:
  /// Queries, keys and values as views n x heads x tokens x size.
  static std::array<at::Tensor, 3> split_heads(const at::Tensor& qkv, int64_t heads);

 private:
  const at::Tensor& taps() const;
  const at::Tensor& filter_taps() const;
  // Of `spread` and `spread_filter`, in the operations' type; made when they are needed, by one of the threads.
  mutable at::Tensor taps_, filter_taps_;
  mutable std::once_flag taps_made_, filter_taps_made_;
};

/// Float32 on the CPU: the reference. `eight_bit`: convolutions after norms are rounded as a device rounds them.
std::unique_ptr<ImageOps> make_cpu_image_ops(bool eight_bit = false);

}  // namespace htfm
