// The law of the size of the data: ranks in the whole data set, and beyond a threshold a Pareto tail.
#pragma once

#include <functional>
#include <memory>

#include "htfm/base/api.h"
#include "htfm/base/random.h"
#include "htfm/condition/condition_neighbours.h"
#include "htfm/coupling/size.h"
#include "htfm/stat/estimators.h"

namespace htfm HTFM_PUBLIC {

class PlaceTable;

/// Rows of a data set as one training step takes them.
struct DataBatch {
  at::Tensor rows;                 ///< n x dim, float32
  std::span<const int64_t> index;  ///< their places in the data set
  int64_t position = 0;            ///< rows that earlier steps took
  at::Tensor condition = {};  ///< n x size, float32: what the network is told of their conditions, where some are given
  /// n, float64: the rows' sizes, where they were found on the rows' own device; undefined: they are found here.
  at::Tensor sizes = {};
  /// Whoever asked makes x_0 of its radius where that is all that a coupling says of it.
  bool takes_radius = false;
};

/// How the sizes go on beyond the ranks: not at all, by a generalised Pareto law of the largest, or by the law of
/// clusters where one fits all rows, and by the Pareto law elsewhere.
enum class DataTail { empirical, pareto, clusters };

/// The upper tail of the sizes, joined to the ranks below it.
struct SizeTail {
  double from = 1;  ///< level above which the law holds; 1: nowhere
  GpdFit fit;       ///< of the Pareto law
  /// Of clusters: the size that a share of the data exceeds, and the index of the power law far out; none: the Pareto
  /// law.
  std::function<double(double share)> of_clusters = {};
  double cluster_index = 0;
  std::string explanation;

  /// The size that a share p < 1 - from of the data exceeds.
  double quantile(double p) const;
  /// 1 / the index of the power law far out.
  double shape() const;
};

/// The sizes of all rows of a data set, ordered; where conditions are given, also among rows with conditions alike.
class MagnitudeLaw {
 public:
  MagnitudeLaw(std::shared_ptr<const SizeStatistic> size, const at::Tensor& rows,
               std::shared_ptr<const ConditionNeighbours> neighbours = {});
  const SizeStatistic& size() const { return *size_; }
  std::span<const double> sorted() const { return sorted_; }
  const at::Tensor& centre() const { return centre_; }  ///< the coordinate-wise median
  /// For each row a level u in (0,1), uniform over the share of the data that its rank stands for: over all rows u is
  /// uniform, and the size is its u-quantile. Ties share their ranks. With neighbours u is uniform given the condition:
  /// ranks are those in the row's group, of sizes over the typical one of its leaf, and set right by the leaf's
  /// deciles.
  std::vector<double> levels(Key key, const DataBatch& batch) const;

  /// The size at level u: between ranks linear, in a fitted tail by its law.
  double quantile(double u) const;

  /// The size that a share p of the data exceeds.
  double upper_quantile(double p) const { return p < 1 - tail_.from ? tail_.quantile(p) : quantile(1 - p); }

  /// Fits the tail where a threshold is found: with the index `expected` (that of the source) unless the data reject
  /// it, or with their own.
  /// Each group of neighbours has a tail of its own.
  void fit_tail(double expected);
  /// The tail of the law of clusters that fits all rows, which are those of the data set; false, and nothing changed,
  /// where none does, or where the size is not the distance from the centre.
  bool fit_clusters(const at::Tensor& rows);
  const SizeTail& tail() const { return tail_; }
  /// Rows in the tail stretched from the centre to the size that the tail law has at their level: the tail is smooth,
  /// and goes on beyond the largest row.
  at::Tensor stretch(const DataBatch& batch, const std::vector<double>& level) const;

 private:
  // The law of one group: sizes over their leaf's typical one, ascending.
  struct Group {
    std::vector<double> sorted;
    SizeTail tail;
  };
  static constexpr int kDeciles = 9;
  struct Leaf {
    double scale = 1;
    double decile[kDeciles] = {};  // of the levels in the group; all 0 where the leaf is the whole group
    double level(double in_group) const;
  };
  void rank_neighbours(std::span<const double> sizes);
  bool any_tail() const;
  // Where a row stands: its group and leaf, none where there are no neighbours.
  const Group& group_of(const DataBatch& batch, int64_t row) const;
  const Leaf& leaf_of(const DataBatch& batch, int64_t row) const;

  std::shared_ptr<const SizeStatistic> size_;
  std::vector<double> sorted_;
  std::shared_ptr<const PlaceTable> table_;  // of them
  at::Tensor centre_;
  SizeTail tail_;
  std::shared_ptr<const ConditionNeighbours> neighbours_;  // null: none
  std::vector<Group> groups_;
  std::vector<Leaf> leaves_;
};

}  // namespace htfm
