#include "htfm/stat/margin.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/stat/gpd_likelihood.h"
#include "htfm/stat/order.h"
#include "htfm/stat/threshold.h"

namespace htfm {

namespace {

constexpr size_t kMostKnots = 2000;
constexpr double kShareLeft = 0.02;  // of the order statistics beyond a knot of a fine end: to the next knot
constexpr int64_t kEnough = 150;     // exceedances: if so many pass the test as they are, clumps do not matter
constexpr double kTold = 2.7055;     // 90 % quantile of the chi-squared law with one degree of freedom
constexpr double kLeastProbability = 1e-300;
constexpr double kLeastLevel = 1e-6;  // of a place in the body: beyond an end without tail

struct Side {
  std::vector<double> sorted;  // ascending towards the tail
  TailChoice choice;
  double clumps = 1;
  bool there() const { return choice.k > 0 && choice.fits; }
};

Side look_at(std::vector<double> sorted, double clumps) {
  Side side{std::move(sorted), {}, clumps};
  // Hill's and the moment estimate want positive values: distances from the median.
  const double centre = side.sorted[side.sorted.size() / 2];
  std::vector<double> distance = side.sorted;
  for (double& v : distance) v -= centre;
  side.choice = choose_threshold(distance);
  if (clumps > 1 && !(side.there() && side.choice.k >= kEnough)) {
    TailChoice choice = choose_threshold(distance, {.clumps = clumps});
    if (choice.fits && (!side.there() || choice.k > side.choice.k)) side.choice = std::move(choice);
  }
  side.choice.fit.threshold += centre;
  return side;
}

MarginTail tail_of(const Side& side, const GpdFit& fit) {
  const auto n = static_cast<double>(side.sorted.size());
  const double from = side.sorted[side.sorted.size() - 1 - static_cast<size_t>(fit.exceedances)];
  return {(static_cast<double>(fit.exceedances) + 0.5) / n, from, fit.scale, fit.shape, fit.exceedances};
}

// The shape that both sides share, where their likelihoods do not speak against it; else each keeps its own.
void fit_sides(const Side& a, const Side& b, MarginTail& first, MarginTail& second) {
  first = tail_of(a, a.choice.fit), second = tail_of(b, b.choice.fit);
  const auto lost = [](const Side& s, double shape) {
    return std::abs(gpd_signed_deviance(s.sorted, s.choice.fit, shape)) / s.clumps;
  };
  const double low = std::min(first.shape, second.shape), high = std::max(first.shape, second.shape);
  const auto both = [&](double shape) { return lost(a, shape) + lost(b, shape); };
  const double shape =
      high - low < 1e-6 ? low : gpd::maximise([&](double s) { return -both(s); }, low, high, 1e-4 * (high - low));
  if (both(shape) >= kTold) return;
  first = tail_of(a, fit_gpd_scale(a.sorted, a.choice.k, shape));
  second = tail_of(b, fit_gpd_scale(b.sorted, b.choice.k, shape));
}

// How fast distances from a bound fall with their level: Hill's estimate from the nearest ones, distance(0) being the
// least. 1 where the density is positive at the bound.
template <class Distance>
double power_at(size_t n, const Distance& distance) {
  const size_t k = std::min(std::max<size_t>(20, n / 50), n / 2);
  double sum = 0;
  for (size_t i = 0; i < k; ++i) sum += std::log(distance(k) / distance(i));
  return std::clamp(sum / static_cast<double>(std::max<size_t>(k, 1)), 0.05, 5.0);
}

}  // namespace

double MarginTail::excess(double p) const {
  const double l = std::log(share / p), x = shape * l;
  return scale * l * (std::abs(x) < 1e-8 ? 1 + x / 2 : std::expm1(x) / x);
}

double MarginTail::mean_excess(double p) const {
  const double e = excess(p);
  return e + (scale + shape * e) / (1 - shape);
}

double MarginTail::probability(double excess) const {
  const double x = excess / scale, g = shape * x;
  const double l = std::abs(g) < 1e-9 ? x : g <= -1 ? 700 : std::log1p(g) / shape;
  return std::max(share * std::exp(-l), kLeastProbability);
}

Margin Margin::of_others(std::span<const double> sorted, const MarginOptions& o) {
  Margin out;
  const size_t n = sorted.size();
  Side above, below;
  if (o.tail_above) above = look_at({sorted.begin(), sorted.end()}, o.clumps_above);
  if (o.tail_below) {
    std::vector<double> turned(sorted.rbegin(), sorted.rend());
    for (double& v : turned) v = -v;
    below = look_at(std::move(turned), o.clumps_below);
  }
  if (above.there() && below.there())
    fit_sides(above, below, out.above_, out.below_);
  else if (above.there())
    out.above_ = tail_of(above, above.choice.fit);
  else if (below.there())
    out.below_ = tail_of(below, below.choice.fit);
  out.below_.from = -out.below_.from;

  out.add_knots(sorted, static_cast<size_t>(out.below_.exceedances),
                n - 1 - static_cast<size_t>(out.above_.exceedances), o.fine_end);
  // A side without a tail goes to its bound, where one is near; else it ends with the data.
  const auto near = [&](double end, double outermost) {
    return std::abs(end - outermost) <= sorted.back() - sorted.front();
  };
  if (!out.below_.there() && o.least < sorted.front() && near(o.least, sorted.front()))
    out.least_ = {o.least, power_at(n, [&](size_t i) { return sorted[i] - o.least; })};
  if (!out.above_.there() && o.most > sorted.back() && near(o.most, sorted.back()))
    out.most_ = {o.most, power_at(n, [&](size_t i) { return o.most - sorted[n - 1 - i]; })};
  return out;
}

Margin Margin::with_law(std::span<const double> sorted, double shape,
                        const std::function<double(double p, bool above)>& quantile) {
  constexpr double kBody = 0.05, kFar = 5e-4, kStep = 1.1;  // a side's share; where the Pareto law begins; of knots
  constexpr double kMet = 0.01;                             // share of the Pareto law at which it meets the law itself
  const size_t n = sorted.size(), k = static_cast<size_t>(kBody * static_cast<double>(n));
  Margin body, out;
  body.add_knots(sorted, k, n - 1 - k);
  for (const bool above : {false, true}) {
    MarginTail& tail = above ? out.above_ : out.below_;
    const double from = quantile(kFar, above), met = std::abs(quantile(kMet * kFar, above) - from);
    tail = {kFar, from, 1, shape, static_cast<int64_t>(kFar * static_cast<double>(n))};
    tail.scale = met / tail.excess(kMet * kFar);
  }
  // From the outermost knot of a side inwards, as long as both levels and values grow towards the body.
  const auto side = [&](bool above) {
    std::vector<std::pair<double, double>> knots;
    const double end = above ? 1 - body.level_.back() : body.level_.front(),
                 value = above ? body.value_.back() : body.value_.front();
    for (double p = kFar; p < end; p *= kStep)
      if (const double x = quantile(p, above); above ? x > value : x < value) knots.emplace_back(above ? 1 - p : p, x);
    return knots;
  };
  const auto below = side(false), above = side(true);
  for (const auto& [level, value] : below) out.level_.push_back(level), out.value_.push_back(value);
  out.level_.insert(out.level_.end(), body.level_.begin(), body.level_.end());
  out.value_.insert(out.value_.end(), body.value_.begin(), body.value_.end());
  for (auto knot = above.rbegin(); knot != above.rend(); ++knot)
    out.level_.push_back(knot->first), out.value_.push_back(knot->second);
  return out;
}

// Order statistics between the thresholds, all or evenly, and both ends of every run of equal values. Towards a fine
// end the distance of knots is a share of what is left.
void Margin::add_knots(std::span<const double> sorted, size_t first, size_t last, bool fine_end) {
  const size_t n = sorted.size();
  const double every = std::max(1.0, static_cast<double>(last - first) / kMostKnots);
  const size_t run = std::max<size_t>(3, n / kMostKnots);
  double next = static_cast<double>(first);
  for (size_t i = first; i <= last; ++i) {
    const bool starts = i + run <= n && sorted[i] == sorted[i + run - 1] && (i == 0 || sorted[i - 1] != sorted[i]),
               ends = i + 1 >= run && sorted[i] == sorted[i + 1 - run] && (i + 1 == n || sorted[i + 1] != sorted[i]);
    if (static_cast<double>(i) >= next || i == last || starts || ends) {
      level_.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(n)), value_.push_back(sorted[i]);
      const double left = kShareLeft * static_cast<double>(last - i);
      if (static_cast<double>(i) >= next) next += fine_end ? std::clamp(left, 1.0, every) : every;
    }
  }
}

Margin Margin::redrawn_others(std::span<const double> sorted, const MarginTail& below, const MarginTail& above) const {
  const size_t n = sorted.size();
  Margin out;
  size_t first = 0, last = n - 1;
  if (below_.there()) {
    first = static_cast<size_t>(std::lower_bound(sorted.begin(), sorted.end(), below_.from) - sorted.begin());
    out.below_ = {(static_cast<double>(first) + 0.5) / static_cast<double>(n), below_.from, below.scale, below.shape,
                  static_cast<int64_t>(first)};
  }
  if (above_.there()) {
    const auto beyond = static_cast<size_t>(sorted.end() - std::upper_bound(sorted.begin(), sorted.end(), above_.from));
    last = n - 1 - std::min(beyond, n - 1);
    out.above_ = {(static_cast<double>(beyond) + 0.5) / static_cast<double>(n), above_.from, above.scale, above.shape,
                  static_cast<int64_t>(beyond)};
  }
  if (first >= last) return *this;  // hardly a row between the thresholds
  out.add_knots(sorted, first, last);
  if (out.level_.size() < 2) return *this;
  if (below_.there()) out.value_.front() = below_.from;
  if (above_.there()) out.value_.back() = above_.from;
  if (least_.there() && sorted.front() > least_.bound)
    out.least_ = {least_.bound, power_at(n, [&](size_t i) { return sorted[i] - least_.bound; })};
  if (most_.there() && sorted.back() < most_.bound)
    out.most_ = {most_.bound, power_at(n, [&](size_t i) { return most_.bound - sorted[n - 1 - i]; })};
  return out;
}

double Margin::mean_of_others_beyond(double p, bool above) const {
  const MarginTail& tail = above ? above_ : below_;
  const MarginEnd& end = above ? most_ : least_;
  const double sign = above ? 1 : -1;
  if (!tail.has_mean()) return sign * std::numeric_limits<double>::infinity();
  if (tail.there() && p <= tail.share) return tail.from + sign * tail.mean_excess(p);
  // From the end inwards: what lies beyond the outermost knot, then trapezoids between knots.
  const auto depth = [&](size_t i) { return above ? 1 - level_[level_.size() - 1 - i] : level_[i]; };
  const auto height = [&](size_t i) { return above ? value_[value_.size() - 1 - i] : value_[i]; };
  double done = std::min(p, depth(0)), sum = 0;
  if (tail.there())
    sum = tail.share * (tail.from + sign * tail.mean_excess(tail.share)), done = tail.share;
  else if (end.there())
    sum = done * (end.bound + (height(0) - end.bound) * std::pow(done / depth(0), end.power) / (end.power + 1));
  else
    sum = done * height(0);
  for (size_t i = 1; i < level_.size() && done < p; ++i) {
    if (!(depth(i) > done)) continue;
    const double from = done, to = std::min(p, depth(i)), width = depth(i) - depth(i - 1);
    const auto at = [&](double q) { return std::lerp(height(i - 1), height(i), (q - depth(i - 1)) / width); };
    sum += (to - from) * (at(from) + at(to)) / 2, done = to;
  }
  if (done < p) sum += (p - done) * height(level_.size() - 1);
  return sum / p;
}

double Margin::value_of_others(const TailPlace& place) const {
  if (!place.above && place.p < below_.share) return below_.from - below_.excess(place.p);
  if (place.above && place.p < above_.share) return above_.from + above_.excess(place.p);
  const double u = place.level();
  if (least_.there() && u < level_.front())
    return least_.bound + (value_.front() - least_.bound) * std::pow(u / level_.front(), least_.power);
  if (most_.there() && u > level_.back())
    return most_.bound -
           (most_.bound - value_.back()) * std::pow((place.above ? place.p : 1 - u) / (1 - level_.back()), most_.power);
  const auto right = std::upper_bound(level_.begin(), level_.end(), u);
  if (right == level_.begin()) return value_.front();
  if (right == level_.end()) return value_.back();
  const auto k = static_cast<size_t>(right - level_.begin());
  return std::lerp(value_[k - 1], value_[k], (u - level_[k - 1]) / (level_[k] - level_[k - 1]));
}

std::vector<double> Margin::repeated() const {
  std::vector<double> out;
  for (size_t k = 1; k < value_.size(); ++k)
    if (value_[k] == value_[k - 1] && (out.empty() || out.back() != value_[k])) out.push_back(value_[k]);
  return out;
}

TailPlace Margin::place_of_others(double x, double v) const {
  if (below_.there() && x < below_.from) return {std::min(below_.probability(below_.from - x), 0.5), false};
  if (above_.there() && x > above_.from) return {std::min(above_.probability(x - above_.from), 0.5), true};
  if (least_.there() && x < value_.front())
    return TailPlace::of_level(std::max(
        kLeastLevel, level_.front() * std::pow(std::max(0.0, (x - least_.bound) / (value_.front() - least_.bound)),
                                               1 / least_.power)));
  if (most_.there() && x > value_.back())
    return {std::max(kLeastLevel,
                     (1 - level_.back()) *
                         std::pow(std::max(0.0, (most_.bound - x) / (most_.bound - value_.back())), 1 / most_.power)),
            true};
  // Where the quantile function reaches x, and where it leaves it.
  const auto low = std::lower_bound(value_.begin(), value_.end(), x), high = std::upper_bound(low, value_.end(), x);
  const auto between = [&](std::vector<double>::const_iterator at) {
    const auto k = static_cast<size_t>(at - value_.begin());
    const double share = (x - value_[k - 1]) / (value_[k] - value_[k - 1]);
    return std::lerp(level_[k - 1], level_[k], share);
  };
  const bool held = low != high;
  const auto a = static_cast<size_t>(low - value_.begin()), b = static_cast<size_t>(high - value_.begin());
  const double from = low == value_.begin() ? (below_.there() || least_.there() ? level_.front() : 0.0)
                      : held                ? level_[a]
                      : low == value_.end() ? 1.0
                                            : between(low);
  const double to = low == value_.end()    ? 1.0
                    : !held                ? from
                    : high != value_.end() ? level_[b - 1]
                    : above_.there()       ? level_.back()
                                           : 1.0;
  return TailPlace::of_level(std::clamp(std::lerp(from, to, v), kLeastLevel, 1 - kLeastLevel));
}

std::vector<double> Margin::numbers() const {
  std::vector<double> out;
  for (const MarginTail* t : {&below_, &above_})
    for (const double x : {t->share, t->from, t->scale, t->shape, static_cast<double>(t->exceedances)})
      out.push_back(x);
  for (const MarginEnd* e : {&least_, &most_}) out.push_back(e->bound), out.push_back(e->power);
  out.insert(out.end(), level_.begin(), level_.end());
  out.insert(out.end(), value_.begin(), value_.end());
  add_stray_numbers(out);
  return out;
}

Margin Margin::from_numbers(std::span<const double> v) {
  constexpr size_t kTails = 14;
  const std::span<const double> strays = take_stray_numbers(v);
  if (v.size() < kTails + 2 || (v.size() - kTails) % 2)
    throw InputError("[margin] expected the numbers of two tails, then pairs of a level and a value; got {} numbers",
                     v.size());
  constexpr double kMostExceedances = 1e15;
  const auto is_tail = [&](size_t at) {
    return v[at] >= 0 && v[at] <= 1 && v[at + 2] > 0 && v[at + 4] >= 0 && v[at + 4] <= kMostExceedances;
  };
  if (!std::all_of(v.begin(), v.end(), [](double x) { return std::isfinite(x); }))
    throw InputError("[margin] expected finite numbers, got nan or inf");
  for (const size_t at : {size_t{0}, size_t{5}})
    if (!is_tail(at))
      throw InputError(
          "[margin] expected a tail with a share from 0 to 1, a scale above 0 and a number of exceedances, got {}, {} "
          "and {}",
          v[at], v[at + 2], v[at + 4]);
  Margin out;
  size_t at = 0;
  for (MarginTail* t : {&out.below_, &out.above_}) {
    *t = {v[at], v[at + 1], v[at + 2], v[at + 3], static_cast<int64_t>(v[at + 4])};
    at += 5;
  }
  out.least_ = {v[at], v[at + 1]}, out.most_ = {v[at + 2], v[at + 3]};
  const size_t knots = (v.size() - kTails) / 2;
  out.level_.assign(v.begin() + kTails, v.begin() + static_cast<int64_t>(kTails + knots));
  out.value_.assign(v.begin() + static_cast<int64_t>(kTails + knots), v.end());
  if (!std::is_sorted(out.level_.begin(), out.level_.end()) || !std::is_sorted(out.value_.begin(), out.value_.end()) ||
      out.level_.front() < 0 || out.level_.back() > 1)
    throw InputError("[margin] expected ascending levels from 0 to 1 and ascending values, got levels {} and values {}",
                     order_text(out.level_), order_text(out.value_));
  out.read_strays(strays);
  return out;
}

}  // namespace htfm
