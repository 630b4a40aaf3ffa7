#include "htfm/net/mlp.h"

#include <ATen/ops/empty.h>

#include <cstring>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/io/dtype.h"
#include "htfm/net/mlp_runner.h"
#include "htfm/net/mlp_torch.h"

namespace htfm {

namespace {

const MlpOptions& checked(const MlpOptions& o) {
  if (o.dim < 1) throw InputError("[net] expected a data dimension of at least 1, got {}", o.dim);
  if (o.feature < 0) throw InputError("[net] expected a feature size of at least 0, got {}", o.feature);
  if (o.width < 1 || o.width > 4096 || o.groups < 1 || o.width % o.groups != 0)
    throw InputError("[net.width] expected a multiple of net.groups = {} up to 4096, got {}", o.groups, o.width);
  if (o.width / o.groups > kMaxGroupSize)
    throw InputError("[net.groups] expected groups of at most {} channels, got {} / {}", kMaxGroupSize, o.width,
                     o.groups);
  if (o.blocks < 1 || o.blocks > 256) throw InputError("[net.blocks] expected 1 to 256 blocks, got {}", o.blocks);
  if (o.time_embedding < 1 || o.path_embedding < 1)
    throw InputError("[net] expected time_embedding and path_embedding of at least 1, got {} and {}", o.time_embedding,
                     o.path_embedding);
  if (o.film && !o.feature)
    throw InputError(
        "[net.film] expected false where the network sees no feature of the clock (feature.kind), got true");
  return o;
}

class Mlp final : public Network {
 public:
  explicit Mlp(const MlpOptions& options) : layers_(checked(options), layout_) {}
  int64_t dim() const override { return layers_.options.dim; }
  int64_t feature_size() const override { return layers_.options.feature; }
  int64_t evaluation_rows() const override { return 8 * kTile; }
  at::Tensor forward(const float* parameters, const NetworkInput& input) const override;
  at::Tensor forward_by_torch(const at::Tensor& parameters, const NetworkInput& input) const override {
    return mlp_by_torch(layers_, parameters, input);
  }
  double gradient(const float* parameters, const NetworkInput& input, const SampleLoss& loss,
                  float* gradient) const override;
  // The batch is cut into parts of whole tiles by its size alone.
  int64_t part_count(int64_t rows) const override { return std::clamp<int64_t>(tile_count(rows) / 4, 1, 16); }
  int64_t part_begin(int64_t rows, int64_t part) const override {
    return std::min(rows, part * tile_count(rows) / part_count(rows) * kTile);
  }
  double part_gradient(const float* parameters, const NetworkInput& input, const SampleLoss& loss, int64_t part,
                       float* out) const override;
  std::unique_ptr<Evaluator> evaluator(const float* parameters, int64_t rows, const float* feature) const override;

 private:
  static int64_t tile_count(int64_t rows) { return (rows + kTile - 1) / kTile; }
  void check(const NetworkInput& input) const;

  MlpLayers layers_;
};

void Mlp::check(const NetworkInput& in) const {
  const auto is_float = [](const at::Tensor& t) {
    return t.defined() && t.scalar_type() == at::kFloat && t.is_contiguous() && t.is_cpu();
  };
  const auto is_matrix = [&](const at::Tensor& t, int64_t columns) {
    return is_float(t) && t.dim() == 2 && t.size(1) == columns;
  };
  if (!is_matrix(in.x, dim()))
    throw InputError("[mlp] expected states of size n x {} in float32, got {}", dim(), tensor_text(in.x));
  const int64_t n = in.x.size(0);
  if (!is_float(in.t) || in.t.numel() != n)
    throw InputError("[mlp] expected {} times in float32, got {}", n, tensor_text(in.t));
  if (feature_size() && (!is_matrix(in.feature, feature_size()) || in.feature.size(0) != n))
    throw InputError("[mlp] expected features of size {} x {} in float32, got {}", n, feature_size(),
                     tensor_text(in.feature));
}

at::Tensor Mlp::forward(const float* parameters, const NetworkInput& in) const {
  check(in);
  const int64_t n = in.x.size(0);
  at::Tensor out = at::empty({n, dim()}, at::kFloat);
  float* y = out.mutable_data_ptr<float>();
  parallel_ranges(n, 4 * kTile, [&](int64_t begin, int64_t end) {
    MlpRunner runner(layers_, parameters);
    for (int64_t first = begin; first < end; first += kTile) {
      const int64_t rows = std::min(kTile, end - first);
      runner.load(in, first, rows);
      runner.forward();
      store_rows(runner.tiles().output, rows, dim(), y + first * dim());
    }
  });
  return out;
}

double Mlp::gradient(const float* parameters, const NetworkInput& in, const SampleLoss& loss, float* gradient) const {
  check(in);
  // Each part has a gradient of its own, added in order: the sum is the same for any number of threads.
  const int64_t parts = part_count(in.x.size(0)), size = layout_.size();
  Scratch sums(parts * size);
  std::vector<double> values(static_cast<size_t>(parts), 0.0);
  parallel_for(parts, [&](int64_t part) {
    values[static_cast<size_t>(part)] = part_gradient(parameters, in, loss, part, sums.data() + part * size);
  });
  parallel_ranges(size, 1 << 14, [&](int64_t begin, int64_t end) {
    kernels<TileKernels>().sum_parts(parts, size, end - begin, sums.data() + begin, gradient + begin);
  });
  double total = 0;
  for (const double v : values) total += v;
  return total;
}

double Mlp::part_gradient(const float* parameters, const NetworkInput& in, const SampleLoss& loss, int64_t part,
                          float* out) const {
  check(in);
  const int64_t n = in.x.size(0), end = part_begin(n, part + 1);
  MlpRunner runner(layers_, parameters);
  std::memset(out, 0, static_cast<size_t>(layout_.size()) * sizeof(float));
  double value = 0;
  for (int64_t first = part_begin(n, part); first < end; first += kTile) {
    const int64_t rows = std::min(kTile, end - first);
    runner.load(in, first, rows);
    runner.forward();
    value += runner.backward(loss, first, rows, out);
  }
  return value;
}

std::unique_ptr<Evaluator> Mlp::evaluator(const float* parameters, int64_t rows, const float* feature) const {
  if (rows < 0) throw InputError("[mlp] expected a number of samples, got {}", rows);
  if (feature_size() && !feature)
    throw InputError("[mlp] expected features of size {} x {}, got none", rows, feature_size());
  return make_mlp_evaluator(layers_, parameters, rows, feature);
}

}  // namespace

std::unique_ptr<Network> make_mlp(const MlpOptions& options) { return std::make_unique<Mlp>(options); }

}  // namespace htfm
