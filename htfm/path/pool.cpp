#include "htfm/path/pool.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "htfm/base/error.h"
#include "htfm/metric/sort.h"
#include "htfm/metric/tails.h"
#include "htfm/tail/scatter.h"

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
  // Given the area, the source's radius is sqrt(2A) times a chi variable, and the data's distance is a growing function of it: its median
  // is the function at the median. So s_d needs no pairs, only the law of the radius, from draws without paths.
  std::optional<DataScale> data_scale(const SizeLaw& sizes) const override {
    if (!sizes.size().is_distance()) return std::nullopt;
    ClockSpec spec = source_.clock().spec();
    spec.grid = 1;
    const Key key = key_.child("scale");
    const at::Tensor drawn = make_clock(spec)->sample(key.child("clock"), {.count = kScaleDraws, .paths = false}).area;
    std::vector<double> area(drawn.const_data_ptr<double>(), drawn.const_data_ptr<double>() + kScaleDraws);
    std::vector<double> radius = radii(key, area.data(), kScaleDraws);
    sort_values(area);
    sort_values(radius);
    std::vector<double> x, y;
    const double middle = chi_median(dim_);
    for (const double level : scale_levels()) {
      const double s0 = std::sqrt(2 * quantile_of_sorted(area, level));
      const auto below = std::upper_bound(radius.begin(), radius.end(), s0 * middle) - radius.begin();
      const double size = sizes.quantile((static_cast<double>(below) + 0.5) / (static_cast<double>(kScaleDraws) + 1));
      if (!(size > 0) || !std::isfinite(s0) || (!x.empty() && !(std::log(s0) > x.back() + 1e-6))) continue;
      x.push_back(std::log(s0));
      y.push_back(std::log(size / middle));
    }
    if (x.empty()) throw InputError("[precondition.scale] expected data that are not all at their centre");
    if (x.size() == 1) return DataScale(std::exp(y[0]));
    const double slope = tail_slope(source_.clock(), sizes);
    if (slope > 0) x.push_back(x.back() + 1), y.push_back(y.back() + slope);
    return DataScale(std::move(x), std::move(y));
  }

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
  static constexpr int64_t kScaleDraws = 1 << 21;

  // sqrt(2A) |z|: the squared norm of dim normals is twice a gamma draw.
  std::vector<double> radii(Key key, const double* area, int64_t n) const {
    std::vector<double> out(static_cast<size_t>(n));
    fill_log_gamma_draw(key.child("radius"), static_cast<double>(dim_) / 2, 0, n, out.data());
    for (int64_t i = 0; i < n; ++i) out[i] = std::sqrt(2 * area[i]) * std::exp((std::log(2.0) + out[i]) / 2);
    return out;
  }

  std::shared_ptr<const Ranking> ranking(int64_t number) const {
    const std::lock_guard lock(mutex_);
    if (pool_ && pool_->number == number) return pool_;
    auto fresh = std::make_shared<Ranking>();
    const Key key = key_.child("pool").child(static_cast<uint64_t>(number));
    fresh->number = number;
    fresh->clocks = source_.clocks(key, size_);
    fresh->radius = radii(key, fresh->clocks.area.const_data_ptr<double>(), size_);
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
