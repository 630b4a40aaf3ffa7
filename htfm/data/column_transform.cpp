#include "htfm/data/column_transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace htfm {

namespace {

constexpr double kExactWhole = 9007199254740992.0;  // 2^53
constexpr int kMostDecimals = 6;
constexpr double kLeast = 1e-4;  // of the bend: nearer to the bound values are not told apart

double quantile(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - static_cast<double>(below));
}

// A quantile range over that of a standard normal law: the interquartile one, wider ones where ties make it vanish.
double robust_scale(const std::vector<double>& sorted) {
  constexpr double kLevels[][2] = {
      {0.25, 1.3489795003921634}, {0.1, 2.5631031310892009}, {0.02, 4.1074978212636345}, {0.002, 5.7563235}};
  for (const auto& [p, normal] : kLevels)
    if (const double range = quantile(sorted, 1 - p) - quantile(sorted, p); range > 0) return range / normal;
  return (sorted.back() - sorted.front()) / 6;
}

// Decimals and gap of the lattice that all values lie on; gap 0 where they lie on none.
void find_lattice(const std::vector<double>& sorted, ColumnTransform& t) {
  for (int decimals = 0; decimals <= kMostDecimals; ++decimals) {
    const double unit = std::pow(10.0, decimals);
    if (std::max(std::abs(sorted.front()), std::abs(sorted.back())) * unit >= kExactWhole) return;
    // Dividing gives the double next to the decimal number, which is what was read from text.
    if (!std::all_of(sorted.begin(), sorted.end(), [&](double x) { return std::round(x * unit) / unit == x; }))
      continue;
    const auto whole = [&](double x) { return static_cast<int64_t>(std::round(x * unit)); };
    int64_t gap = 0;
    for (const double x : sorted) gap = std::gcd(gap, whole(x) - whole(sorted.front()));
    t.origin = static_cast<double>(whole(sorted.front())), t.gap = static_cast<double>(gap), t.decimals = decimals;
    return;
  }
}

// Whether the density is well above zero right at the least value: the lowest values then lie evenly, while below a
// decaying density they crowd at the upper end of their range.
bool has_edge(const std::vector<double>& sorted) {
  const size_t m = std::min(std::max<size_t>(40, sorted.size() / 20), sorted.size() / 4);
  if (m < 20) return false;
  const double low = sorted.front(), range = sorted[m] - low;
  if (!(range > 0)) return true;
  double mean = 0;
  for (size_t i = 1; i < m; ++i) mean += (sorted[i] - low) / range / static_cast<double>(m - 1);
  return mean < 0.6;
}

int64_t count_of(const std::vector<double>& sorted, double low, double high) {
  return std::upper_bound(sorted.begin(), sorted.end(), high) - std::lower_bound(sorted.begin(), sorted.end(), low);
}

// Whether many values equal the least one, and far more than any value next to it.
bool has_atom(const std::vector<double>& sorted, double step) {
  const double low = sorted.front();
  const int64_t n = static_cast<int64_t>(sorted.size()), ties = count_of(sorted, low, low);
  if (ties < std::max<int64_t>(5, n / 50)) return false;
  int64_t beside = 0;
  if (step > 0) {
    for (int k = 1; k <= 5; ++k)
      beside = std::max(beside, count_of(sorted, low + (k - 0.25) * step, low + (k + 0.25) * step));
  } else {
    for (auto it = std::upper_bound(sorted.begin(), sorted.end(), low); it != sorted.end() && beside * 4 < ties;) {
      const auto next = std::upper_bound(it, sorted.end(), *it);
      beside = std::max<int64_t>(beside, next - it);
      it = next;
    }
  }
  return ties > 4 * beside;
}

// The values of a column that holds few different ones, each often, and not as evenly as a lattice has them; else none.
std::vector<double> few_values(const std::vector<double>& sorted, const ColumnTransform& lattice) {
  constexpr size_t kMost = 20;
  const int64_t often = std::max<int64_t>(5, static_cast<int64_t>(sorted.size()) / 50);
  std::vector<double> out;
  for (auto it = sorted.begin(); it != sorted.end();) {
    const auto next = std::upper_bound(it, sorted.end(), *it);
    if (next - it < often || out.size() == kMost) return {};
    out.push_back(*it);
    it = next;
  }
  const double range = sorted.back() - sorted.front();
  if (lattice.gap > 0 && range / lattice.step() < static_cast<double>(out.size()) - 0.5) return {};
  return out;
}

// Shares reach 1 and percentages 100 in few rows, and never more: a batting average, the marks of an exam.
bool ends_as_a_share(const std::vector<double>& sorted, const ColumnTransform& lattice) {
  const bool whole = lattice.gap > 0 && lattice.decimals == 0;
  return sorted.front() >= 0 && ((sorted.back() == 1 && !whole) || sorted.back() == 100);
}

// The least point of a lattice above 0, of which `least` > 0 is another.
double least_positive(double least, double step) {
  const double out = least - (std::ceil(least / step) - 1) * step;
  return out > 1e-6 * step ? out : step;  // not what rounding leaves of 0
}

}  // namespace

ColumnTransform ColumnTransform::affine(double centre, double scale) {
  ColumnTransform t;
  t.centre = centre, t.scale = scale > 0 ? scale : 1;
  return t;
}

double ColumnTransform::step() const { return gap / std::pow(10.0, decimals); }

ColumnTransform ColumnTransform::recognise(std::vector<double> sorted, Key key) {
  ColumnTransform t;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() == sorted.back()) {
    t.constant = true, t.origin = sorted.front();
    return t;
  }
  find_lattice(sorted, t);
  if (std::vector<double> few = few_values(sorted, t); !few.empty()) {
    for (double& x : sorted) x = static_cast<double>(std::lower_bound(few.begin(), few.end(), x) - few.begin());
    t = recognise(std::move(sorted), key);
    t.values = std::move(few);
    return t;
  }
  const double step = t.step();
  const auto turned = [&] {
    std::vector<double> out(sorted.rbegin(), sorted.rend());
    for (double& v : out) v = -v;
    return out;
  };
  std::vector<double> y = sorted;
  const bool not_negative = sorted.front() >= 0, not_positive = sorted.back() <= 0;
  bool atom = has_atom(y, step);
  if (!atom && !not_negative) {
    std::vector<double> other = turned();
    if (const bool above = has_atom(other, step); above || not_positive)
      t.flip = true, atom = above, y = std::move(other);
  }
  const double least = y.front();
  // Many values at an end: a scale that ends there, or a cap.
  const int64_t many = std::max<int64_t>(5, static_cast<int64_t>(sorted.size()) / 50);
  if (count_of(sorted, sorted.front(), sorted.front()) >= many) t.least = sorted.front();
  if (count_of(sorted, sorted.back(), sorted.back()) >= (ends_as_a_share(sorted, t) ? 2 : many)) t.most = sorted.back();
  t.bounded = atom || not_negative || not_positive;
  t.atom = atom;
  if (t.bounded) {
    const int64_t ties = count_of(y, least, least);
    t.touched = atom || least == 0;
    if (atom || least == 0 || has_edge(y)) {
      // Without ties the least value lies one spacing or so above the bound.
      const size_t m = std::min<size_t>(40, y.size() - 1);
      const double spacing = step > 0 || ties > 1 ? 0 : (y[m] - least) / static_cast<double>(m);
      t.bound = std::max(least - spacing, 0.0 < least ? 0.0 : least);
    } else {
      t.bound = step > 0 ? least_positive(least, step) : 0;
    }
    t.flip ? t.most = -t.bound : t.least = t.bound;
  }
  if (atom) {
    // The interval for the atom is as wide as its share would be at the density next to the bound, within reason.
    const std::vector<double> rest(std::upper_bound(y.begin(), y.end(), least), y.end());
    const double spread = rest.size() > 1 ? robust_scale(rest) : 0,
                 share = static_cast<double>(rest.size()) / static_cast<double>(y.size());
    const double unit = std::max(spread, step > 0 ? step : std::abs(rest.front() - least));
    t.width = std::clamp((1 - share) / share, 0.5, 3.0) * unit;
  } else if (t.bounded) {
    t.bend = 0.3 * std::max(robust_scale(y), step);
  }
  std::vector<double> z(sorted.size());
  for (size_t i = 0; i < z.size(); ++i) z[i] = t.apply(sorted[i], key.uniform(i));
  std::sort(z.begin(), z.end());
  t.centre = quantile(z, 0.5), t.scale = robust_scale(z);
  return t;
}

double ColumnTransform::bent(double y, double u) const {
  const double half = step() / 2;
  if (atom) {
    if (y <= bound) return -width * std::sqrt(-2 * std::log(u)) * 0.8;  // a Rayleigh law: no edge at either end
    return y + step() * (u - 0.5) - (bound + half);
  }
  if (gap > 0) y += step() * (u - 0.5);
  if (!bounded) return y;
  const double v = std::max(y - (bound - half), kLeast * bend * (0.5 + u)) / bend;
  return v > 30 ? bend * v : bend * std::log(std::expm1(v));
}

double ColumnTransform::unbent(double z) const {
  const double half = step() / 2;
  if (atom) return z < 0 ? bound : std::max(bound + half + z, bound + step());
  if (!bounded) return z;
  const double v = z / bend, distance = v > 30 ? z : bend * std::log1p(std::exp(v));
  if (touched && gap == 0 && distance < kLeast * bend) return bound;
  return bound - half + distance;
}

double ColumnTransform::snapped(double x) const {
  if (gap == 0) return x;
  const double unit = std::pow(10.0, decimals), whole = origin + std::round((x * unit - origin) / gap) * gap;
  return whole / unit;
}

double ColumnTransform::place(double x) const {
  const auto above = std::lower_bound(values.begin(), values.end(), x);
  if (above == values.begin()) return 0;
  const auto k = static_cast<double>(above - values.begin());
  return above == values.end() || x - above[-1] < *above - x ? k - 1 : k;
}

double ColumnTransform::apply(double x, double u) const {
  if (!values.empty()) x = place(x);
  return (bent(flip ? -x : x, u) - centre) / scale;
}

double ColumnTransform::invert(double z) const {
  if (constant) return origin;
  const double y = unbent(centre + scale * z);
  return settle(flip ? -y : y);
}

double ColumnTransform::spread(double x, double u) const {
  if (!values.empty()) x = place(x);
  return x + step() * (u - 0.5);
}

double ColumnTransform::settle(double y) const {
  const double x = std::clamp(snapped(y), least, most) + 0.0;  // no minus zero
  if (values.empty()) return x;
  return values[static_cast<size_t>(std::clamp(x, 0.0, static_cast<double>(values.size() - 1)))];
}

bool ColumnTransform::bends(double z) const { return bounded && (atom || centre + scale * z < 3 * bend); }

int ColumnTransform::digits() const {
  constexpr int kFloat = 9, kAll = 17, kDecimal = 15;
  if (constant || !values.empty()) return kAll;
  if (gap > 0) return kDecimal;
  const double size = std::abs(invert(0)) / scale;
  return size > 1 ? std::min(kAll, kFloat + static_cast<int>(std::ceil(std::log10(size)))) : kFloat;
}

std::string ColumnTransform::describe() const {
  if (constant) return fmt::format("constant, {}", origin);
  if (!values.empty())
    return fmt::format("one of {} values, {:.6g} to {:.6g}", values.size(), values.front(), values.back());
  std::string text = gap == 0                    ? "real"
                     : decimals == 0 && gap == 1 ? "whole numbers"
                                                 : fmt::format("multiples of {:.6g}", step());
  if (std::isfinite(least)) text += fmt::format(", at least {:.6g}", least + 0.0);
  if (std::isfinite(most)) text += fmt::format(", at most {:.6g}", most + 0.0);
  if (atom) text += fmt::format(", often {:.6g}", (flip ? -bound : bound) + 0.0);
  return text;
}

std::vector<double> ColumnTransform::numbers() const {
  const auto flag = [](bool b) { return b ? 1.0 : 0.0; };
  return {flag(constant), flag(flip), origin, gap,   decimals, flag(bounded), flag(atom), flag(touched),
          bound,          bend,       width,  least, most,     centre,        scale};
}

ColumnTransform ColumnTransform::from_numbers(const double* v) {
  ColumnTransform t;
  t.constant = v[0] != 0, t.flip = v[1] != 0;
  t.origin = v[2], t.gap = v[3], t.decimals = v[4];
  t.bounded = v[5] != 0, t.atom = v[6] != 0, t.touched = v[7] != 0;
  t.bound = v[8], t.bend = v[9], t.width = v[10], t.least = v[11], t.most = v[12], t.centre = v[13], t.scale = v[14];
  return t;
}

}  // namespace htfm
