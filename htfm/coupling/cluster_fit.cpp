#include "htfm/coupling/cluster_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/parallel.h"
#include "htfm/stat/density_peaks.h"
#include "htfm/stat/triangular.h"

namespace htfm {

namespace {

constexpr int64_t kRange = 1024;  // rows whose sums are added up together, whatever the number of threads

// What rows say of one cluster: their number, and weighted sums about the centre that they were seen from.
struct Sums {
  double count = 0, weight = 0;
  std::vector<double> first, second;
};

struct RangeSums {
  double log_likelihood = 0;
  std::vector<Sums> clusters;
};

// Logarithms of share and density of each cluster at a row, and the distances from their centres; gives the largest.
double log_terms(const RadialLaw& law, const std::vector<Cluster>& clusters, const std::vector<double>& log_scale,
                 const double* row, std::vector<double>& white, std::vector<double>& term,
                 std::vector<double>& radius) {
  double top = -std::numeric_limits<double>::infinity();
  for (size_t k = 0; k < clusters.size(); ++k) {
    radius[k] = std::sqrt(whiten(clusters[k], row, white.data()));
    term[k] = log_scale[k] + law.log_density(radius[k]);
    top = std::max(top, term[k]);
  }
  return top;
}

RangeSums sums_of(const PointsView& points, const RadialLaw& law, const std::vector<Cluster>& clusters,
                  const std::vector<double>& log_scale, int64_t begin, int64_t end) {
  const int64_t dim = points.dim;
  const size_t many = clusters.size();
  RangeSums out;
  out.clusters.resize(many);
  for (Sums& s : out.clusters)
    s.first.assign(static_cast<size_t>(dim), 0.0), s.second.assign(static_cast<size_t>(dim * dim), 0.0);
  std::vector<double> white(static_cast<size_t>(dim)), term(many), radius(many), from(static_cast<size_t>(dim));
  for (int64_t i = begin; i < end; ++i) {
    const double* row = points.row(i);
    const double top = log_terms(law, clusters, log_scale, row, white, term, radius);
    double sum = 0;
    for (double& t : term) sum += t = t < top - 40 ? 0 : std::exp(t - top);
    out.log_likelihood += top + std::log(sum);
    for (size_t k = 0; k < many; ++k) {
      if (term[k] == 0) continue;
      Sums& s = out.clusters[k];
      const double chance = term[k] / sum, weight = chance * law.weight(radius[k]);
      s.count += chance, s.weight += weight;
      for (int64_t a = 0; a < dim; ++a) {
        from[a] = row[a] - clusters[k].centre[a];
        s.first[a] += weight * from[a];
        for (int64_t b = 0; b <= a; ++b) s.second[a * dim + b] += weight * from[a] * from[b];
      }
    }
  }
  return out;
}

// The cluster that the sums speak for; a cluster without rows stays where it is, with hardly a share.
void move_cluster(const Sums& s, double rows, Cluster& cluster) {
  const auto dim = static_cast<int64_t>(cluster.centre.size());
  cluster.share = std::max(s.count / rows, 1e-12);
  if (!(s.count > static_cast<double>(dim) + 1) || !(s.weight > 0)) return;
  std::vector<double> shift(s.first), scatter(s.second);
  for (double& v : shift) v /= s.weight;
  for (int64_t a = 0; a < dim; ++a) {
    for (int64_t b = 0; b <= a; ++b)
      scatter[a * dim + b] = (scatter[a * dim + b] - s.weight * shift[a] * shift[b]) / s.count;
    cluster.centre[a] += shift[a];
  }
  lifted_cholesky(scatter, dim, cluster.root);
}

}  // namespace

double whiten(const Cluster& cluster, const double* row, double* out) {
  const auto dim = static_cast<int64_t>(cluster.centre.size());
  for (int64_t a = 0; a < dim; ++a) out[a] = row[a] - cluster.centre[a];
  return solve_lower(cluster.root, dim, out, out);
}

std::vector<double> log_scales(const std::vector<Cluster>& clusters) {
  std::vector<double> out;
  for (const Cluster& c : clusters)
    out.push_back(std::log(c.share) - log_determinant(c.root, static_cast<int64_t>(c.centre.size())));
  return out;
}

ClusterState improve(const PointsView& points, const RadialLaw& law, ClusterState state, int rounds) {
  const int64_t ranges = (points.n + kRange - 1) / kRange;
  const auto rows = static_cast<double>(points.n);
  double last = -std::numeric_limits<double>::infinity();
  std::vector<RangeSums> parts(static_cast<size_t>(ranges));
  for (int round = 0; round <= rounds; ++round) {
    const std::vector<double> log_scale = log_scales(state.clusters);
    parallel_for(ranges, [&](int64_t r) {
      parts[r] = sums_of(points, law, state.clusters, log_scale, r * kRange, std::min(points.n, (r + 1) * kRange));
    });
    state.log_likelihood = 0;
    for (const RangeSums& p : parts) state.log_likelihood += p.log_likelihood;
    // The last round only says how likely the rows are.
    if (round == rounds || state.log_likelihood - last < 1e-7 * rows) break;
    last = state.log_likelihood;
    for (size_t k = 0; k < state.clusters.size(); ++k) {
      Sums total = parts[0].clusters[k];
      for (int64_t r = 1; r < ranges; ++r) {
        const Sums& s = parts[r].clusters[k];
        total.count += s.count, total.weight += s.weight;
        for (size_t a = 0; a < s.first.size(); ++a) total.first[a] += s.first[a];
        for (size_t a = 0; a < s.second.size(); ++a) total.second[a] += s.second[a];
      }
      move_cluster(total, rows, state.clusters[k]);
    }
  }
  return state;
}

ClusterState find_clusters(const PointsView& points, const RadialLaw& law) {
  constexpr int64_t kMostClusters = 16, kPeakRows = 2000;
  constexpr double kLeastHeight = 1.5;
  const int64_t dim = points.dim, step = (points.n + kPeakRows - 1) / kPeakRows;
  const at::Tensor some = points.rows.slice(0, 0, points.n, step).contiguous();
  const PointsView seen = view_points(some, "rows");
  const std::vector<DensityPeak> peaks = density_peaks(seen, kMostClusters);
  ClusterState best;
  double best_score = -std::numeric_limits<double>::infinity();
  ClusterState start;
  for (size_t k = 0; k < peaks.size() && (k == 0 || peaks[k].height() > kLeastHeight); ++k) {
    if (!(peaks[k].spacing > 1e-100)) return {};
    Cluster cluster;
    const double* centre = seen.row(peaks[k].row);
    cluster.centre.assign(centre, centre + dim);
    cluster.root.assign(static_cast<size_t>(dim * dim), 0.0);
    for (int64_t a = 0; a < dim; ++a) cluster.root[a * dim + a] = peaks[k].spacing;
    start.clusters.push_back(cluster);
    for (Cluster& c : start.clusters) c.share = 1 / static_cast<double>(k + 1);
    ClusterState found = improve(points, law, start, 60);
    const double numbers =
        static_cast<double>(k + 1) * (1 + static_cast<double>(dim) + static_cast<double>(dim * (dim + 1)) / 2) - 1;
    const double score = found.log_likelihood - numbers / 2 * std::log(static_cast<double>(points.n));
    if (score > best_score) best_score = score, best = std::move(found);
  }
  return best;
}

size_t draw_cluster(const RadialLaw& law, const std::vector<Cluster>& clusters, const std::vector<double>& log_scale,
                    const double* row, double uniform) {
  std::vector<double> white(clusters.front().centre.size()), term(clusters.size()), radius(clusters.size());
  const double top = log_terms(law, clusters, log_scale, row, white, term, radius);
  double sum = 0;
  for (double& t : term) sum += t = std::exp(t - top);
  double left = uniform * sum;
  for (size_t k = 0; k < term.size(); ++k)
    if ((left -= term[k]) < 0) return k;
  return static_cast<size_t>(std::max_element(term.begin(), term.end()) - term.begin());
}

}  // namespace htfm
