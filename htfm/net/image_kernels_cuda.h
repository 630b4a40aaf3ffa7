// Launchers of the fused image kernels, free of torch so that nvcc sees plain pointers. Images are n x pixels x
// channels; a stride of pixels or samples is counted in elements, channels are dense.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace htfm::cuda {

enum class Type { float32, bfloat16 };

struct Strided {
  void* data = nullptr;
  int64_t pixel = 0, sample = 0;
};

struct NormForwardArgs {
  Type type = Type::float32;
  int samples = 0, pixels = 0, channels = 0, groups = 0;
  const void* y = nullptr;  ///< dense, `fresh` channels
  int fresh = 0;
  const float* bias[2] = {nullptr, nullptr};
  float scale = 1;  ///< of the sum; other than 1 only where there is a residual or x
  Strided residual, x;
  const float *gamma = nullptr, *beta = nullptr, *modulation = nullptr;
  int64_t modulation_row = 0;
  bool silu = true;
  void* out = nullptr;
  float eight_bit = 0;                        ///< where it is not 0, out is float8 of the values times this
  float *mean = nullptr, *inverse = nullptr;  ///< may be null
  float* workspace = nullptr;                 ///< norm_workspace floats
};
void norm_forward(const NormForwardArgs& args, cudaStream_t stream);

struct NormBackwardArgs {
  Type type = Type::float32;
  int samples = 0, pixels = 0, channels = 0, groups = 0;
  const void* gradient = nullptr;  ///< dense
  Strided x;
  const float* bias = nullptr;
  const float *mean = nullptr, *inverse = nullptr, *gamma = nullptr, *beta = nullptr, *modulation = nullptr;
  int64_t modulation_row = 0;
  bool silu = true;
  Strided add[2];
  int split = 0;
  float scale = 1;                           ///< of the first part of the input's gradient
  void *first = nullptr, *second = nullptr;  ///< dense, split and channels - split channels
  float* sums = nullptr;                     ///< samples x width
  int64_t width = 0, column_gamma = -1, column_beta = -1, column_input = -1;
  float* modulation_gradient = nullptr;
  int64_t modulation_gradient_row = 0;
  float* workspace = nullptr;  ///< norm_workspace floats
};
void norm_backward(const NormBackwardArgs& args, cudaStream_t stream);
/// Floats that a norm needs for sums of parts of a sample, either way; 0 for most.
int64_t norm_workspace(Type type, int samples, int pixels, int channels);

/// A 3x3 convolution between few channels, padded by a pixel.
struct NarrowConvArgs {
  int samples = 0, height = 0, width = 0, in = 0, out = 0;
  Strided x;
  const void* weight = nullptr;  ///< out x 3 x 3 x in
  void* y = nullptr;             ///< dense
  void* kept = nullptr;          ///< what a norm before it gives, dense; may be null
};
/// Whether there is a kernel for it.
bool is_narrow_conv(Type type, int height, int width, int in, int out);
void narrow_conv(const NarrowConvArgs& args, cudaStream_t stream);
/// Of a norm's output, in place of the convolution's x: the norm's input has x, or no residual.
void narrow_norm_conv(const NormForwardArgs& norm, const NarrowConvArgs& args, cudaStream_t stream);

/// The gradient of its weights.
struct NarrowConvGradientArgs {
  int samples = 0, height = 0, width = 0, in = 0, out = 0;
  Strided x;
  const void* dy = nullptr;          ///< dense
  float* weight_gradient = nullptr;  ///< out x 3 x 3 x in
  float* workspace = nullptr;        ///< narrow_gradient_workspace floats
};
int64_t narrow_gradient_workspace(const NarrowConvGradientArgs& args);
void narrow_conv_gradient(const NarrowConvGradientArgs& args, cudaStream_t stream);

/// Adds up y + biases + residual into dense `out` and into `copy` where there is one.
struct AddArgs {
  Type type = Type::float32;
  int samples = 0, pixels = 0, channels = 0;
  const void* y = nullptr;
  const float* bias[2] = {nullptr, nullptr};
  float scale = 1;
  Strided residual, copy;
  void* out = nullptr;
};
void add_up(const AddArgs& args, cudaStream_t stream);

/// out = scale (a + b) with sums over pixels; channels of a taken from three tensors of a third of them each where
/// parts[1] is given.
struct GradientSumArgs {
  Type type = Type::float32;
  int samples = 0, pixels = 0, channels = 0;  ///< of the output
  const void* parts[3] = {nullptr, nullptr, nullptr};
  const void* b = nullptr;
  float scale = 1;
  void* out = nullptr;  ///< may be null: sums only
  float* sums = nullptr;
  int64_t row = 0, column = 0;
};
void gradient_sums(const GradientSumArgs& args, cudaStream_t stream);

/// The filter (1, 3, 3, 1) in both directions, to half the size (weights of sum 1) or twice (of sum 4), times gain.
struct FirArgs {
  Type type = Type::float32;
  bool up = false;
  int samples = 0, height = 0, width = 0, channels = 0;  ///< of the input
  float gain = 1;
  Strided x;
  void* out = nullptr;  ///< dense
};
void fir(const FirArgs& args, cudaStream_t stream);

/// Leaves out values of dense images, in place (htfm/net/dropout.h).
struct DropoutArgs {
  Type type = Type::float32;
  int64_t samples = 0, values = 0;  ///< of a sample: a multiple of eight
  const int64_t* keys = nullptr;    ///< one a sample
  int64_t place = 0;
  uint32_t threshold = 0;
  float scale = 1;
  void* x = nullptr;
};
void dropout(const DropoutArgs& args, cudaStream_t stream);

}  // namespace htfm::cuda
