// One forward and backward pass of the U-Net over the operations of a device.
#pragma once

#include <functional>
#include <map>

#include "htfm/net/unet.h"

namespace htfm {

/// The flat parameters as a pass takes them: float32, and in the operations' type (the same tensor where that is
/// float32).
struct UNetWeights {
  at::Tensor master, compute;
};

/// The gradient of one parameter, in its order, in float32 or the operations' type.
struct ParameterGradient {
  int64_t parameter = 0;  ///< offset in the flat buffer
  at::Tensor value;
};

struct UNetGradient {
  std::vector<ParameterGradient> parameters;
  at::Tensor sums;  ///< n x columns (UNetLayers::columns): to be added over n
};

/// Called now and then during a backward pass with the gradients so far, which do not change any more.
using GradientProgress = std::function<void(const std::vector<ParameterGradient>&)>;

class UNetPass {
 public:
  UNetPass(const UNetLayers& layers, const ImageOps& ops, UNetWeights weights, bool keep);

  /// x: n x h x w x channels padded to the operations' multiple, in their type; t: n, float32; feature: n x size,
  /// float32, or undefined. Returns n x h x w x channels, float32, dense.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& t, const at::Tensor& feature);
  /// What depends on the feature alone, for many passes with the same samples; forward then takes no feature.
  void set_feature(const at::Tensor& feature);
  /// Gradient of a loss, given that of the output: n x h x w x channels padded, in the operations' type.
  UNetGradient backward(const at::Tensor& output_gradient, const GradientProgress& progress = {});

 private:
  struct BlockTape {
    at::Tensor x, a1, y1, a2, shortcut_input;
    NormStatistics statistics1, statistics2;
    int64_t column = -1;  // of the sum that x came from
    float scale = 1;      // of that sum
  };
  struct AttentionTape {
    at::Tensor x, a, qkv, o;
    NormStatistics statistics;
    std::vector<at::Tensor> saved;
    int64_t column = -1;
    float scale = 1;
  };
  struct StageTape {
    BlockTape block;
    AttentionTape attention;
    at::Tensor resize_input;
    int64_t column = -1;
    float scale = 1;
  };
  struct EmbeddingTape {
    at::Tensor waves, time_pre, time_hidden, feature, path_pre, path_hidden, path, joined, active;
  };

  at::Tensor parameter(int64_t offset, at::IntArrayRef shape) const;
  at::Tensor weight(const ConvLayer& c) const;
  const EightBitWeight& eight_bit_weight(const ConvLayer& c);
  at::Tensor spread_weight(const ConvLayer& c);
  /// Of a convolution with stride 2 after the filter (1, 3, 3, 1): both as one kernel.
  at::Tensor filtered_weight(const ConvLayer& c);
  at::Tensor bias(const ConvLayer& c) const;
  /// A norm, then a 3x3 convolution of its output.
  at::Tensor norm_conv(const PendingSum& in, const at::Tensor& x, const NormLayer& norm, const ConvLayer& c,
                       NormStatistics* statistics, at::Tensor* kept);
  NormLayer norm_layer(const NormPlace& n, bool silu, int64_t modulation = -1) const;
  void embed(const at::Tensor& t, const at::Tensor& feature);
  at::Tensor embed_path(const at::Tensor& feature);
  /// Blocks that are shifted only: their shifts to (scale, shift) with scales of zero, and a gradient's shifts.
  at::Tensor with_zero_scales(const at::Tensor& shifts) const;
  at::Tensor shifts_of(const at::Tensor& modulation) const;
  void for_each_block(const std::function<void(const ResidualLayer&)>& visit) const;
  at::Tensor given_field(const at::Tensor& feature) const;
  at::Tensor with_given(const at::Tensor& x, const at::Tensor& field) const;
  PendingSum block(const ResidualLayer& layer, const PendingSum& in, const at::Tensor& x, BlockTape& tape);
  PendingSum attention(const AttentionLayer& layer, const PendingSum& in, AttentionTape& tape);
  /// Gradients of the block's input: first part (the way so far), second part (the joined one).
  InputGradients block_backward(const ResidualLayer& layer, const at::Tensor& g, const at::Tensor& skip, int64_t split,
                                const BlockTape& tape);
  at::Tensor attention_backward(const AttentionLayer& layer, const at::Tensor& g, const AttentionTape& tape);
  PendingSum add_image(const UNetStage& stage, const PendingSum& h, const at::Tensor& image, StageTape& tape);
  /// Gradients of the block's sum and, where it is wanted, of the image that was added.
  InputGradients add_image_backward(const UNetStage& stage, const at::Tensor& g, bool need_image,
                                    const StageTape& tape);
  at::Tensor conv_backward(const ConvLayer& c, const at::Tensor& g, const at::Tensor& x, bool need_x = true);
  void put_weight(const ConvLayer& c, const at::Tensor& padded_gradient);
  float sum_scale() const;
  void product_backward(const ConvLayer& c, const at::Tensor& g, const at::Tensor& x);
  void embed_backward();
  void put(int64_t parameter, at::Tensor value) { gradient_.parameters.push_back({parameter, std::move(value)}); }

  const UNetLayers& layers_;
  const ImageOps& ops_;
  UNetWeights weights_;
  std::map<int64_t, at::Tensor> spread_;  // wide kernels that stand for a convolution and a change of size
  std::map<int64_t, EightBitWeight> eight_bit_;
  bool keep_;
  at::Tensor modulation_, modulation_gradient_, path_, given_;
  at::Tensor dropout_keys_;  // in training with dropout
  EmbeddingTape embedding_;
  at::Tensor input_, last_x_, last_a_;
  NormStatistics last_statistics_;
  int64_t last_column_ = -1;
  float last_scale_ = 1;
  std::vector<StageTape> down_, up_;
  BlockTape middle1_, middle2_;
  AttentionTape middle_attention_;
  UNetGradient gradient_;
};

}  // namespace htfm
