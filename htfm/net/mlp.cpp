#include "htfm/net/mlp.h"

#include <ATen/ops/empty.h>

#include <cstring>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/net/tile_kernels.h"

namespace htfm {

namespace {

struct Norm {
  int64_t gamma = 0, beta = 0;
  static Norm add(ParameterLayout& layout, const std::string& name, int64_t channels) {
    return {layout.add(name + ".weight", {channels}, false, 0, 1), layout.add(name + ".bias", {channels}, false, 0)};
  }
};

struct Block {
  Norm norm1, norm2;
  Linear linear1, linear2, modulation;
};

// 64-byte aligned scratch memory, handed out tile by tile. It comes from a short list of the thread's own and goes back there:
// the next step asks for the same sizes, and fresh pages would cost a tenth of its time.
class Scratch {
 public:
  explicit Scratch(int64_t floats) {
    const auto fits = std::ranges::find_if(spare, [&](const Buffer& b) { return b.size >= floats; });
    if (fits != spare.end()) {
      buffer_ = std::move(*fits);
      spare.erase(fits);
      return;
    }
    buffer_.size = (floats + 15) / 16 * 16;
    buffer_.data.reset(static_cast<float*>(std::aligned_alloc(64, static_cast<size_t>(buffer_.size) * sizeof(float))));
    if (!buffer_.data) throw std::bad_alloc();
  }
  ~Scratch() {
    spare.push_back(std::move(buffer_));
    if (spare.size() > 4) spare.erase(spare.begin());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  float* tile(int64_t rows) { return take(rows * kTile); }
  float* take(int64_t floats) {
    float* p = buffer_.data.get() + used_;
    used_ += (floats + 15) / 16 * 16;
    return p;
  }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  struct Buffer {
    std::unique_ptr<float, Free> data;
    int64_t size = 0;
  };
  static thread_local std::vector<Buffer> spare;

  Buffer buffer_;
  int64_t used_ = 0;
};

thread_local std::vector<Scratch::Buffer> Scratch::spare;

class Mlp final : public Network {
 public:
  explicit Mlp(const MlpOptions& options);
  int64_t dim() const override { return o_.dim; }
  int64_t feature_size() const override { return o_.feature; }
  int64_t evaluation_rows() const override { return 8 * kTile; }
  at::Tensor forward(const float* parameters, const NetworkInput& input) const override;
  double gradient(const float* parameters, const NetworkInput& input, const SampleLoss& loss, float* gradient) const override;
  std::unique_ptr<Evaluator> evaluator(const float* parameters, int64_t rows, const float* feature) const override;

 private:
  friend class MlpEvaluator;
  struct Activations;
  class Runner;

  int64_t embedding() const { return o_.time_embedding + (o_.feature ? o_.path_embedding : 0); }
  int64_t scratch_floats() const;
  void check(const NetworkInput& input) const;

  MlpOptions o_;
  Linear input_, output_, time1_, time2_, path1_, path2_, film_;
  std::vector<Block> blocks_;
};

Mlp::Mlp(const MlpOptions& options) : o_(options) {
  if (o_.dim < 1) throw InputError("[net] expected a data dimension of at least 1, got {}", o_.dim);
  if (o_.feature < 0) throw InputError("[net] expected a feature size of at least 0, got {}", o_.feature);
  if (o_.width < 1 || o_.width > 4096 || o_.groups < 1 || o_.width % o_.groups != 0)
    throw InputError("[net.width] expected a multiple of net.groups = {} up to 4096, got {}", o_.groups, o_.width);
  if (o_.width / o_.groups > kMaxGroupSize)
    throw InputError("[net.groups] expected groups of at most {} channels, got {} / {}", kMaxGroupSize, o_.width, o_.groups);
  if (o_.blocks < 1 || o_.blocks > 256) throw InputError("[net.blocks] expected 1 to 256 blocks, got {}", o_.blocks);
  if (o_.time_embedding < 1 || o_.path_embedding < 1) throw InputError("[net] expected embedding sizes of at least 1");
  if (o_.film && !o_.feature) throw InputError("[net.film] expected a clock with a path feature, got none");
  // Weight decay acts on the weights of the trunk, not on norms, biases or embeddings.
  input_ = Linear::add(layout_, "input", o_.dim, o_.width);
  time1_ = Linear::add(layout_, "time.0", 1, o_.time_embedding, false);
  time2_ = Linear::add(layout_, "time.1", o_.time_embedding, o_.time_embedding, false);
  if (o_.feature) {
    path1_ = Linear::add(layout_, "path.0", o_.feature, o_.path_embedding, false);
    path2_ = Linear::add(layout_, "path.1", o_.path_embedding, o_.path_embedding, false);
  }
  for (int64_t b = 0; b < o_.blocks; ++b) {
    const std::string name = fmt::format("block.{}.", b);
    Block block;
    block.norm1 = Norm::add(layout_, name + "norm1", o_.width);
    block.linear1 = Linear::add(layout_, name + "linear1", o_.width, o_.width);
    block.norm2 = Norm::add(layout_, name + "norm2", o_.width);
    block.linear2 = Linear::add(layout_, name + "linear2", o_.width, o_.width);
    block.modulation = Linear::add(layout_, name + "modulation", embedding(), 2 * o_.width);
    blocks_.push_back(block);
  }
  if (o_.film) film_ = Linear::add(layout_, "film", o_.path_embedding, 2 * o_.width, true, true);
  output_ = Linear::add(layout_, "output", o_.width, o_.dim);
}

// What a tile keeps from the forward pass for the backward pass.
struct Mlp::Activations {
  struct BlockTiles {
    float *x, *statistics1, *a1, *h, *statistics2, *a2, *modulation;
  };
  float *x, *t, *feature, *time_pre, *time_hidden, *path_pre, *path_hidden, *embedding_pre, *embedding, *last, *output;
  float *film, *film_input;
  std::vector<BlockTiles> blocks;
};

int64_t Mlp::scratch_floats() const {
  const int64_t w = o_.width, e = embedding();
  const int64_t forward =
      2 * o_.dim + 1 + o_.feature + 2 * o_.time_embedding + 2 * o_.path_embedding + 2 * e + 4 * w + o_.blocks * (6 * w + 4 * o_.groups);
  const int64_t backward =
      4 * w + 3 * e + 2 * o_.path_embedding + 2 * o_.time_embedding + std::max({w, e, o_.path_embedding}) + 2 * o_.dim + 64;
  return (forward + backward + 64) * kTile + 64 * 16;
}

// One tile's forward and backward pass on memory of its own.
class Mlp::Runner {
 public:
  Runner(const Mlp& net, const float* parameters) : net_(net), p_(parameters), k_(kernels<TileKernels>()), scratch_(net.scratch_floats()) {
    const MlpOptions& o = net.o_;
    a_.x = scratch_.tile(o.dim);
    a_.t = scratch_.tile(1);
    a_.feature = scratch_.tile(o.feature);
    a_.time_pre = scratch_.tile(o.time_embedding);
    a_.time_hidden = scratch_.tile(o.time_embedding);
    a_.path_pre = scratch_.tile(o.path_embedding);
    a_.path_hidden = scratch_.tile(o.path_embedding);
    a_.embedding_pre = scratch_.tile(net.embedding());
    a_.embedding = scratch_.tile(net.embedding());
    for (int64_t b = 0; b < o.blocks; ++b)
      a_.blocks.push_back({scratch_.tile(o.width), scratch_.tile(2 * o.groups), scratch_.tile(o.width), scratch_.tile(o.width),
                           scratch_.tile(2 * o.groups), scratch_.tile(o.width), scratch_.tile(2 * o.width)});
    a_.last = scratch_.tile(o.width);
    a_.film = scratch_.tile(2 * o.width);
    a_.film_input = scratch_.tile(o.width);
    a_.output = scratch_.tile(o.dim);
    gradient_h_ = scratch_.tile(o.width);
    gradient_a_ = scratch_.tile(o.width);
    gradient_modulation_ = scratch_.tile(2 * o.width);
    gradient_embedding_ = scratch_.tile(net.embedding());
    gradient_embedding_pre_ = scratch_.tile(net.embedding());
    gradient_hidden_ = scratch_.tile(std::max(o.path_embedding, o.time_embedding));
    gradient_output_ = scratch_.tile(o.dim);
    transposed_ = scratch_.tile(std::max({o.width, o.path_embedding, o.time_embedding}));
    embedding_rows_ = scratch_.tile(net.embedding());
    rows_out_ = scratch_.take(2 * o.dim * kTile);
  }

  // Reads `rows` samples of a batch; the rest of the tile is zero.
  void load(const NetworkInput& in, int64_t first, int64_t rows) {
    load_rows(in.x.const_data_ptr<float>() + first * net_.o_.dim, rows, net_.o_.dim, a_.x);
    load_rows(in.t.const_data_ptr<float>() + first, rows, 1, a_.t);
    if (net_.o_.feature) load_rows(in.feature.const_data_ptr<float>() + first * net_.o_.feature, rows, net_.o_.feature, a_.feature);
  }

  void embed() {
    const MlpOptions& o = net_.o_;
    embed_time();
    if (o.feature) embed_path(a_.embedding_pre + o.time_embedding * kTile);
    k_.silu_forward(net_.embedding(), a_.embedding_pre, a_.embedding);
    for (int64_t b = 0; b < o.blocks; ++b) linear(net_.blocks_[b].modulation, a_.embedding, a_.blocks[b].modulation);
    if (o.film) linear(net_.film_, a_.embedding_pre + o.time_embedding * kTile, a_.film);
  }

  void embed_time() {
    linear(net_.time1_, a_.t, a_.time_pre);
    k_.silu_forward(net_.o_.time_embedding, a_.time_pre, a_.time_hidden);
    linear(net_.time2_, a_.time_hidden, a_.embedding_pre);
  }

  // A modulation from the path's share, which holds the bias, and the time embedding's; null where there is no path feature.
  void add_time_part(const Linear& layer, const float* path_share, float* modulation) const {
    k_.gemm(layer.out, kTile, net_.o_.time_embedding, p_ + layer.weight, layer.in, 1, a_.embedding, kTile, modulation, kTile,
            path_share ? nullptr : p_ + layer.bias, path_share);
  }

  void embed_path(float* out) {
    linear(net_.path1_, a_.feature, a_.path_pre);
    k_.silu_forward(net_.o_.path_embedding, a_.path_pre, a_.path_hidden);
    linear(net_.path2_, a_.path_hidden, out);
  }

  // The trunk; constants, when given, hold what every sample of the tile adds to its modulation, block by block.
  void trunk(const float* const* modulation, const float* constants) {
    const MlpOptions& o = net_.o_;
    linear(net_.input_, a_.x, a_.blocks[0].x);
    for (int64_t b = 0; b < o.blocks; ++b) {
      const Block& block = net_.blocks_[b];
      Activations::BlockTiles& t = a_.blocks[b];
      k_.norm_forward(norm(block.norm1, t.x, nullptr, nullptr, t.statistics1), t.a1);
      linear(block.linear1, t.a1, t.h);
      k_.norm_forward(norm(block.norm2, t.h, modulation[b], constants ? constants + b * 2 * o.width : nullptr, t.statistics2), t.a2);
      float* next = b + 1 < o.blocks ? a_.blocks[b + 1].x : a_.last;
      linear(block.linear2, t.a2, next, t.x);
      if (o.film && b == o.blocks / 2) apply_film(next);
    }
    linear(net_.output_, a_.last, a_.output);
  }

  void forward_tile() {
    embed();
    const float* modulation[256];
    for (int64_t b = 0; b < net_.o_.blocks; ++b) modulation[b] = a_.blocks[b].modulation;
    trunk(modulation, nullptr);
  }

  // Runs a loss on the outputs of `rows` samples and adds the gradient of all parameters to g.
  double backward_tile(const SampleLoss& loss, int64_t first, int64_t rows, float* g) {
    const MlpOptions& o = net_.o_;
    float* out_rows = rows_out_;
    float* grad_rows = rows_out_ + o.dim * kTile;
    store_rows(a_.output, rows, o.dim, out_rows);
    const double value = loss(first, rows, out_rows, grad_rows);
    load_rows(grad_rows, rows, o.dim, gradient_output_);

    std::memset(gradient_embedding_, 0, static_cast<size_t>(net_.embedding() * kTile) * sizeof(float));
    linear_backward(net_.output_, a_.last, gradient_output_, gradient_h_, false, g);
    const float* embedding_rows = sample_major(net_.embedding(), a_.embedding, embedding_rows_);
    float* film_gradient = nullptr;
    for (int64_t b = o.blocks - 1; b >= 0; --b) {
      const Block& block = net_.blocks_[b];
      const Activations::BlockTiles& t = a_.blocks[b];
      if (o.film && b == o.blocks / 2) film_gradient = film_backward();
      linear_backward(block.linear2, t.a2, gradient_h_, gradient_a_, false, g);
      k_.norm_backward(norm(block.norm2, t.h, t.modulation, nullptr, t.statistics2), gradient_a_, nullptr, t.a2, g + block.norm2.gamma,
                       g + block.norm2.beta, gradient_modulation_);
      linear_backward(block.linear1, t.a1, t.a2, gradient_a_, false, g);
      k_.norm_backward(norm(block.norm1, t.x, nullptr, nullptr, t.statistics1), gradient_a_, gradient_h_, gradient_h_,
                       g + block.norm1.gamma, g + block.norm1.beta, nullptr);
      linear_backward(block.modulation, a_.embedding, embedding_rows, gradient_modulation_, gradient_embedding_, true, g);
    }
    linear_backward(net_.input_, a_.x, gradient_h_, nullptr, false, g);

    k_.silu_backward(net_.embedding(), a_.embedding_pre, gradient_embedding_, gradient_embedding_pre_);
    if (film_gradient)
      linear_backward(net_.film_, a_.embedding_pre + o.time_embedding * kTile, film_gradient,
                      gradient_embedding_pre_ + o.time_embedding * kTile, true, g);
    linear_backward(net_.time2_, a_.time_hidden, gradient_embedding_pre_, gradient_hidden_, false, g);
    k_.silu_backward(o.time_embedding, a_.time_pre, gradient_hidden_, gradient_hidden_);
    linear_backward(net_.time1_, a_.t, gradient_hidden_, nullptr, false, g);
    if (o.feature) {
      linear_backward(net_.path2_, a_.path_hidden, gradient_embedding_pre_ + o.time_embedding * kTile, gradient_hidden_, false, g);
      k_.silu_backward(o.path_embedding, a_.path_pre, gradient_hidden_, gradient_hidden_);
      linear_backward(net_.path1_, a_.feature, gradient_hidden_, nullptr, false, g);
    }
    return value;
  }

  static void load_rows(const float* rows, int64_t count, int64_t size, float* tile) {
    for (int64_t c = 0; c < size; ++c) {
      for (int64_t r = 0; r < count; ++r) tile[c * kTile + r] = rows[r * size + c];
      for (int64_t r = count; r < kTile; ++r) tile[c * kTile + r] = 0;
    }
  }
  static void store_rows(const float* tile, int64_t count, int64_t size, float* rows) {
    for (int64_t r = 0; r < count; ++r)
      for (int64_t c = 0; c < size; ++c) rows[r * size + c] = tile[c * kTile + r];
  }

  // y = start + layer(x).
  void linear(const Linear& layer, const float* x, float* y, const float* start = nullptr) const {
    k_.gemm(layer.out, kTile, layer.in, p_ + layer.weight, layer.in, 1, x, kTile, y, kTile, p_ + layer.bias, start);
  }
  // The same for an x that is zero outside the rows from..from+count, which alone are given.
  void linear_part(const Linear& layer, int64_t from, int64_t count, const float* x, float* y) const {
    k_.gemm(layer.out, kTile, count, p_ + layer.weight + from, layer.in, 1, x, kTile, y, kTile, p_ + layer.bias, nullptr);
  }

  Activations& activations() { return a_; }

 private:
  NormArgs norm(const Norm& n, const float* x, const float* modulation, const float* constant, float* statistics) const {
    return {net_.o_.width, net_.o_.groups, x, p_ + n.gamma, p_ + n.beta, modulation, constant, statistics};
  }

  // The tile sample-major, where a weight gradient of this inner size is a matrix product; null otherwise.
  const float* sample_major(int64_t rows, const float* x, float* out) const {
    if (rows % 16 != 0) return nullptr;
    k_.transpose(rows, x, out, rows);
    return out;
  }

  void linear_backward(const Linear& layer, const float* x, const float* dy, float* dx, bool accumulate, float* g) {
    linear_backward(layer, x, sample_major(layer.in, x, transposed_), dy, dx, accumulate, g);
  }
  void linear_backward(const Linear& layer, const float* x, const float* transposed, const float* dy, float* dx, bool accumulate,
                       float* g) {
    if (transposed) {
      k_.gemm(layer.out, layer.in, kTile, dy, kTile, 1, transposed, layer.in, g + layer.weight, layer.in, nullptr, g + layer.weight);
    } else {
      k_.add_inner_products(layer.out, layer.in, dy, x, g + layer.weight);
    }
    k_.add_row_sums(layer.out, dy, g + layer.bias);
    if (dx) k_.gemm(layer.in, kTile, layer.out, p_ + layer.weight, 1, layer.in, dy, kTile, dx, kTile, nullptr, accumulate ? dx : nullptr);
  }

  void apply_film(float* h) {
    const int64_t n = net_.o_.width * kTile;
    std::memcpy(a_.film_input, h, static_cast<size_t>(n) * sizeof(float));
    for (int64_t i = 0; i < n; ++i) h[i] = h[i] * (1 + a_.film[i]) + a_.film[n + i];
  }
  // Turns the gradient of the modulated state into that of the state; returns the gradient of (scale, shift).
  float* film_backward() {
    const int64_t n = net_.o_.width * kTile;
    for (int64_t i = 0; i < n; ++i) {
      const float d = gradient_h_[i], scale = a_.film[i];
      a_.film[i] = d * a_.film_input[i];
      a_.film[n + i] = d;
      gradient_h_[i] = d * (1 + scale);
    }
    return a_.film;
  }

  const Mlp& net_;
  const float* p_;
  const TileKernels& k_;
  Scratch scratch_;
  Activations a_;
  float *gradient_h_, *gradient_a_, *gradient_modulation_, *gradient_embedding_, *gradient_embedding_pre_, *gradient_hidden_,
      *gradient_output_, *transposed_, *embedding_rows_, *rows_out_;
};

void Mlp::check(const NetworkInput& in) const {
  const auto is_float = [](const at::Tensor& t) { return t.defined() && t.scalar_type() == at::kFloat && t.is_contiguous() && t.is_cpu(); };
  if (!is_float(in.x) || in.x.dim() != 2 || in.x.size(1) != o_.dim)
    throw InputError("[mlp] expected states of size n x {} in float32", o_.dim);
  if (!is_float(in.t) || in.t.numel() != in.x.size(0)) throw InputError("[mlp] expected {} times in float32", in.x.size(0));
  if (o_.feature &&
      (!is_float(in.feature) || in.feature.dim() != 2 || in.feature.size(0) != in.x.size(0) || in.feature.size(1) != o_.feature))
    throw InputError("[mlp] expected features of size {} x {} in float32", in.x.size(0), o_.feature);
}

at::Tensor Mlp::forward(const float* parameters, const NetworkInput& in) const {
  check(in);
  const int64_t n = in.x.size(0);
  at::Tensor out = at::empty({n, o_.dim}, at::kFloat);
  float* y = out.mutable_data_ptr<float>();
  parallel_ranges(n, 4 * kTile, [&](int64_t begin, int64_t end) {
    Runner runner(*this, parameters);
    for (int64_t first = begin; first < end; first += kTile) {
      const int64_t rows = std::min(kTile, end - first);
      runner.load(in, first, rows);
      runner.forward_tile();
      Runner::store_rows(runner.activations().output, rows, o_.dim, y + first * o_.dim);
    }
  });
  return out;
}

double Mlp::gradient(const float* parameters, const NetworkInput& in, const SampleLoss& loss, float* gradient) const {
  check(in);
  const int64_t n = in.x.size(0), tiles = (n + kTile - 1) / kTile;
  // The batch is cut into parts by its size alone, each with a gradient of its own, added in order: the sum is the same
  // for any number of threads.
  const int64_t parts = std::clamp<int64_t>(tiles / 4, 1, 16), size = layout_.size();
  Scratch sums(parts * size);
  float* part_gradient = sums.take(parts * size);
  std::vector<double> values(static_cast<size_t>(parts), 0.0);
  parallel_for(parts, [&](int64_t part) {
    Runner runner(*this, parameters);
    float* own = part_gradient + part * size;
    std::memset(own, 0, static_cast<size_t>(size) * sizeof(float));
    for (int64_t tile = part * tiles / parts; tile < (part + 1) * tiles / parts; ++tile) {
      const int64_t first = tile * kTile, rows = std::min(kTile, n - first);
      runner.load(in, first, rows);
      runner.forward_tile();
      values[static_cast<size_t>(part)] += runner.backward_tile(loss, first, rows, own);
    }
  });
  parallel_ranges(size, 1 << 14, [&](int64_t begin, int64_t end) {
    std::memcpy(gradient + begin, part_gradient + begin, static_cast<size_t>(end - begin) * sizeof(float));
    for (int64_t part = 1; part < parts; ++part)
      for (int64_t i = begin; i < end; ++i) gradient[i] += part_gradient[part * size + i];
  });
  double total = 0;
  for (const double v : values) total += v;
  return total;
}

// Tiles share one runner; what the path feature adds to each block's modulation is kept from construction on.
class MlpEvaluator final : public Evaluator {
 public:
  MlpEvaluator(const Mlp& net, const float* parameters, int64_t rows, const float* feature)
      : net_(net),
        p_(parameters),
        rows_(rows),
        tiles_((rows + kTile - 1) / kTile),
        runner_(net, parameters),
        kept_((net.o_.feature ? tiles_ * (net.o_.blocks + 1) * 2 * net.o_.width * kTile : 0) + 64),
        constants_(static_cast<size_t>(net.o_.blocks * 2 * net.o_.width)) {
    const MlpOptions& o = net_.o_;
    if (!o.feature) return;
    Mlp::Activations& a = runner_.activations();
    float* embedding = a.embedding_pre + o.time_embedding * kTile;
    for (int64_t tile = 0; tile < tiles_; ++tile) {
      Mlp::Runner::load_rows(feature + tile * kTile * o.feature, std::min(kTile, rows_ - tile * kTile), o.feature, a.feature);
      runner_.embed_path(embedding);
      kernels<TileKernels>().silu_forward(o.path_embedding, embedding, a.embedding);
      for (const Block& block : net_.blocks_) {
        float* share = kept_.tile(2 * o.width);
        runner_.linear_part(block.modulation, o.time_embedding, o.path_embedding, a.embedding, share);
        modulation_.push_back(share);
      }
      if (o.film) {
        float* film = kept_.tile(2 * o.width);
        runner_.linear(net_.film_, embedding, film);
        film_.push_back(film);
      }
    }
  }

  void operator()(const float* x, double t, float* out) override {
    time_constants(t);
    const float* none[256] = {};
    for (int64_t tile = 0; tile < tiles_; ++tile)
      run(tile, x, net_.o_.feature ? modulation_.data() + tile * net_.o_.blocks : none, constants_.data(), out);
  }

  void operator()(const float* x, const float* t, float* out) override {
    const MlpOptions& o = net_.o_;
    const float* modulation[256];
    for (int64_t tile = 0; tile < tiles_; ++tile) {
      Mlp::Activations& a = runner_.activations();
      Mlp::Runner::load_rows(t + tile * kTile, std::min(kTile, rows_ - tile * kTile), 1, a.t);
      runner_.embed_time();
      kernels<TileKernels>().silu_forward(o.time_embedding, a.embedding_pre, a.embedding);
      for (int64_t b = 0; b < o.blocks; ++b) {
        runner_.add_time_part(net_.blocks_[b].modulation, o.feature ? modulation_[tile * o.blocks + b] : nullptr, a.blocks[b].modulation);
        modulation[b] = a.blocks[b].modulation;
      }
      run(tile, x, modulation, nullptr, out);
    }
  }

 private:
  void run(int64_t tile, const float* x, const float* const* modulation, const float* constants, float* out) {
    const MlpOptions& o = net_.o_;
    const int64_t first = tile * kTile, count = std::min(kTile, rows_ - first);
    Mlp::Activations& a = runner_.activations();
    Mlp::Runner::load_rows(x + first * o.dim, count, o.dim, a.x);
    if (o.film) std::memcpy(a.film, film_[static_cast<size_t>(tile)], static_cast<size_t>(2 * o.width * kTile) * sizeof(float));
    runner_.trunk(modulation, constants);
    Mlp::Runner::store_rows(a.output, count, o.dim, out + first * o.dim);
  }

  // The time embedding's share of every block's modulation, the same for all samples.
  void time_constants(double t) {
    const MlpOptions& o = net_.o_;
    const auto silu = [](float v) { return v / (1 + std::exp(-v)); };
    const int64_t e = o.time_embedding;
    std::vector<float> hidden(static_cast<size_t>(e)), embedding(static_cast<size_t>(e));
    for (int64_t i = 0; i < e; ++i) hidden[i] = silu(p_[net_.time1_.weight + i] * static_cast<float>(t) + p_[net_.time1_.bias + i]);
    for (int64_t i = 0; i < e; ++i) {
      float s = p_[net_.time2_.bias + i];
      for (int64_t j = 0; j < e; ++j) s += p_[net_.time2_.weight + i * e + j] * hidden[j];
      embedding[i] = silu(s);
    }
    for (int64_t b = 0; b < o.blocks; ++b) {
      const Linear& m = net_.blocks_[b].modulation;
      for (int64_t i = 0; i < m.out; ++i) {
        float s = o.feature ? 0 : p_[m.bias + i];
        for (int64_t j = 0; j < e; ++j) s += p_[m.weight + i * m.in + j] * embedding[j];
        constants_[b * m.out + i] = s;
      }
    }
  }

  const Mlp& net_;
  const float* p_;
  int64_t rows_, tiles_;
  Mlp::Runner runner_;
  Scratch kept_;
  std::vector<const float*> modulation_, film_;
  std::vector<float> constants_;
};

std::unique_ptr<Evaluator> Mlp::evaluator(const float* parameters, int64_t rows, const float* feature) const {
  if (rows < 0) throw InputError("[mlp] expected a number of samples, got {}", rows);
  if (o_.feature && !feature) throw InputError("[mlp] expected features of size {} x {}, got none", rows, o_.feature);
  return std::make_unique<MlpEvaluator>(*this, parameters, rows, feature);
}

}  // namespace

std::unique_ptr<Network> make_mlp(const MlpOptions& options) { return std::make_unique<Mlp>(options); }

}  // namespace htfm
