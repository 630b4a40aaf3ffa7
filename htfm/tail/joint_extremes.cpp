#include "htfm/tail/joint_extremes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/stat/points.h"

namespace htfm {

namespace {

constexpr int64_t kFewestJointRows = 100, kFewestJoint = 10;
constexpr size_t kGroupsTold = 6;
constexpr std::pair<bool, bool> kCorners[] = {{true, true}, {false, false}, {true, false}, {false, true}};
constexpr double kAllowance = 1, kNearOne = 0.85, kNormal = 0.75, kSure = 2.33;

// The share of rows that lie farther out than each, on the side above, ties at random: (rank + 1/2) / n from the top.
std::vector<float> shares_beyond(const PointsView& points, int64_t column, Key key) {
  const int64_t n = points.n;
  std::vector<double> copy;  // where a row is so long that it would leave the cache between two looks
  if (points.dim > 8) {
    copy.resize(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) copy[i] = points.row(i)[column];
  }
  const double* x = copy.empty() ? points.row(0) + column : copy.data();
  const int64_t step = copy.empty() ? points.dim : 1;
  std::vector<int32_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    if (x[a * step] != x[b * step]) return x[a * step] > x[b * step];
    return key.uniform(static_cast<uint64_t>(a)) > key.uniform(static_cast<uint64_t>(b));
  });
  copy = {};
  std::vector<float> out(static_cast<size_t>(n));
  for (int64_t r = 0; r < n; ++r) out[order[r]] = (static_cast<float>(r) + 0.5f) / static_cast<float>(n);
  return out;
}

bool varies(const PointsView& points, int64_t column) {
  for (int64_t i = 1; i < points.n; ++i)
    if (points.row(i)[column] != points.row(0)[column]) return true;
  return false;
}

double chi_bar_of(double both, double beyond) {
  if (!(both > 0)) return -1;
  return both >= 1 ? 1 : std::clamp(2 * std::log(beyond) / std::log(both) - 1, -1.0, 1.0);
}

// Hill's estimate of eta from the largest of T = 1 / max(share of one, share of the other): P(T > t) is the
// chance that both are beyond 1 - 1/t. It is the likelihood of the exponential law of log T beyond a threshold.
JointFigure find_eta(std::vector<double>& log_t, int64_t k, double z) {
  std::nth_element(log_t.begin(), log_t.begin() + k, log_t.end(), std::greater<>());
  const double threshold = log_t[static_cast<size_t>(k)];
  double sum = 0;
  for (int64_t i = 0; i < k; ++i) sum += log_t[static_cast<size_t>(i)] - threshold;
  const double eta = std::min(1.0, sum / static_cast<double>(k)), error = eta / std::sqrt(static_cast<double>(k));
  return {eta, {std::max(0.0, eta - z * error), eta + z * error}};
}

void look_at_corner(CornerExtremes& corner, const std::vector<float>& a, const std::vector<float>& b,
                    const JointOptions& o) {
  const size_t n = a.size();
  const auto count = static_cast<double>(n);
  const double z = normal_quantile(0.5 + o.level / 2);
  // Rows inside every level are not counted: the outermost of them is kept, as the threshold of eta, and no other.
  double widest = std::max(o.tail_share, 1 / count);
  for (const double u : o.levels) widest = std::max(widest, (std::round((1 - u) * count) + 1) / count);
  std::vector<double> log_t;
  double inside = 1;
  for (size_t i = 0; i < n; ++i) {
    const double first = corner.first_above ? a[i] : 1 - a[i], second = corner.second_above ? b[i] : 1 - b[i];
    const double share = std::max(first, second);
    if (share <= widest)
      log_t.push_back(-std::log(share));
    else
      inside = std::min(inside, share);
  }
  log_t.push_back(-std::log(inside));
  const auto count_beyond = [&](double share) {
    return std::count_if(log_t.begin(), log_t.end(), [least = -std::log(share)](double t) { return t > least; });
  };
  for (const double u : o.levels) {
    const double beyond = std::max(1.0, std::round((1 - u) * count));
    const auto both = static_cast<double>(count_beyond(beyond / count));
    const Interval share = share_interval(both / beyond, beyond, z);
    corner.chi.push_back({both / beyond, share});
    const double p = beyond / count;
    corner.chi_bar.push_back(
        {chi_bar_of(both / count, p), {chi_bar_of(share.lower * p, p), chi_bar_of(share.upper * p, p)}});
  }
  // Of the rows that the joint tail is looked for in, as many as lie beyond both quantiles at 1 - tail_share; a tenth
  // of them or more where there are few.
  const int64_t within = count_beyond(o.tail_share);
  corner.exceedances = std::min<int64_t>(within, static_cast<int64_t>(n) - 1);
  if (corner.exceedances < kFewestJoint) {
    // Hardly ever both: fewer than half of what independence would give speaks for itself.
    corner.eta = {0.5, {0, 1}};
    if (static_cast<double>(within) < 0.5 * o.tail_share * o.tail_share * count &&
        o.tail_share * o.tail_share * count > 2 * static_cast<double>(kFewestJoint))
      corner.verdict = JointVerdict::alone;
    return;
  }
  corner.eta = find_eta(log_t, corner.exceedances, z);
  // eta errs downwards where the limit is not reached: a standard error is granted for that, as for tail indices.
  const double error = corner.eta.value / std::sqrt(static_cast<double>(corner.exceedances));
  if (corner.eta.value + (z + kAllowance) * error < 1) corner.verdict = JointVerdict::alone;
}

// Which corners come together: those whose eta is near 1, by itself surely above that of a normal law with correlation
// 1/2, or where the pairs that depend on each other at all have such an eta in the mean. One pair of many looks like it
// by chance.
void find_together(std::vector<PairExtremes>& pairs, const std::vector<double>& levels) {
  const size_t at = levels.size() / 2;
  for (size_t c = 0; c < std::size(kCorners); ++c) {
    double sum = 0, weight = 0;
    const auto depends = [&](const CornerExtremes& corner) {
      return corner.exceedances >= kFewestJoint && corner.chi[at].interval.lower > 2 * (1 - levels[at]);
    };
    for (const PairExtremes& p : pairs)
      if (const CornerExtremes& corner = p.corners[c]; depends(corner))
        sum += static_cast<double>(corner.exceedances) * corner.eta.value,
            weight += static_cast<double>(corner.exceedances);
    for (PairExtremes& p : pairs) {
      CornerExtremes& corner = p.corners[c];
      if (corner.verdict != JointVerdict::unclear || !depends(corner) || corner.eta.value < kNearOne) continue;
      const double error = corner.eta.value / std::sqrt(static_cast<double>(corner.exceedances));
      if (sum > kNearOne * weight || corner.eta.value - kSure * error > kNormal)
        corner.verdict = JointVerdict::together;
    }
  }
}

// Columns that chains of pairs hold together.
std::vector<std::vector<int64_t>> group(int64_t columns, const std::vector<PairExtremes>& pairs) {
  std::vector<int64_t> root(static_cast<size_t>(columns));
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](int64_t k) {
    while (root[k] != k) k = root[k] = root[root[k]];
    return k;
  };
  for (const PairExtremes& p : pairs)
    if (p.strongest().verdict == JointVerdict::together) root[find(p.second)] = find(p.first);
  std::vector<std::vector<int64_t>> members(static_cast<size_t>(columns)), out;
  for (int64_t k = 0; k < columns; ++k) members[find(k)].push_back(k);
  for (std::vector<int64_t>& m : members)
    if (m.size() > 1) out.push_back(std::move(m));
  std::sort(out.begin(), out.end());
  return out;
}

std::string joint_sentence(const JointExtremes& d) {
  if (d.pairs.empty()) return "One column, or too few rows: there are no pairs to examine.";
  std::array<int64_t, 3> count{};
  for (const PairExtremes& p : d.pairs) ++count[static_cast<size_t>(p.strongest().verdict)];
  std::string text =
      fmt::format("Of {} pairs of columns the extremes of {} come together, of {} alone; {} are unclear.",
                  d.pairs.size(), count[0], count[1], count[2]);
  std::vector<std::string> groups;
  for (size_t g = 0; g < std::min(kGroupsTold, d.groups.size()); ++g) {
    std::vector<std::string> names;
    for (const int64_t k : d.groups[g]) names.push_back(d.names[static_cast<size_t>(k)]);
    groups.push_back(fmt::format("{}", fmt::join(names, ", ")));
  }
  if (!groups.empty()) text += fmt::format(" Together: {}.", fmt::join(groups, "; "));
  return text;
}

}  // namespace

const char* joint_verdict_name(JointVerdict verdict) {
  return verdict == JointVerdict::together ? "together" : verdict == JointVerdict::alone ? "alone" : "unclear";
}

const CornerExtremes& PairExtremes::strongest() const {
  const auto rank = [](const CornerExtremes& c) {
    return std::pair(c.verdict == JointVerdict::together, c.chi.empty() ? 0 : c.chi[c.chi.size() / 2].value);
  };
  return *std::max_element(corners.begin(), corners.end(),
                           [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

JointExtremes diagnose_joint(const at::Tensor& rows, const std::vector<std::string>& names, const JointOptions& o) {
  const PointsView points = view_points(rows, "joint extremes");
  if (!names.empty() && static_cast<int64_t>(names.size()) != points.dim)
    throw InputError("[joint extremes] expected {} names of columns, got {}", points.dim, names.size());
  for (const double u : o.levels)
    if (!(u > 0.5 && u < 1)) throw InputError("[joint extremes] expected levels in (0.5, 1), got {}", u);
  JointExtremes out;
  out.levels = o.levels;
  for (int64_t k = 0; k < points.dim; ++k)
    out.names.push_back(names.empty() ? fmt::format("column {}", k + 1) : names[static_cast<size_t>(k)]);
  if (points.dim >= 2 && points.n >= kFewestJointRows) {
    const Key key = Key(o.seed).child("joint extremes");
    std::vector<std::vector<float>> beyond(static_cast<size_t>(points.dim));
    parallel_for(points.dim,
                 [&](int64_t k) { beyond[k] = shares_beyond(points, k, key.child(static_cast<uint64_t>(k))); });
    for (int64_t a = 0; a < points.dim; ++a)
      for (int64_t b = a + 1; b < points.dim; ++b)
        if (varies(points, a) && varies(points, b)) out.pairs.push_back({a, b, {}});
    if (static_cast<int64_t>(out.pairs.size()) > o.most_pairs) {  // the first ones of a random order
      const Key draw = key.child("pairs");
      for (int64_t i = 0; i < o.most_pairs; ++i) {
        const auto left = static_cast<uint64_t>(out.pairs.size()) - static_cast<uint64_t>(i);
        std::swap(out.pairs[i], out.pairs[i + static_cast<int64_t>(draw.below(left, static_cast<uint64_t>(i)))]);
      }
      out.pairs.resize(static_cast<size_t>(o.most_pairs));
      std::sort(out.pairs.begin(), out.pairs.end(), [](const auto& p, const auto& q) {
        return std::pair(p.first, p.second) < std::pair(q.first, q.second);
      });
    }
    parallel_for(static_cast<int64_t>(out.pairs.size()), [&](int64_t i) {
      PairExtremes& pair = out.pairs[i];
      for (const auto& [first, second] : kCorners) {
        CornerExtremes& corner = pair.corners.emplace_back();
        corner.first_above = first, corner.second_above = second;
        look_at_corner(corner, beyond[pair.first], beyond[pair.second], o);
      }
    });
  }
  find_together(out.pairs, o.levels);
  out.groups = group(points.dim, out.pairs);
  out.sentence = joint_sentence(out);
  return out;
}

}  // namespace htfm
