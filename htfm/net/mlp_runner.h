// The residual MLP on one tile of samples: forward and backward pass. For mlp.cpp and mlp_evaluator.cpp only.
#pragma once

#include "htfm/net/mlp.h"
#include "htfm/net/scratch.h"

namespace htfm {

/// Where the network's parameters stand in the flat buffer.
struct MlpLayers {
  struct Norm {
    int64_t gamma = 0, beta = 0;
  };
  struct Block {
    Norm norm1, norm2;
    Linear linear1, linear2, modulation;
  };

  MlpLayers(const MlpOptions& options, ParameterLayout& layout);
  int64_t embedding() const { return options.time_embedding + (options.feature ? options.path_embedding : 0); }
  bool film_after(int64_t block) const { return options.film && block == options.blocks / 2; }
  /// Of a block's (scale, shift), which norms take: how many rows come first that no layer makes and that stay zero.
  int64_t unscaled() const { return options.shift_only ? options.width : 0; }

  MlpOptions options;
  Linear input, output, time1, time2, path1, path2, film;
  std::vector<Block> blocks;
};

/// What a tile keeps from the forward pass for the backward pass, and the backward pass's own tiles.
struct MlpTiles {
  struct Block {
    float *x, *statistics1, *a1, *h, *statistics2, *a2, *modulation;
  };
  MlpTiles(const MlpLayers& layers, Cutter& memory);

  float *x, *t, *feature, *time_pre, *time_hidden, *path_pre, *path_hidden, *embedding_pre, *embedding, *last, *output,
      *film, *film_input;
  std::vector<Block> blocks;
  float *gradient_h, *gradient_a, *gradient_modulation, *gradient_embedding, *gradient_embedding_pre, *gradient_hidden,
      *gradient_output;
  float *sample_major, *embedding_sample_major, *output_rows, *gradient_rows;
};

/// Runs one tile at a time on memory of its own.
class MlpRunner {
 public:
  MlpRunner(const MlpLayers& layers, const float* parameters);

  /// Reads `rows` samples of a batch; the rest of the tile is zero.
  void load(const NetworkInput& in, int64_t first, int64_t rows);
  /// Output of the loaded tile, into tiles().output.
  void forward();
  /// Runs a loss on that output and adds the gradient of all parameters to g; returns the loss.
  double backward(const SampleLoss& loss, int64_t first, int64_t rows, float* g);

  /// Parts of forward. Embeddings before their SiLU; the path's goes to `out`.
  void embed_time();
  void embed_path(float* out);
  /// The blocks; constants, when given, hold what every sample of the tile adds to its modulation, block by block.
  void trunk(const float* const* modulation, const float* constants);

  /// y = start + layer(x).
  void linear(const Linear& layer, const float* x, float* y, const float* start = nullptr) const;
  MlpTiles& tiles() { return t_; }

 private:
  NormArgs norm(const MlpLayers::Norm& n, const float* x, const float* modulation, const float* constant,
                float* statistics) const;
  const float* to_sample_major(int64_t rows, const float* x, float* out) const;
  void linear_backward(const Linear& layer, const float* x, const float* dy, float* dx, bool accumulate, float* g);
  void linear_backward(const Linear& layer, const float* x, const float* sample_major, const float* dy, float* dx,
                       bool accumulate, float* g);
  void apply_film(float* h);
  float* film_backward();

  const MlpLayers& layers_;
  const float* p_;
  const TileKernels& k_;
  Scratch scratch_;
  Cutter cutter_;
  MlpTiles t_;
  std::vector<const float*> modulation_;
};

/// Sample-major rows to a tile of `size` rows, the rest of it zero, and back.
void load_rows(const float* rows, int64_t count, int64_t size, float* tile);
void store_rows(const float* tile, int64_t count, int64_t size, float* rows);

std::unique_ptr<Evaluator> make_mlp_evaluator(const MlpLayers& layers, const float* parameters, int64_t rows,
                                              const float* feature);

}  // namespace htfm
