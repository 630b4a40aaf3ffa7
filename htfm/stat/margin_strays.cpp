// The law of a column whose outermost values are a part of their own: a place is theirs, or one in the law of the
// others, which ends where they begin.
#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/stat/margin.h"

namespace htfm {

namespace {

// From the share p beyond a place on one side.
TailPlace of_share(double p, bool above) { return p > 0.5 ? TailPlace{1 - p, !above} : TailPlace{p, above}; }

}  // namespace

Margin Margin::fit(std::span<const double> sorted, const MarginOptions& o) {
  const size_t strays = o.strays_below + o.strays_above;
  if (strays == 0) return of_others(sorted, o);
  if (sorted.size() < strays + 2)
    throw Error("[margin] expected others beside {} values, got {} in all", strays, sorted.size());
  const std::span<const double> others = sorted.subspan(o.strays_below, sorted.size() - strays);
  Margin out = of_others(others, o);
  const double centre = others[others.size() / 2];
  out.add_strays(StrayLaw::fit(sorted, o.strays_below, false, centre, o.least, o.step),
                 StrayLaw::fit(sorted, o.strays_above, true, centre, o.most, o.step));
  return out;
}

void Margin::add_strays(StrayLaw below, StrayLaw above) {
  strays_below_ = std::move(below), strays_above_ = std::move(above);
  const auto beyond = [&](const StrayLaw& strays, const MarginTail& tail, const MarginEnd& end) {
    return strays.there() && (tail.there() || end.there()) ? place_of_others(strays.border(), 0.5).p : 0.0;
  };
  cut_below_ = beyond(strays_below_, below_, least_), cut_above_ = beyond(strays_above_, above_, most_);
}

TailPlace Margin::to_others(const TailPlace& place) const {
  return of_share(cut(place.above) + (place.p - strays(place.above).share()) * kept(), place.above);
}

TailPlace Margin::from_others(const TailPlace& place) const {
  const double strays = this->strays(place.above).share(), p = strays + (place.p - cut(place.above)) / kept();
  return of_share(std::max(p, std::max(strays * (1 + 1e-15), std::numeric_limits<double>::min())), place.above);
}

double Margin::value(const TailPlace& place) const {
  if (!has_strays()) return value_of_others(place);
  const StrayLaw& own = strays(place.above);
  return place.p < own.share() ? own.value(place.p) : value_of_others(to_others(place));
}

TailPlace Margin::place(double x, double v) const {
  if (!has_strays()) return place_of_others(x, v);
  for (const bool above : {false, true})
    if (strays(above).holds(x)) return {strays(above).place(x, v), above};
  return from_others(place_of_others(x, v));
}

double Margin::mean_beyond(double p, bool above) const {
  if (!has_strays()) return mean_of_others_beyond(p, above);
  if (!(above ? above_ : below_).has_mean()) return mean_of_others_beyond(p, above);
  const StrayLaw& own = strays(above);
  double sum = own.there() ? own.sum_beyond(p) : 0;
  if (p > own.share()) {
    const double from = cut(above), to = from + (p - own.share()) * kept();
    const double inner = to * mean_of_others_beyond(to, above),
                 outer = from > 0 ? from * mean_of_others_beyond(from, above) : 0;
    sum += (inner - outer) / kept();
  }
  return sum / p;
}

std::span<const double> Margin::others_of(std::span<const double> sorted) const {
  size_t first = 0, last = sorted.size();
  while (first < last && strays_below_.holds(sorted[first])) ++first;
  while (last > first && strays_above_.holds(sorted[last - 1])) --last;
  return sorted.subspan(first, last - first);
}

Margin Margin::redrawn(std::span<const double> sorted, const MarginTail& below, const MarginTail& above) const {
  if (!has_strays()) return redrawn_others(sorted, below, above);
  const std::span<const double> others = others_of(sorted);
  if (others.size() < 2) return *this;
  Margin out = redrawn_others(others, below, above);
  const auto n = static_cast<double>(sorted.size());
  const auto first = static_cast<double>(others.data() - sorted.data());
  const double last = n - first - static_cast<double>(others.size());
  out.add_strays(strays_below_.with_share(first / n), strays_above_.with_share(last / n));
  return out;
}

// Behind the numbers of the others, whose count is even: those of both parts and how many they are, which makes it odd.
void Margin::add_stray_numbers(std::vector<double>& out) const {
  if (!has_strays()) return;
  const size_t before = out.size();
  strays_below_.add_numbers(out), strays_above_.add_numbers(out);
  out.push_back(static_cast<double>(out.size() - before));
}

std::span<const double> Margin::take_stray_numbers(std::span<const double>& numbers) {
  if (numbers.size() % 2 == 0) return {};
  const double count = numbers.back(), most = static_cast<double>(numbers.size() - 1);
  if (!(count >= 6 && count <= most && count == 2 * std::floor(count / 2)))
    throw InputError("[margin] expected the numbers of two tails, then pairs of a level and a value; got {} numbers",
                     numbers.size());
  const auto own = static_cast<size_t>(count);
  const std::span<const double> out = numbers.subspan(numbers.size() - 1 - own, own);
  numbers = numbers.first(numbers.size() - 1 - own);
  return out;
}

void Margin::read_strays(std::span<const double> numbers) {
  if (numbers.empty()) return;
  if (!std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); }))
    throw InputError("[margin] expected finite numbers, got nan or inf");
  StrayLaw below = StrayLaw::from_numbers(numbers, false), above = StrayLaw::from_numbers(numbers, true);
  if (!numbers.empty())
    throw InputError("[margin] expected values far beyond all others on two sides, got {} numbers more",
                     numbers.size());
  add_strays(std::move(below), std::move(above));
  const bool outside = (!strays_below_.there() || strays_below_.border() <= value_.front()) &&
                       (!strays_above_.there() || strays_above_.border() >= value_.back());
  if (!outside || !(cut_below_ + cut_above_ < 0.5))
    throw InputError("[margin] expected values far beyond all others, got some from {} to {} among them",
                     strays_below_.there() ? strays_below_.border() : strays_above_.border(),
                     strays_above_.there() ? strays_above_.border() : strays_below_.border());
}

}  // namespace htfm
