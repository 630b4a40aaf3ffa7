// The DDPM U-Net of the image experiments: residual blocks of norm, SiLU and 3x3 convolutions with scale and shift from
// (time, path), attention at chosen sizes and in the middle, skip connections joined on the way up. NCSN++ of the
// weather fields is the same network with other options: sizes change inside residual blocks by the filter (1, 3, 3,
// 1), sums are divided by the root of 2, and the image itself is fed in again at every size (residual progressive
// input).
#pragma once

#include "htfm/base/api.h"
#include "htfm/net/image_ops.h"
#include "htfm/net/network.h"

namespace htfm HTFM_PUBLIC {

struct UNetOptions {
  int64_t channels = 3, height = 32, width = 32;  ///< of the images
  int64_t feature = 0;  ///< size of the feature; without the field that is given it goes through the path module, which
                        ///< is left out where nothing remains
  int64_t given_channels = 0, given_height = 0, given_width = 0;  ///< of a field that is given (the feature's last
                                                                  ///< entries): further channels of the image, at every
                                                                  ///< point the value of the coarse one it lies in
  int64_t base = 128;                                             ///< channels at full size
  std::vector<int64_t> multipliers{1, 2, 2, 2};                   ///< of the channels, size by size
  int64_t blocks = 2;                                             ///< residual blocks a size
  int64_t heads = 4;
  std::vector<int64_t> attention{16};  ///< heights at which blocks are followed by attention
  int64_t groups = 32;                 ///< of the norms, at the most
  int64_t group_channels = 0;  ///< fewer groups where they would have fewer channels than this; 0: always as many
  bool filtered = false;       ///< sizes change in residual blocks, filtered (BigGAN); otherwise by convolutions
  bool rescale = false;        ///< sums of block and shortcut times sqrt(1/2)
  bool progressive = false;    ///< the image at every size, filtered and convolved, is added on the way down
  int64_t path_embedding = 128;
  bool film = false;            ///< also modulate the middle blocks by the path embedding alone
  bool linear_path = false;     ///< the path feature's embedding is linear in it; otherwise two layers with a SiLU
  bool shift_only = false;      ///< blocks are shifted by (time, path), not scaled
  bool attend_once_up = false;  ///< way up: attention after the last block of a size alone, not after each
  double dropout = 0;           ///< share of the values before a block's second convolution that a training step leaves
                                ///< out
  bool strided_pyramid = false;  ///< progressive input: filtered at its size, then convolved with stride 2; otherwise
                                 ///< filtered to half the size, then convolved

  int64_t given_size() const { return given_channels * given_height * given_width; }
  int64_t path_feature() const { return feature - given_size(); }
  int64_t input_channels() const { return channels + given_channels; }
};

/// A 3x3 convolution's place in the flat buffer, or a product over channels (kernel 1).
struct ConvLayer {
  int64_t in = 0, out = 0, kernel = 3, stride = 1, weight = 0, bias = 0;
  int64_t column = -1;  ///< of the sums of its output's gradient over pixels
};

struct NormPlace {
  int64_t channels = 0, groups = 1, gamma = 0, beta = 0, column = 0;  ///< column: of gamma's sums, beta's follow
};

struct AttentionLayer {
  NormPlace norm;
  ConvLayer qkv, out;
};

enum class Resample { none, down, up };

struct ResidualLayer {
  NormPlace norm1, norm2;
  ConvLayer conv1, conv2, shortcut;    ///< shortcut.out = 0: identity
  int64_t modulation = 0;              ///< its first column of (scale, shift)
  Resample resample = Resample::none;  ///< between norm and first convolution, and before the shortcut
  int64_t input_channels() const { return norm1.channels; }
  int64_t channels() const { return conv2.out; }
};

/// One step of the way down or up: a residual block with or without attention, or a change of size by a convolution.
struct UNetStage {
  enum class Kind { block, resize } kind = Kind::block;
  ResidualLayer block = {};
  bool attends = false;
  AttentionLayer attention = {};
  ConvLayer resize = {};
  int64_t height = 0, width = 0;  ///< of its input
  int64_t skip = -1;              ///< way up: which output of the way down is joined; -1: none
  bool progressive =
      false;  ///< way down: `resize` convolves the filtered image (or what it has become), added to the block's output
  int64_t channels() const { return kind == Kind::resize ? resize.out : block.channels(); }
};

/// Structure and parameters.
struct UNetLayers {
  UNetLayers(const UNetOptions& options, ParameterLayout& layout);
  int64_t embedding() const { return 4 * options.base + (options.path_feature() > 0 ? options.path_embedding : 0); }

  UNetOptions options;
  ConvLayer input, output;
  Linear time1, time2, path1, path2, film;
  int64_t modulation_weight = 0, modulation_bias = 0;  ///< all blocks' in one matrix
  int64_t modulation_size = 0;                         ///< columns of (scale, shift), block by block
  int64_t modulation_rows() const { return options.shift_only ? modulation_size / 2 : modulation_size; }
  std::vector<UNetStage> down, up;
  ResidualLayer middle1, middle2;
  AttentionLayer middle_attention;
  NormPlace last_norm;
  int64_t column_count = 0;  ///< of the sums over pixels
  struct Column {
    int64_t parameter, count, column;
  };
  std::vector<Column> columns;  ///< which sums are the gradient of which parameters

 private:
  int64_t add_columns(int64_t parameter, int64_t count, int64_t room);
  ConvLayer add_conv(ParameterLayout& layout, const std::string& name, int64_t in, int64_t out, int64_t kernel,
                     int64_t stride, bool zero);
  NormPlace add_norm(ParameterLayout& layout, const std::string& name, int64_t channels);
  ResidualLayer add_block(ParameterLayout& layout, const std::string& name, int64_t in, int64_t out,
                          Resample resample = Resample::none);
  AttentionLayer add_attention(ParameterLayout& layout, const std::string& name, int64_t channels);
};

/// Builds the network, on the CPU; InputError where the sizes do not fit.
std::unique_ptr<Network> make_unet(const UNetOptions& options);

}  // namespace htfm
