#include "htfm/coupling/cluster_law.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "htfm/base/parallel.h"
#include "htfm/coupling/cluster_fit.h"
#include "htfm/stat/directions.h"
#include "htfm/stat/maximise.h"
#include "htfm/stat/triangular.h"

namespace htfm {

namespace {

constexpr int64_t kFewestRows = 2000, kMostColumns = 8, kMostRows = 50000;
constexpr int64_t kSearchRows = 4000;  // that the number of clusters and the first guess of the index are found on
// Of Anderson and Darling's distance: where the law is right, and index and scatters are fitted, one draw of forty lies
// beyond (ClusterLawSlow.TheTestKeepsItsLevel).
constexpr double kLargestDistance = 0.9;
constexpr int64_t kDirections = 512;  // that distances from a point are averaged over

/// Every k-th row, at most `most` of them.
at::Tensor thinned(const at::Tensor& rows, int64_t most) {
  const int64_t step = (rows.size(0) + most - 1) / most;
  return step > 1 ? rows.slice(0, 0, rows.size(0), step).contiguous() : rows;
}

struct Fit {
  RadialFamily family = RadialFamily::student;
  double index = 0;
  ClusterState state;
};

// The index with the largest likelihood in an interval; every try goes on from the clusters of the last one.
Fit best_index(RadialFamily family, const PointsView& points, ClusterState state, double low, double high,
               double tolerance, int rounds) {
  const auto try_index = [&](double log_index) {
    state = improve(points, RadialLaw(family, std::exp(log_index), points.dim), std::move(state), rounds);
    return state.log_likelihood;
  };
  const double index = std::exp(maximise(try_index, std::log(low), std::log(high), tolerance));
  state = improve(points, RadialLaw(family, index, points.dim), std::move(state), 4 * rounds);
  return {family, index, std::move(state)};
}

constexpr double kLeastIndex = 0.5;
double most_index(RadialFamily family) { return family == RadialFamily::stable ? 1.99 : 40; }

// The family with the larger likelihood first.
std::array<Fit, 2> fit_families(const PointsView& points, const ClusterState& start) {
  std::array<Fit, 2> out;
  for (size_t k = 0; k < 2; ++k) {
    const RadialFamily family = k == 0 ? RadialFamily::student : RadialFamily::stable;
    out[k] = best_index(family, points, start, kLeastIndex, most_index(family), 0.03, 3);
  }
  if (out[1].state.log_likelihood > out[0].state.log_likelihood) std::swap(out[0], out[1]);
  return out;
}

// The same family again on more rows, the index near what fewer rows said.
Fit refine(const Fit& rough, const PointsView& points) {
  constexpr double kAround = 1.12;
  return best_index(rough.family, points, rough.state, std::max(kLeastIndex, rough.index / kAround),
                    std::min(most_index(rough.family), rough.index * kAround), 0.002, 3);
}

// Rows given to clusters by drawing from what each row says of its cluster: under the law (cluster, row) is then a draw
// of both, so that distances and directions have exactly their laws. All rows that were fitted are looked at: a part of
// them would be nearly fresh, and its distance larger.
void test_fit(const PointsView& points, const RadialLaw& law, const ClusterState& state, Key key, ClusterLaw& out) {
  const int64_t dim = points.dim, n = points.n;
  std::vector<double> uniform(static_cast<size_t>(n)), white(static_cast<size_t>(dim));
  fill_uniform(key, 0, n, uniform.data());
  const std::vector<double> log_scale = log_scales(state.clusters);
  struct Placed {
    double log_survival;
    std::vector<double> direction;
  };
  std::vector<Placed> placed(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const double* row = points.row(i);
    const Cluster& cluster = state.clusters[draw_cluster(law, state.clusters, log_scale, row, uniform[i])];
    const double r = std::sqrt(whiten(cluster, row, white.data()));
    for (double& w : white) w /= std::max(r, 1e-300);
    placed[i] = {law.log_survival(r), white};
  }
  std::sort(placed.begin(), placed.end(),
            [](const Placed& a, const Placed& b) { return a.log_survival > b.log_survival; });
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double below = std::log(std::max(-std::expm1(placed[i].log_survival), 1e-300));
    sum += (2 * static_cast<double>(i) + 1) * (below + placed[n - 1 - i].log_survival);
  }
  out.distance = -static_cast<double>(n) - sum / static_cast<double>(n);
  std::vector<double> far;
  for (int64_t i = n - n / 10; i < n; ++i)
    far.insert(far.end(), placed[i].direction.begin(), placed[i].direction.end());
  out.even = evenly_spread(far, dim);
}

// Of a cluster seen from a point, along one direction: the ray from the centre leaves the ball of radius s about the
// point at the larger root of |offset + r v| = s.
double share_outside(const RadialLaw& law, double square, double along, double offset, double s) {
  const double c = offset - s * s, inner = along * along - square * c;
  if (inner <= 0) return 1;  // past the ball
  const double root = std::sqrt(inner), leaves = (root - along) / square;
  if (c <= 0) return std::exp(law.log_survival(std::max(leaves, 0.0)));
  if (leaves <= 0) return 1;  // it lies behind
  const double enters = c / (square * leaves);
  return 1 - std::exp(law.log_survival(enters)) + std::exp(law.log_survival(leaves));
}

}  // namespace

bool ClusterLaw::fits() const { return even && distance <= kLargestDistance; }

std::string ClusterLaw::text() const {
  return fmt::format("{} of a {} distribution of index {:.3g}",
                     clusters.size() == 1 ? "one cluster" : fmt::format("{} clusters", clusters.size()),
                     family == RadialFamily::stable ? "stable" : "Student-t", index);
}

QuantileTable ClusterLaw::distances_from(const double* point) const {
  const RadialLaw law(family, index, dim());
  const int64_t d = dim();
  // Directions in opposite pairs, so that what lies on one side weighs as much as what lies on the other.
  std::vector<double> direction(static_cast<size_t>(kDirections * d));
  fill_normal(Key(0).child("directions"), 0, kDirections / 2 * d, direction.data());
  for (int64_t i = 0; i < kDirections / 2; ++i) {
    double length = 0;
    for (int64_t k = 0; k < d; ++k) length += direction[i * d + k] * direction[i * d + k];
    for (int64_t k = 0; k < d; ++k) {
      if (d == 2) {  // evenly spaced
        const double angle = 2 * M_PI * (static_cast<double>(i) + 0.5) / static_cast<double>(kDirections);
        direction[i * d + k] = k == 0 ? std::cos(angle) : std::sin(angle);
      } else {
        direction[i * d + k] /= std::sqrt(length);
      }
      direction[(i + kDirections / 2) * d + k] = -direction[i * d + k];
    }
  }
  struct Ray {
    double square, along, offset, share;
  };
  std::vector<Ray> rays;
  double reach = 0;
  for (const Cluster& c : clusters)
    for (int64_t i = 0; i < kDirections; ++i) {
      Ray ray{0, 0, 0, c.share / static_cast<double>(kDirections)};
      for (int64_t a = 0; a < d; ++a) {
        double v = 0;
        for (int64_t b = 0; b <= a; ++b) v += c.root[a * d + b] * direction[i * d + b];
        const double from = c.centre[a] - point[a];
        ray.square += v * v, ray.along += v * from, ray.offset += from * from;
      }
      reach = std::max(reach, std::sqrt(ray.square));
      rays.push_back(ray);
    }
  constexpr double kStep = 0.02, kLeast = 1e-9;
  const double first = std::log(reach) - 9;
  const auto knots = static_cast<int64_t>(40 / kStep);
  std::vector<double> share(static_cast<size_t>(knots));
  parallel_ranges(knots, 32, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double s = std::exp(first + kStep * static_cast<double>(i));
      double sum = 0;
      for (const Ray& ray : rays) sum += ray.share * share_outside(law, ray.square, ray.along, ray.offset, s);
      share[i] = sum;
    }
  });
  std::vector<double> survival{1.0}, log_value{first - kStep};
  for (int64_t i = 0; i < knots && survival.back() > kLeast; ++i)
    if (share[i] < survival.back())
      survival.push_back(share[i]), log_value.push_back(first + kStep * static_cast<double>(i));
  return {std::move(survival), std::move(log_value), index};
}

std::optional<ClusterLaw> fit_cluster_law(const at::Tensor& rows, Key key) {
  if (rows.size(0) < kFewestRows || rows.size(1) > kMostColumns) return std::nullopt;
  const at::Tensor values = thinned(rows.to(at::kDouble).contiguous(), kMostRows);
  const PointsView all = view_points(values, "rows"), few = view_points(thinned(values, kSearchRows), "rows");
  // A law that is wrong asks for more clusters than there are: they are looked for again under the first one that fits.
  ClusterState start = find_clusters(few, RadialLaw(RadialFamily::student, 2, few.dim));
  if (start.clusters.empty()) return std::nullopt;
  const Fit first = fit_families(few, start)[0];
  start = find_clusters(few, RadialLaw(first.family, first.index, few.dim));
  const std::array<Fit, 2> rough = fit_families(few, start);
  std::array<Fit, 2> fits{refine(rough[0], all), refine(rough[1], all)};
  if (fits[1].state.log_likelihood > fits[0].state.log_likelihood) std::swap(fits[0], fits[1]);
  const Fit& best = fits[0];
  ClusterLaw out;
  out.family = best.family, out.index = best.index, out.clusters = best.state.clusters;
  out.log_likelihood = best.state.log_likelihood;
  out.log_likelihood_of_other = fits[1].state.log_likelihood;
  test_fit(all, RadialLaw(out.family, out.index, all.dim), best.state, key, out);
  return out;
}

}  // namespace htfm
