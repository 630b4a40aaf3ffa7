// Expectation and maximisation for clusters of one radial law.
#pragma once

#include <cstdint>
#include <vector>

#include "htfm/clock/radial_law.h"
#include "htfm/coupling/cluster_law.h"
#include "htfm/stat/points.h"

namespace htfm {

struct ClusterState {
  std::vector<Cluster> clusters;
  double log_likelihood = 0;  ///< of the rows under them
};

/// root^-1 (row - centre) into dim numbers; gives their squared length.
double whiten(const Cluster& cluster, const double* row, double* out);

/// At most so many rounds of expectation and maximisation, fewer where a round gains less than 1e-7 a row. Shares,
/// centres and scatters change, the law stays.
ClusterState improve(const PointsView& points, const RadialLaw& law, ClusterState state, int rounds);

/// Clusters from the highest density peaks, as many as Bayes's information criterion is for under this law. None where
/// all rows are equal.
ClusterState find_clusters(const PointsView& points, const RadialLaw& law);

/// Of each cluster the logarithm of its share less that of its root's determinant: what its density is multiplied by.
std::vector<double> log_scales(const std::vector<Cluster>& clusters);

/// The cluster that a row belongs to, drawn from its chances by a uniform number. `log_scale`: log_scales(clusters).
size_t draw_cluster(const RadialLaw& law, const std::vector<Cluster>& clusters, const std::vector<double>& log_scale,
                    const double* row, double uniform);

}  // namespace htfm
