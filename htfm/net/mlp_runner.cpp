#include "htfm/net/mlp_runner.h"

#include <fmt/format.h>

#include <cstring>

namespace htfm {

namespace {

MlpLayers::Norm add_norm(ParameterLayout& layout, const std::string& name, int64_t channels) {
  return {layout.add(name + ".weight", {channels}, false, 0, 1), layout.add(name + ".bias", {channels}, false, 0)};
}

int64_t scratch_size(const MlpLayers& layers) {
  Cutter count;
  const MlpTiles tiles(layers, count);  // counts while it lays itself out
  return count.used();
}

}  // namespace

MlpLayers::MlpLayers(const MlpOptions& o, ParameterLayout& layout) : options(o) {
  // Weight decay acts on the weights of the trunk, not on norms, biases or embeddings.
  input = Linear::add(layout, "input", o.dim, o.width);
  time1 = Linear::add(layout, "time.0", 1, o.time_embedding, false);
  time2 = Linear::add(layout, "time.1", o.time_embedding, o.time_embedding, false);
  if (o.feature) {
    path1 = Linear::add(layout, "path.0", o.feature, o.path_embedding, false);
    if (!o.linear_path) path2 = Linear::add(layout, "path.1", o.path_embedding, o.path_embedding, false);
  }
  for (int64_t b = 0; b < o.blocks; ++b) {
    const std::string name = fmt::format("block.{}.", b);
    Block block;
    block.norm1 = add_norm(layout, name + "norm1", o.width);
    block.linear1 = Linear::add(layout, name + "linear1", o.width, o.width);
    block.norm2 = add_norm(layout, name + "norm2", o.width);
    block.linear2 = Linear::add(layout, name + "linear2", o.width, o.width);
    block.modulation = Linear::add(layout, name + "modulation", embedding(), 2 * o.width - unscaled());
    blocks.push_back(block);
  }
  if (o.film) film = Linear::add(layout, "film", o.path_embedding, 2 * o.width, true, true);
  output = Linear::add(layout, "output", o.width, o.dim);
}

MlpTiles::MlpTiles(const MlpLayers& layers, Cutter& memory) {
  const MlpOptions& o = layers.options;
  const int64_t width = o.width, path = o.feature ? o.path_embedding : 0, hidden = std::max(path, o.time_embedding);
  x = memory.tile(o.dim);
  t = memory.tile(1);
  feature = memory.tile(o.feature);
  time_pre = memory.tile(o.time_embedding);
  time_hidden = memory.tile(o.time_embedding);
  path_pre = memory.tile(path);
  path_hidden = memory.tile(path);
  embedding_pre = memory.tile(layers.embedding());
  embedding = memory.tile(layers.embedding());
  for (int64_t b = 0; b < o.blocks; ++b)
    blocks.push_back({memory.tile(width), memory.tile(2 * o.groups), memory.tile(width), memory.tile(width),
                      memory.tile(2 * o.groups), memory.tile(width), memory.tile(2 * width)});
  last = memory.tile(width);
  output = memory.tile(o.dim);
  film = memory.tile(o.film ? 2 * width : 0);
  film_input = memory.tile(o.film ? width : 0);
  gradient_h = memory.tile(width);
  gradient_a = memory.tile(width);
  gradient_modulation = memory.tile(2 * width);
  gradient_embedding = memory.tile(layers.embedding());
  gradient_embedding_pre = memory.tile(layers.embedding());
  gradient_hidden = memory.tile(hidden);
  gradient_output = memory.tile(o.dim);
  sample_major = memory.tile(std::max({width, hidden, o.feature, o.dim}));
  embedding_sample_major = memory.tile(layers.embedding());
  output_rows = memory.tile(o.dim);
  gradient_rows = memory.tile(o.dim);
}

MlpRunner::MlpRunner(const MlpLayers& layers, const float* parameters)
    : layers_(layers),
      p_(parameters),
      k_(kernels<TileKernels>()),
      scratch_(scratch_size(layers)),
      cutter_(scratch_.data()),
      t_(layers, cutter_) {
  for (const MlpTiles::Block& block : t_.blocks) {
    std::fill_n(block.modulation, layers.unscaled() * kTile, 0.0f);
    modulation_.push_back(block.modulation);
  }
}

void MlpRunner::load(const NetworkInput& in, int64_t first, int64_t rows) {
  const MlpOptions& o = layers_.options;
  load_rows(in.x.const_data_ptr<float>() + first * o.dim, rows, o.dim, t_.x);
  load_rows(in.t.const_data_ptr<float>() + first, rows, 1, t_.t);
  if (o.feature) load_rows(in.feature.const_data_ptr<float>() + first * o.feature, rows, o.feature, t_.feature);
}

void MlpRunner::forward() {
  const MlpOptions& o = layers_.options;
  float* path = t_.embedding_pre + o.time_embedding * kTile;
  embed_time();
  if (o.feature) embed_path(path);
  k_.silu_forward(layers_.embedding(), t_.embedding_pre, t_.embedding);
  for (int64_t b = 0; b < o.blocks; ++b)
    linear(layers_.blocks[b].modulation, t_.embedding, t_.blocks[b].modulation + layers_.unscaled() * kTile);
  if (o.film) linear(layers_.film, path, t_.film);
  trunk(modulation_.data(), nullptr);
}

void MlpRunner::embed_time() {
  linear(layers_.time1, t_.t, t_.time_pre);
  k_.silu_forward(layers_.options.time_embedding, t_.time_pre, t_.time_hidden);
  linear(layers_.time2, t_.time_hidden, t_.embedding_pre);
}

void MlpRunner::embed_path(float* out) {
  if (layers_.options.linear_path) {
    linear(layers_.path1, t_.feature, out);
    return;
  }
  linear(layers_.path1, t_.feature, t_.path_pre);
  k_.silu_forward(layers_.options.path_embedding, t_.path_pre, t_.path_hidden);
  linear(layers_.path2, t_.path_hidden, out);
}

void MlpRunner::trunk(const float* const* modulation, const float* constants) {
  const MlpOptions& o = layers_.options;
  linear(layers_.input, t_.x, t_.blocks[0].x);
  for (int64_t b = 0; b < o.blocks; ++b) {
    const MlpLayers::Block& block = layers_.blocks[b];
    const MlpTiles::Block& t = t_.blocks[b];
    k_.norm_forward(norm(block.norm1, t.x, nullptr, nullptr, t.statistics1), t.a1);
    linear(block.linear1, t.a1, t.h);
    k_.norm_forward(
        norm(block.norm2, t.h, modulation[b], constants ? constants + b * 2 * o.width : nullptr, t.statistics2), t.a2);
    float* next = b + 1 < o.blocks ? t_.blocks[b + 1].x : t_.last;
    linear(block.linear2, t.a2, next, t.x);
    if (layers_.film_after(b)) apply_film(next);
  }
  linear(layers_.output, t_.last, t_.output);
}

double MlpRunner::backward(const SampleLoss& loss, int64_t first, int64_t rows, float* g) {
  const MlpOptions& o = layers_.options;
  const int64_t embedding = layers_.embedding();
  store_rows(t_.output, rows, o.dim, t_.output_rows);
  const double value = loss(first, rows, t_.output_rows, t_.gradient_rows);
  load_rows(t_.gradient_rows, rows, o.dim, t_.gradient_output);

  // gradient_h runs down the residual stream; what the blocks' modulations ask of the embedding is summed on the way.
  linear_backward(layers_.output, t_.last, t_.gradient_output, t_.gradient_h, false, g);
  const float* embedding_rows = to_sample_major(embedding, t_.embedding, t_.embedding_sample_major);
  float* film_gradient = nullptr;
  for (int64_t b = o.blocks - 1; b >= 0; --b) {
    const MlpLayers::Block& block = layers_.blocks[b];
    const MlpTiles::Block& t = t_.blocks[b];
    if (layers_.film_after(b)) film_gradient = film_backward();
    linear_backward(block.linear2, t.a2, t_.gradient_h, t_.gradient_a, false, g);
    float* gradient_inner = t.a2;  // no longer needed
    k_.norm_backward(norm(block.norm2, t.h, t.modulation, nullptr, t.statistics2), t_.gradient_a, nullptr,
                     gradient_inner, g + block.norm2.gamma, g + block.norm2.beta, t_.gradient_modulation);
    linear_backward(block.linear1, t.a1, gradient_inner, t_.gradient_a, false, g);
    k_.norm_backward(norm(block.norm1, t.x, nullptr, nullptr, t.statistics1), t_.gradient_a, t_.gradient_h,
                     t_.gradient_h, g + block.norm1.gamma, g + block.norm1.beta, nullptr);
    linear_backward(block.modulation, t_.embedding, embedding_rows, t_.gradient_modulation + layers_.unscaled() * kTile,
                    t_.gradient_embedding, b + 1 < o.blocks, g);
  }
  linear_backward(layers_.input, t_.x, t_.gradient_h, nullptr, false, g);

  k_.silu_backward(embedding, t_.embedding_pre, t_.gradient_embedding, t_.gradient_embedding_pre);
  const float* path = t_.embedding_pre + o.time_embedding * kTile;
  float* path_gradient = t_.gradient_embedding_pre + o.time_embedding * kTile;
  if (film_gradient) linear_backward(layers_.film, path, film_gradient, path_gradient, true, g);
  linear_backward(layers_.time2, t_.time_hidden, t_.gradient_embedding_pre, t_.gradient_hidden, false, g);
  k_.silu_backward(o.time_embedding, t_.time_pre, t_.gradient_hidden, t_.gradient_hidden);
  linear_backward(layers_.time1, t_.t, t_.gradient_hidden, nullptr, false, g);
  if (o.feature && o.linear_path) {
    linear_backward(layers_.path1, t_.feature, path_gradient, nullptr, false, g);
  } else if (o.feature) {
    linear_backward(layers_.path2, t_.path_hidden, path_gradient, t_.gradient_hidden, false, g);
    k_.silu_backward(o.path_embedding, t_.path_pre, t_.gradient_hidden, t_.gradient_hidden);
    linear_backward(layers_.path1, t_.feature, t_.gradient_hidden, nullptr, false, g);
  }
  return value;
}

void MlpRunner::linear(const Linear& layer, const float* x, float* y, const float* start) const {
  k_.gemm(layer.out, kTile, layer.in, p_ + layer.weight, layer.in, 1, x, kTile, y, kTile, p_ + layer.bias, start);
}

NormArgs MlpRunner::norm(const MlpLayers::Norm& n, const float* x, const float* modulation, const float* constant,
                         float* statistics) const {
  return {
      layers_.options.width, layers_.options.groups, x, p_ + n.gamma, p_ + n.beta, modulation, constant, statistics};
}

// Null where a weight gradient of this inner size is no matrix product of whole vectors.
const float* MlpRunner::to_sample_major(int64_t rows, const float* x, float* out) const {
  if (rows % 16 != 0) return nullptr;
  k_.transpose(rows, x, out, rows);
  return out;
}

void MlpRunner::linear_backward(const Linear& layer, const float* x, const float* dy, float* dx, bool accumulate,
                                float* g) {
  linear_backward(layer, x, to_sample_major(layer.in, x, t_.sample_major), dy, dx, accumulate, g);
}

void MlpRunner::linear_backward(const Linear& layer, const float* x, const float* sample_major, const float* dy,
                                float* dx, bool accumulate, float* g) {
  float* weight = g + layer.weight;
  if (sample_major)
    k_.gemm(layer.out, layer.in, kTile, dy, kTile, 1, sample_major, layer.in, weight, layer.in, nullptr, weight);
  else
    k_.add_inner_products(layer.out, layer.in, dy, x, weight);
  k_.add_row_sums(layer.out, dy, g + layer.bias);
  if (dx)
    k_.gemm(layer.in, kTile, layer.out, p_ + layer.weight, 1, layer.in, dy, kTile, dx, kTile, nullptr,
            accumulate ? dx : nullptr);
}

void MlpRunner::apply_film(float* h) {
  const int64_t n = layers_.options.width * kTile;
  std::memcpy(t_.film_input, h, static_cast<size_t>(n) * sizeof(float));
  for (int64_t i = 0; i < n; ++i) h[i] = h[i] * (1 + t_.film[i]) + t_.film[n + i];
}

// Turns the gradient of the modulated state into that of the state; returns the gradient of (scale, shift).
float* MlpRunner::film_backward() {
  const int64_t n = layers_.options.width * kTile;
  for (int64_t i = 0; i < n; ++i) {
    const float d = t_.gradient_h[i], scale = t_.film[i];
    t_.film[i] = d * t_.film_input[i];
    t_.film[n + i] = d;
    t_.gradient_h[i] = d * (1 + scale);
  }
  return t_.film;
}

void load_rows(const float* rows, int64_t count, int64_t size, float* tile) {
  for (int64_t c = 0; c < size; ++c) {
    for (int64_t r = 0; r < count; ++r) tile[c * kTile + r] = rows[r * size + c];
    for (int64_t r = count; r < kTile; ++r) tile[c * kTile + r] = 0;
  }
}

void store_rows(const float* tile, int64_t count, int64_t size, float* rows) {
  for (int64_t r = 0; r < count; ++r)
    for (int64_t c = 0; c < size; ++c) rows[r * size + c] = tile[c * kTile + r];
}

}  // namespace htfm
