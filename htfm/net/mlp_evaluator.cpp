// Evaluation for samples whose features are fixed: what the path embedding adds to each block's modulation is computed
// once.
#include <cstring>

#include "htfm/net/mlp_runner.h"

namespace htfm {

namespace {

class MlpEvaluator final : public Evaluator {
 public:
  MlpEvaluator(const MlpLayers& layers, const float* parameters, int64_t rows, const float* feature);
  void operator()(const float* x, double t, float* out) override;
  void operator()(const float* x, const float* t, float* out) override;

 private:
  int64_t kept_rows() const {
    return layers_.options.feature ? (layers_.options.blocks + layers_.options.film) * 2 * layers_.options.width : 0;
  }
  int64_t rows_of(int64_t tile) const { return std::min(kTile, rows_ - tile * kTile); }
  void time_constants(double t);
  void run(int64_t tile, const float* x, const float* const* modulation, const float* constants, float* out);

  const MlpLayers& layers_;
  const float* p_;
  const TileKernels& k_;
  int64_t rows_, tiles_;
  MlpRunner runner_;
  Scratch kept_;
  std::vector<const float*> modulation_,
      film_;  // path's share by tile and block, bias included; null without a path feature
  std::vector<const float*> current_;
  std::vector<float> constants_, columns_;
};

MlpEvaluator::MlpEvaluator(const MlpLayers& layers, const float* parameters, int64_t rows, const float* feature)
    : layers_(layers),
      p_(parameters),
      k_(kernels<TileKernels>()),
      rows_(rows),
      tiles_((rows + kTile - 1) / kTile),
      runner_(layers, parameters),
      kept_(tiles_ * kept_rows() * kTile),
      modulation_(static_cast<size_t>(tiles_ * layers.options.blocks), nullptr),
      constants_(static_cast<size_t>(layers.options.blocks * 2 * layers.options.width)) {
  const MlpOptions& o = layers_.options;
  for (const MlpTiles::Block& block : runner_.tiles().blocks) current_.push_back(block.modulation);
  if (!o.feature) return;
  Cutter cutter(kept_.data());
  const MlpTiles& t = runner_.tiles();
  float* path = t.embedding_pre + o.time_embedding * kTile;
  for (int64_t tile = 0; tile < tiles_; ++tile) {
    load_rows(feature + tile * kTile * o.feature, rows_of(tile), o.feature, t.feature);
    runner_.embed_path(path);
    k_.silu_forward(o.path_embedding, path, t.embedding);
    for (int64_t b = 0; b < o.blocks; ++b) {
      const Linear& m = layers_.blocks[b].modulation;
      float* share = cutter.tile(2 * o.width);
      const int64_t unscaled = layers_.unscaled() * kTile;
      std::fill_n(share, unscaled, 0.0f);
      k_.gemm(m.out, kTile, o.path_embedding, p_ + m.weight + o.time_embedding, m.in, 1, t.embedding, kTile,
              share + unscaled, kTile, p_ + m.bias, nullptr);
      modulation_[tile * o.blocks + b] = share;
    }
    if (o.film) {
      float* film = cutter.tile(2 * o.width);
      runner_.linear(layers_.film, path, film);
      film_.push_back(film);
    }
  }
}

void MlpEvaluator::operator()(const float* x, double t, float* out) {
  time_constants(t);
  for (int64_t tile = 0; tile < tiles_; ++tile)
    run(tile, x, modulation_.data() + tile * layers_.options.blocks, constants_.data(), out);
}

void MlpEvaluator::operator()(const float* x, const float* t, float* out) {
  const MlpOptions& o = layers_.options;
  const MlpTiles& tiles = runner_.tiles();
  for (int64_t tile = 0; tile < tiles_; ++tile) {
    load_rows(t + tile * kTile, rows_of(tile), 1, tiles.t);
    runner_.embed_time();
    k_.silu_forward(o.time_embedding, tiles.embedding_pre, tiles.embedding);
    for (int64_t b = 0; b < o.blocks; ++b) {
      const Linear& m = layers_.blocks[b].modulation;
      const float* share = modulation_[tile * o.blocks + b];
      const int64_t unscaled = layers_.unscaled() * kTile;
      k_.gemm(m.out, kTile, o.time_embedding, p_ + m.weight, m.in, 1, tiles.embedding, kTile,
              tiles.blocks[b].modulation + unscaled, kTile, share ? nullptr : p_ + m.bias,
              share ? share + unscaled : nullptr);
    }
    run(tile, x, current_.data(), nullptr, out);
  }
}

// The time embedding's share of every block's modulation, the same for all samples: the tile of times has equal
// columns, of which the kernels take no fewer than 16.
void MlpEvaluator::time_constants(double t) {
  constexpr int64_t kColumns = 16;
  const MlpOptions& o = layers_.options;
  const MlpTiles& tiles = runner_.tiles();
  std::fill_n(tiles.t, kTile, static_cast<float>(t));
  runner_.embed_time();
  k_.silu_forward(o.time_embedding, tiles.embedding_pre, tiles.embedding);
  columns_.resize(static_cast<size_t>(2 * o.width * kColumns));
  for (int64_t b = 0; b < o.blocks; ++b) {
    const Linear& m = layers_.blocks[b].modulation;
    k_.gemm(m.out, kColumns, o.time_embedding, p_ + m.weight, m.in, 1, tiles.embedding, kTile, columns_.data(),
            kColumns, o.feature ? nullptr : p_ + m.bias, nullptr);
    const int64_t first = b * 2 * o.width + layers_.unscaled();
    for (int64_t i = 0; i < m.out; ++i) constants_[first + i] = columns_[i * kColumns];
  }
}

void MlpEvaluator::run(int64_t tile, const float* x, const float* const* modulation, const float* constants,
                       float* out) {
  const MlpOptions& o = layers_.options;
  const MlpTiles& t = runner_.tiles();
  load_rows(x + tile * kTile * o.dim, rows_of(tile), o.dim, t.x);
  if (o.film)
    std::memcpy(t.film, film_[static_cast<size_t>(tile)], static_cast<size_t>(2 * o.width * kTile) * sizeof(float));
  runner_.trunk(modulation, constants);
  store_rows(t.output, rows_of(tile), o.dim, out + tile * kTile * o.dim);
}

}  // namespace

std::unique_ptr<Evaluator> make_mlp_evaluator(const MlpLayers& layers, const float* parameters, int64_t rows,
                                              const float* feature) {
  return std::make_unique<MlpEvaluator>(layers, parameters, rows, feature);
}

}  // namespace htfm
