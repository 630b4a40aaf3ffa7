// Draws of the source for training: clocks, their features, and points x_0 given the clocks.
#pragma once

#include "htfm/base/api.h"
#include "htfm/clock/feature.h"
#include "htfm/comm/communicator.h"
#include "htfm/schedule/schedule_feature.h"
#include "htfm/source/source_covariance.h"
#include "htfm/source/source_mean.h"

namespace htfm HTFM_PUBLIC {

/// n draws of the source.
struct SourceBatch {
  at::Tensor area;         ///< n, float64
  at::Tensor feature;      ///< n x size, float64, before standardisation; undefined where the network sees none
  at::Tensor coordinates;  ///< n x words, float64: what the schedule is told of the clock; undefined where it does not
                           ///< look at it
  at::Tensor source;       ///< n x dim, float64: x_0 = m(T) + sqrt(2A) R z, R the root of the covariance
  at::Tensor radius;       ///< n, float64: |x_0| where a coupling found it and left the points out; undefined otherwise

  /// Row i becomes row order[i].
  void reorder(const std::vector<int64_t>& order);
};

/// Points n x dim of these radii (n, float64) in directions drawn anew: radius z / |z|, z being elements first * dim ..
/// of the key's normal stream.
at::Tensor points_of_radius(Key key, const at::Tensor& radius, int64_t dim, int64_t first = 0);

/// Draws (clock, feature, source) of one law.
class SourceSampler {
 public:
  /// The references must live as long as it does.
  SourceSampler(const Clock& clock, const PathFeature& feature, const ScheduleFeature* schedule = nullptr,
                SourceMean mean = {})
      : clock_(clock), feature_(feature), schedule_(schedule), mean_(std::move(mean)) {}
  const Clock& clock() const { return clock_; }
  const PathFeature& feature() const { return feature_; }
  const SourceMean& mean() const { return mean_; }
  const SourceCovariance& covariance() const { return covariance_; }
  void set_covariance(SourceCovariance covariance) { covariance_ = std::move(covariance); }
  /// sqrt(2A) z, n x dim, becomes x_0 = m(T) + sqrt(2A) R z.
  void place(const at::Tensor& area, at::Tensor& x) const {
    covariance_.apply(x);
    mean_.add(area, x);
  }
  /// Processes that draw clocks() together, each its share of the rows; null: none. All call clocks() alike.
  void share(Communicator* processes) { processes_ = processes; }
  /// n clocks with their features; `source` stays undefined.
  SourceBatch clocks(Key key, int64_t n) const;
  /// The clocks T_t = t V for given slopes V, with their features; for families whose clocks are straight lines.
  SourceBatch of_slopes(const std::vector<double>& slope) const;
  /// n clocks, features and points of dimension dim.
  SourceBatch draw(Key key, int64_t n, int64_t dim) const;

 private:
  SourceBatch clocks_from(Key key, int64_t first, int64_t n) const;
  const Clock& clock_;
  const PathFeature& feature_;
  const ScheduleFeature* schedule_;
  SourceMean mean_;
  SourceCovariance covariance_;
  Communicator* processes_ = nullptr;
};

}  // namespace htfm
