#include "htfm/coupling/pool.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "htfm/base/error.h"
#include "htfm/coupling/level_noise.h"
#include "htfm/coupling/student_radius.h"
#include "htfm/stat/order.h"
#include "htfm/stat/scatter.h"
#include "htfm/stat/sort.h"

namespace htfm {

namespace {

// Draws of the source ordered by radius. A clock comes with its radius, so the pair keeps its joint law; the direction
// is drawn anew, since z of sqrt(2A) z is isotropic.
struct Ranking {
  int64_t number = -1;
  SourceBatch clocks;
  std::vector<double> radius;
};

// The points of these radii, or the radii themselves.
void add_points(Key key, const std::vector<double>& radius, int64_t dim, bool points, const SourceSampler& source,
                SourceBatch& out) {
  const at::Tensor own = at::empty({static_cast<int64_t>(radius.size())}, at::kDouble);
  std::copy(radius.begin(), radius.end(), own.mutable_data_ptr<double>());
  if (!points) {
    out.radius = own;
    return;
  }
  out.source = points_of_radius(key.child("source"), own, dim);
  source.place(out.area, out.source);
}

// Given the area, the source's radius is sqrt(2A) times a chi variable, and the data's distance is a growing function
// of it: its median is the function at the median. So s_d needs no pairs, only the law of the radius. Where both have
// power tails the knots go on far beyond the data: a generalised Pareto law is a power law only in the limit.
DataScale scale_by_level(const Clock& clock, const MagnitudeLaw& sizes, int64_t dim, const LevelNoise& noise,
                         const std::vector<double>& area_at_levels,
                         const std::function<double(double)>& survival_of_radius) {
  std::vector<double> x, y;
  const double middle = chi_median(dim);
  const auto add = [&](double s0) {
    const double size = sizes.upper_quantile(noise.data_share(survival_of_radius(s0 * middle)));
    if (!(size > 0) || !std::isfinite(s0) || !std::isfinite(size) || (!x.empty() && !(std::log(s0) > x.back() + 1e-6)))
      return;
    x.push_back(std::log(s0));
    y.push_back(std::log(size / middle));
  };
  for (const double area : area_at_levels) add(std::sqrt(2 * area));
  if (tail_slope(clock, sizes) > 0 && !x.empty())
    for (double s0 = std::exp(x.back()) * 2; survival_of_radius(s0 * middle) > 1e-10; s0 *= 2) add(s0);
  if (x.empty())
    throw InputError("[precondition.scale] expected rows that differ, got rows that all lie at their centre");
  if (x.size() == 1) return DataScale(std::exp(y[0]));
  const double slope = tail_slope(clock, sizes);
  if (slope > 0) x.push_back(x.back() + 1), y.push_back(y.back() + slope);
  return {std::move(x), std::move(y)};
}

constexpr int64_t kScaleDraws = 1 << 21, kFarDraws = 400;

// Sorted areas of a clock, drawn without paths: the law of the area is exact on a grid of one step.
std::vector<double> drawn_areas(const Clock& clock, Key key) {
  ClockSpec spec = clock.spec();
  spec.grid = 1;
  const at::Tensor drawn = make_clock(spec)->sample(key, {.count = kScaleDraws, .paths = false}).area;
  return {drawn.const_data_ptr<double>(), drawn.const_data_ptr<double>() + kScaleDraws};
}

std::vector<double> at_scale_levels(const std::vector<double>& sorted) {
  std::vector<double> out;
  for (const double level : scale_levels()) out.push_back(quantile_of_sorted(sorted, level));
  return out;
}

// Student-t sources need no pool: the quantile of the radius is known, and the clock given the radius is conjugate.
class Conjugate final : public Coupling {
 public:
  explicit Conjugate(const CouplingContext& c)
      : source_(c.source),
        dim_(c.dim),
        key_(c.key),
        noise_(c.spec.noise, c.spec.noise_fade),
        radius_(c.source.clock().student_degrees(), c.dim) {}

  SourceBatch pair(Key key, const DataBatch&, const std::vector<double>& level, bool points) const override {
    std::vector<double> radius(level.size());
    for (size_t i = 0; i < level.size(); ++i) radius[i] = radius_.quantile(level[i]);
    SourceBatch out = source_.of_slopes(radius_.draw_slopes(key.child("clock"), radius));
    add_points(key, radius, dim_, points, source_, out);
    return out;
  }
  std::optional<DataScale> data_scale(const MagnitudeLaw& sizes) const override {
    if (!sizes.size().is_distance()) return std::nullopt;
    std::vector<double> area = drawn_areas(source_.clock(), key_.child("scale").child("clock"));
    sort_values(area);
    return scale_by_level(source_.clock(), sizes, dim_, noise_, at_scale_levels(area),
                          [&](double r) { return radius_.survival(r); });
  }

 private:
  const SourceSampler& source_;
  int64_t dim_;
  Key key_;
  LevelNoise noise_;
  StudentRadius radius_;
};

class Pool final : public Coupling {
 public:
  // The law of the radius comes from draws without paths.
  std::optional<DataScale> data_scale(const MagnitudeLaw& sizes) const override {
    if (!sizes.size().is_distance()) return std::nullopt;
    const Key key = key_.child("scale");
    std::vector<double> area = drawn_areas(source_.clock(), key.child("clock")),
                        radius = radii(key, area.data(), kScaleDraws);
    sort_values(area);
    sort_values(radius);
    // Beyond the last few hundred draws the radius follows its power law.
    const double exponent = source_.clock().tail_exponent(), far = radius[kScaleDraws - kFarDraws];
    return scale_by_level(source_.clock(), sizes, dim_, noise_, at_scale_levels(area), [&](double r) {
      if (r > far && std::isfinite(exponent))
        return static_cast<double>(kFarDraws) / kScaleDraws * std::pow(r / far, -exponent);
      const auto above = radius.end() - std::upper_bound(radius.begin(), radius.end(), r);
      return (static_cast<double>(above) + 0.5) / (static_cast<double>(kScaleDraws) + 1);
    });
  }

  explicit Pool(const CouplingContext& c)
      : source_(c.source), dim_(c.dim), size_(c.spec.pool), key_(c.key), noise_(c.spec.noise, c.spec.noise_fade) {}

  SourceBatch pair(Key key, const DataBatch& data, const std::vector<double>& level, bool points) const override {
    const int64_t n = data.rows.size(0);
    // A new pool once as many rows were taken as it holds: a function of the position alone, so that a resumed run
    // draws the same.
    const std::shared_ptr<const Ranking> pool = ranking(data.position / size_);
    std::vector<int64_t> order(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i)
      order[i] = std::min<int64_t>(static_cast<int64_t>(level[i] * static_cast<double>(size_)), size_ - 1);
    SourceBatch out = pool->clocks;
    out.reorder(order);
    std::vector<double> radius(order.size());
    for (size_t i = 0; i < order.size(); ++i) radius[i] = pool->radius[order[i]];
    add_points(key, radius, dim_, points, source_, out);
    return out;
  }

 private:
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
  LevelNoise noise_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Ranking> pool_;
};

}  // namespace

std::unique_ptr<Coupling> make_pool_coupling(const CouplingContext& context) {
  if (context.source.clock().student_degrees() > 0) return std::make_unique<Conjugate>(context);
  return std::make_unique<Pool>(context);
}

}  // namespace htfm
