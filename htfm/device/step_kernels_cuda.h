// Launchers of the kernels of a training step on a CUDA device: pairs, loss, and the update of all parameters.
#pragma once

#include "htfm/device/step_types.h"
#include "htfm/net/image_kernels_cuda.h"

namespace htfm::cuda {

struct PairArgs {
  Type type = Type::float32;
  int rows = 0, channels = 0, padded = 0, height = 0, width = 0;
  const float* data = nullptr;  ///< all rows, channels x height x width each
  const StepHeader* header = nullptr;
  const StepRow* row = nullptr;
  const float* noise = nullptr;  ///< rows x dim where given; otherwise drawn from the header's key
  void* input = nullptr;         ///< rows x height x width x padded
  float* target = nullptr;       ///< rows x height x width x channels
  float* time = nullptr;         ///< rows
};
void make_pairs(const PairArgs& args, cudaStream_t stream);

/// The losses of htfm/method/method.h.
enum class Loss { squared, root, smooth_l1, median };

struct LossArgs {
  Type type = Type::float32;
  Loss loss = Loss::squared;
  int outer = 1, inner = 1;  ///< median: groups of rows of one data row, and rows a group
  int rows = 0, channels = 0, padded = 0, pixels = 0;
  const float *output = nullptr, *target = nullptr;
  const StepHeader* header = nullptr;
  const StepRow* row = nullptr;
  void* gradient = nullptr;   ///< rows x pixels x padded
  double* partial = nullptr;  ///< kLossBlocks sums
};
constexpr int kLossBlocks = 256;
void loss_gradient(const LossArgs& args, cudaStream_t stream);

/// out[c] = sum over rows of x[row][c].
void column_totals(const float* x, int64_t rows, int64_t columns, float* out, cudaStream_t stream);

/// Up to kSegment consecutive parameters with their gradient.
struct Segment {
  const void* gradient;
  int64_t offset;
  int32_t count, bfloat16;
  float decay;
  float* direction;  ///< Muon's matrices: momentum in, orthogonal matrix out; null: AdamW
  float scale;       ///< of the direction
};
constexpr int kSegment = 16384;

struct UpdateArgs {
  const Segment* segment = nullptr;
  int segments = 0;
  OptimiserConstants constants;
  const StepHeader* header = nullptr;
  const double* loss_partial = nullptr;
  double* norm_partial = nullptr;  ///< one a segment
  StepState* state = nullptr;
  float *parameters = nullptr, *first = nullptr, *second = nullptr, *ema = nullptr;
  bool directions = false;          ///< some segments have a direction
  void* bf16_parameters = nullptr;  ///< bfloat16 copy of the parameters; may be null
};
/// Whether the step counts, its coefficients, and the momentum of Muon's matrices.
void begin_update(const UpdateArgs& args, cudaStream_t stream);
/// The update itself; in between Muon's directions are made orthogonal.
void end_update(const UpdateArgs& args, cudaStream_t stream);
/// flat[offset + i] = gradient i of each segment.
void collect_gradients(const Segment* segment, int segments, float* flat, cudaStream_t stream);

constexpr int kTerms = 8;
/// out = sum of factor[k][row] in[k]; rows x dim.
struct CombineArgs {
  int64_t rows = 0, dim = 0;
  int terms = 0;
  const double* in[kTerms] = {};
  const double* factor = nullptr;  ///< terms x rows
  double* out = nullptr;
};
void combine(const CombineArgs& args, cudaStream_t stream);

/// x[i] = element first + i of the key's normal stream.
struct NormalArgs {
  uint64_t key = 0, first = 0;
  int64_t count = 0;
  double* x = nullptr;
};
void normal(const NormalArgs& args, cudaStream_t stream);

struct NetworkEndArgs {
  Type type = Type::float32;
  int rows = 0, channels = 0, padded = 0, pixels = 0;
  const double* state = nullptr;
  const double* coefficient = nullptr;  ///< rows x (in, time, skip, out)
  void* input = nullptr;                ///< rows x pixels x padded
  float* time = nullptr;
  const float* output = nullptr;  ///< rows x pixels x channels
  double* velocity = nullptr;
};
void network_input(const NetworkEndArgs& args, cudaStream_t stream);
void network_output(const NetworkEndArgs& args, cudaStream_t stream);

}  // namespace htfm::cuda
