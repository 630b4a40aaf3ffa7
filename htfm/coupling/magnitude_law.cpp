#include "htfm/coupling/magnitude_law.h"

#include <algorithm>

#include "htfm/base/error.h"
#include "htfm/base/quantile_table.h"
#include "htfm/coupling/cluster_law.h"
#include "htfm/stat/order.h"
#include "htfm/stat/place_table.h"
#include "htfm/stat/scatter.h"
#include "htfm/stat/sort.h"
#include "htfm/stat/threshold.h"

namespace htfm {

namespace {

constexpr int64_t kFewest = 20;  // exceedances that a tail is fitted to
// A test of fit lets a bias pass that is as large as the scatter. A third of what passes has little of it left; and
// where the law is only approached (more exceedances do not follow it), ten times too many pass by luck now and then,
// so no more than a share of all are taken (doc/tails.md has the errors of these rules).
constexpr int64_t kCaution = 3, kFewRows = 50, kShare = 500;
// Of the Anderson-Darling distance: the 80 % quantile where the law is right and its scale is fitted, and for the mean
// of neighbouring numbers of exceedances, since a single one passes by luck too often.
constexpr double kMeanDistance = 0.25, kDistance = 0.33;
constexpr size_t kNeighbours = 5;

// The excesses of a third of the largest k that a generalised Pareto law of this shape fits; none where it fits none.
GpdFit fit_with_shape(std::span<const double> sorted, double shape) {
  const auto n = static_cast<int64_t>(sorted.size());
  const auto most = std::min(n / 3, std::max<int64_t>(n / 10, 150));
  std::vector<int64_t> counts;
  std::vector<double> distances;
  for (double k = static_cast<double>(most); k >= static_cast<double>(kFewest * kCaution); k /= 1.15) {
    const GpdFit fit = fit_gpd_scale(sorted, static_cast<int64_t>(k), shape);
    if (std::isnan(fit.shape)) continue;
    counts.push_back(static_cast<int64_t>(k));
    distances.push_back(gpd_distance(sorted, fit));
  }
  const auto passes = [&](size_t i, size_t neighbours, double bound) {
    const size_t end = std::min(i + neighbours, counts.size());
    double sum = 0;
    for (size_t k = i; k < end; ++k) sum += distances[k];
    return sum < bound * static_cast<double>(end - i);
  };
  if (!counts.empty() && passes(0, 1, kDistance)) return fit_gpd_scale(sorted, counts[0] / kCaution, shape);
  for (size_t i = 0; i < counts.size(); ++i)
    if (passes(i, kNeighbours, kMeanDistance))
      return fit_gpd_scale(sorted, std::min(counts[i] / kCaution, std::max(kFewRows, n / kShare)), shape);
  for (size_t i = 0; i < counts.size(); ++i)
    if (passes(i, 1, kDistance)) return fit_gpd_scale(sorted, kFewest, shape);
  return {};
}

// The tail of ascending sizes, with the index `expected` unless the data reject it.
SizeTail tail_of_sizes(std::span<const double> sorted, double expected) {
  SizeTail out;
  const auto n = static_cast<int64_t>(sorted.size());
  const char* whose = "the clock's";
  GpdFit fit;
  if (std::isfinite(expected)) fit = fit_with_shape(sorted, 1 / expected);
  if (fit.exceedances == 0) {
    const TailChoice choice = choose_threshold(sorted);
    if (choice.fits && choice.k / kCaution >= kFewest && choice.fit.shape > 0)
      fit = fit_gpd(sorted, choice.k / kCaution);
    whose = "their own";
  }
  if (fit.exceedances == 0 || !(fit.shape > 0)) {
    out.explanation = "the sizes have no Pareto tail: they are light, too few, or no threshold fits";
    return out;
  }
  out.fit = fit;
  out.from = 1 - static_cast<double>(fit.exceedances) / static_cast<double>(n);
  out.explanation = fmt::format(
      "sizes beyond {:.4g} (the {} largest of {}) follow a generalised Pareto distribution of index {:.3g}, {}",
      fit.threshold, fit.exceedances, n, 1 / fit.shape, whose);
  return out;
}

// A law of clusters holds for the largest of this many rows; below, ranks say as much.
constexpr int64_t kClusterShare = 50;
// Of Kolmogorov and Smirnov's distance times the root of n: its 95 % quantile under a law that is not fitted.
constexpr double kLargestGap = 1.36;

// The largest difference of shares between ascending sizes and a law, times the root of their number.
double largest_gap(std::span<const double> sorted, const QuantileTable& law) {
  const auto n = static_cast<double>(sorted.size());
  const auto share_below = [&](double log_size) {
    return static_cast<double>(std::lower_bound(sorted.begin(), sorted.end(), std::exp(log_size)) - sorted.begin()) / n;
  };
  double largest = 0;
  for (size_t i = 0; i < law.survival().size(); ++i)
    largest = std::max(largest, std::abs(1 - law.survival()[i] - share_below(law.log_value()[i])));
  return largest * std::sqrt(n);
}

// Where a size stands among ascending ones, `place` of which are smaller: uniform over the share that its rank, or
// those of its equals, stand for.
double level_at(std::span<const double> sorted, int64_t place, double size, double u) {
  const auto below = sorted.begin() + place;
  auto above = below;
  while (above != sorted.end() && *above == size) ++above;
  // A row from elsewhere (held out) lies between two ranks and takes the lower one's place.
  const double first =
      static_cast<double>(std::min<int64_t>(below - sorted.begin(), static_cast<int64_t>(sorted.size()) - 1));
  const double ranks = std::max(1.0, static_cast<double>(above - below));
  return (first + ranks * u) / static_cast<double>(sorted.size());
}

double level_among(std::span<const double> sorted, double size, double u) {
  return level_at(sorted, std::lower_bound(sorted.begin(), sorted.end(), size) - sorted.begin(), size, u);
}

}  // namespace

MagnitudeLaw::MagnitudeLaw(std::shared_ptr<const SizeStatistic> size, const at::Tensor& rows,
                           std::shared_ptr<const ConditionNeighbours> neighbours)
    : size_(std::move(size)), centre_(median_centre(rows)), neighbours_(std::move(neighbours)) {
  const int64_t n = rows.size(0), dim = rows.size(1);
  const float* x = rows.const_data_ptr<float>();
  sorted_.resize(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) sorted_[i] = (*size_)(x + i * dim, i);
  if (neighbours_) rank_neighbours(sorted_);
  sort_values(sorted_);
  table_ = std::make_shared<PlaceTable>(sorted_);
}

void MagnitudeLaw::rank_neighbours(std::span<const double> sizes) {
  const ConditionNeighbours& own = *neighbours_;
  std::vector<std::vector<double>> of_leaf(static_cast<size_t>(own.leaves));
  for (size_t i = 0; i < sizes.size(); ++i) of_leaf[own.leaf[i]].push_back(sizes[i]);
  leaves_.resize(of_leaf.size());
  for (size_t l = 0; l < of_leaf.size(); ++l) {
    std::sort(of_leaf[l].begin(), of_leaf[l].end());
    if (const double middle = quantile_of_sorted(of_leaf[l], 0.5); middle > 0) leaves_[l].scale = middle;
  }
  groups_.resize(static_cast<size_t>(own.groups));
  std::vector<int64_t> leaves_in(groups_.size(), 0), group_of_leaf(leaves_.size(), 0);
  for (size_t i = 0; i < sizes.size(); ++i) {
    groups_[own.group[i]].sorted.push_back(sizes[i] / leaves_[own.leaf[i]].scale);
    group_of_leaf[own.leaf[i]] = own.group[i];
  }
  for (Group& g : groups_) sort_values(g.sorted);
  for (const int64_t g : group_of_leaf) ++leaves_in[g];
  for (size_t l = 0; l < leaves_.size(); ++l) {
    const std::vector<double>& sorted = groups_[group_of_leaf[l]].sorted;
    if (leaves_in[group_of_leaf[l]] < 2) continue;
    for (int d = 0; d < kDeciles; ++d)
      leaves_[l].decile[d] =
          level_among(sorted, quantile_of_sorted(of_leaf[l], (d + 1) / 10.0) / leaves_[l].scale, 0.5);
    for (int d = 1; d < kDeciles; ++d)  // many equal sizes
      if (!(leaves_[l].decile[d] > leaves_[l].decile[d - 1])) std::fill_n(leaves_[l].decile, kDeciles, 0.0);
  }
}

double MagnitudeLaw::Leaf::level(double u) const {
  if (decile[0] <= 0) return u;
  const int k = static_cast<int>(std::upper_bound(decile, decile + kDeciles, u) - decile);
  const double from = k == 0 ? 0 : decile[k - 1], to = k == kDeciles ? 1 : decile[k];
  return (k + (u - from) / (to - from)) / 10;
}

const MagnitudeLaw::Group& MagnitudeLaw::group_of(const DataBatch& batch, int64_t row) const {
  return groups_[neighbours_->group[batch.index[row]]];
}

const MagnitudeLaw::Leaf& MagnitudeLaw::leaf_of(const DataBatch& batch, int64_t row) const {
  return leaves_[neighbours_->leaf[batch.index[row]]];
}

bool MagnitudeLaw::any_tail() const {
  return neighbours_ ? std::any_of(groups_.begin(), groups_.end(), [](const Group& g) { return g.tail.from < 1; })
                     : tail_.from < 1;
}

void MagnitudeLaw::fit_tail(double expected) {
  if (!size_->homogeneous())
    throw InputError(
        "[data.tail] expected a size that grows with the distance from the centre for the Pareto tail, got a file of "
        "sizes");
  tail_ = tail_of_sizes(sorted_, expected);
  for (Group& g : groups_)
    if (!g.sorted.empty()) g.tail = tail_of_sizes(g.sorted, expected);
}

bool MagnitudeLaw::fit_clusters(const at::Tensor& rows) {
  if (!size_->is_distance() || neighbours_) return false;
  const std::optional<ClusterLaw> law = fit_cluster_law(rows);
  if (!law || !law->fits()) return false;
  const QuantileTable sizes = law->distances_from(centre_.const_data_ptr<double>());
  if (largest_gap(sorted_, sizes) > kLargestGap) return false;
  const auto n = static_cast<int64_t>(sorted_.size()), k = n / kClusterShare;
  SizeTail tail;
  tail.from = 1 - static_cast<double>(k) / static_cast<double>(n);
  // Joined to the ranks: sizes by the law are multiplied by what it lacks at the threshold.
  const double threshold = quantile_of_sorted(sorted_, tail.from),
               lacks = std::log(threshold) - sizes.log_upper_quantile(1 - tail.from);
  tail.of_clusters = [sizes, lacks](double share) { return std::exp(sizes.log_upper_quantile(share) + lacks); };
  tail.cluster_index = sizes.exponent();
  tail.explanation = fmt::format(
      "all rows follow the distribution of {} (Anderson and Darling's distance {:.2g}): sizes beyond {:.4g} (the {} "
      "largest of {}) follow it too",
      law->text(), law->distance, threshold, k, n);
  tail_ = std::move(tail);
  return true;
}

double SizeTail::quantile(double p) const { return of_clusters ? of_clusters(p) : fit.quantile(p); }

double SizeTail::shape() const { return of_clusters ? 1 / cluster_index : fit.shape; }

double MagnitudeLaw::quantile(double u) const {
  if (u > tail_.from) return tail_.quantile(1 - u);
  return quantile_of_sorted(sorted_, std::clamp(u, 0.0, 1.0));
}

at::Tensor MagnitudeLaw::stretch(const DataBatch& batch, const std::vector<double>& level) const {
  if (!any_tail()) return batch.rows;
  at::Tensor out = batch.rows.clone();
  const int64_t n = out.size(0), dim = out.size(1);
  float* x = out.mutable_data_ptr<float>();
  const double* c = centre_.const_data_ptr<double>();
  for (int64_t i = 0; i < n; ++i) {
    const SizeTail& tail = neighbours_ ? group_of(batch, i).tail : tail_;
    if (level[i] <= tail.from) continue;
    float* row = x + i * dim;
    const double size = (*size_)(row, batch.index.empty() ? i : batch.index[i]);
    const double factor = tail.quantile(1 - level[i]) * (neighbours_ ? leaf_of(batch, i).scale : 1) / size;
    for (int64_t k = 0; k < dim; ++k) row[k] = static_cast<float>(c[k] + factor * (row[k] - c[k]));
  }
  return out;
}

std::vector<double> MagnitudeLaw::levels(Key key, const DataBatch& batch) const {
  const int64_t n = batch.rows.size(0), dim = batch.rows.size(1);
  const double* found = batch.sizes.defined() ? batch.sizes.const_data_ptr<double>() : nullptr;
  const float* x = found ? nullptr : batch.rows.const_data_ptr<float>();
  std::vector<double> u(static_cast<size_t>(n));
  fill_uniform(key, 0, n, u.data());
  if (neighbours_ && static_cast<int64_t>(batch.index.size()) != n)
    throw Error("[coupling] expected the rows' places in the data set, whose conditions are known, got none");
  std::vector<double> size(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    size[i] = found ? found[i] : (*size_)(x + i * dim, batch.index.empty() ? i : batch.index[i]);
  if (!neighbours_) {
    for (int64_t i = 0; i < n; ++i) u[i] = level_at(sorted_, table_->place(sorted_, size[i]), size[i], u[i]);
    return u;
  }
  for (int64_t i = 0; i < n; ++i) {
    const Leaf& leaf = leaf_of(batch, i);
    u[i] = leaf.level(level_among(group_of(batch, i).sorted, size[i] / leaf.scale, u[i]));
  }
  return u;
}

}  // namespace htfm
