#include "htfm/path/pool.h"

#include <ATen/ops/empty.h>

#include <cmath>
#include <mutex>

namespace htfm {

namespace {

// Draws of the source ordered by radius. A clock comes with its radius, so the pair keeps its joint law; the direction is
// drawn anew, since the source is isotropic.
struct Ranking {
  int64_t number = -1;
  SourceBatch clocks;
  std::vector<double> radius;
};

class Pool final : public Coupling {
 public:
  explicit Pool(const CouplingContext& c) : source_(c.source), dim_(c.dim), size_(c.spec.pool), key_(c.key) {}

  SourceBatch pair(Key key, const DataBatch& data, const std::vector<double>& level) const override {
    const int64_t n = data.rows.size(0);
    // A new pool once as many rows were taken as it holds: a function of the position alone, so that a resumed run draws the same.
    const std::shared_ptr<const Ranking> pool = ranking(data.position / size_);
    std::vector<int64_t> order(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) order[i] = std::min<int64_t>(static_cast<int64_t>(level[i] * static_cast<double>(size_)), size_ - 1);
    SourceBatch out = pool->clocks;
    out.reorder(order);
    out.source = at::empty({n, dim_}, at::kDouble);
    double* x = out.source.mutable_data_ptr<double>();
    fill_normal(key.child("source"), 0, n * dim_, x);
    for (int64_t i = 0; i < n; ++i) {
      double square = 0;
      for (int64_t k = i * dim_; k < (i + 1) * dim_; ++k) square += x[k] * x[k];
      const double factor = pool->radius[order[i]] / std::sqrt(square);
      for (int64_t k = i * dim_; k < (i + 1) * dim_; ++k) x[k] *= factor;
    }
    return out;
  }

 private:
  std::shared_ptr<const Ranking> ranking(int64_t number) const {
    const std::lock_guard lock(mutex_);
    if (pool_ && pool_->number == number) return pool_;
    auto fresh = std::make_shared<Ranking>();
    const Key key = key_.child("pool").child(static_cast<uint64_t>(number));
    fresh->number = number;
    fresh->clocks = source_.clocks(key, size_);
    fresh->radius.resize(static_cast<size_t>(size_));
    // The squared norm of dim normals is twice a gamma draw.
    fill_log_gamma_draw(key.child("radius"), static_cast<double>(dim_) / 2, 0, size_, fresh->radius.data());
    const double* area = fresh->clocks.area.const_data_ptr<double>();
    for (int64_t i = 0; i < size_; ++i) fresh->radius[i] = std::sqrt(2 * area[i]) * std::exp((std::log(2.0) + fresh->radius[i]) / 2);
    const std::vector<int64_t> order = ascending_order(fresh->radius);
    fresh->clocks.reorder(order);
    std::vector<double> sorted(order.size());
    for (size_t k = 0; k < order.size(); ++k) sorted[k] = fresh->radius[order[k]];
    fresh->radius = std::move(sorted);
    return pool_ = fresh;
  }

  const SourceSampler& source_;
  int64_t dim_, size_;
  Key key_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Ranking> pool_;
};

}  // namespace

std::unique_ptr<Coupling> make_pool_coupling(const CouplingContext& context) { return std::make_unique<Pool>(context); }

}  // namespace htfm
