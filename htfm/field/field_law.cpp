#include "htfm/field/field_law.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/stat/tail_of_maxima.h"

namespace htfm {
namespace {

constexpr size_t kTailValues = 200'000;  // of wet values that say where a tail begins: they depend on each other
constexpr int64_t kFewestMaxima = 200;   // that can say whether values end
constexpr double kInner = 0.999;         // of the interval of a value that occurs often: float32 must not leave it
constexpr double kLeastShare = 1e-9;

// Evenly spaced among the order statistics, with both ends.
std::vector<double> thinned(const std::vector<double>& sorted, size_t most) {
  if (sorted.size() <= most) return sorted;
  std::vector<double> out;
  const double step = static_cast<double>(sorted.size() - 1) / static_cast<double>(most - 1);
  for (size_t k = 0; k + 1 < most; ++k) out.push_back(sorted[static_cast<size_t>(static_cast<double>(k) * step)]);
  out.push_back(sorted.back());
  return out;
}

// Where values end by the law of the fields' maxima; infinite where these do not say so.
double end_of_values(std::vector<double> maxima) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (static_cast<int64_t>(maxima.size()) < kFewestMaxima) return kNone;
  std::sort(maxima.begin(), maxima.end());
  return tail_of_maxima(maxima).end.value_or(kNone);
}

double inner(double v) { return 0.5 + kInner * (v - 0.5); }

double beyond(const TailPlace& place) { return place.above ? place.p : 1 - place.p; }

TailPlace of_beyond(double p) { return p <= 0.5 ? TailPlace{p, true} : TailPlace{1 - p, false}; }

}  // namespace

FieldLaw FieldLaw::fit(FieldLawSample s, const std::string& scores) {
  FieldLaw out;
  out.law_ = ScoreLaw::named(scores);
  out.folded_ = s.has_threshold;
  out.wet_ = std::clamp(s.wet_share, kLeastShare, s.has_threshold ? 1 - kLeastShare : 1.0);
  std::sort(s.wet.begin(), s.wet.end());
  const double end = end_of_values(std::move(s.maxima));
  MarginOptions options{.tail_below = !s.has_threshold, .tail_above = !std::isfinite(end)};
  if (s.has_threshold) options.least = s.least;
  if (std::isfinite(end)) options.most = end, options.fine_end = true;
  out.values_ = options.tail_above || options.tail_below ? Margin::fit(thinned(s.wet, kTailValues), options)
                                                         : Margin::fit(s.wet, options);
  if (s.distance.empty()) return out;
  for (double& d : s.distance) d = -d;
  std::sort(s.distance.begin(), s.distance.end());
  // One distance alone has no law: such points are drawn.
  if (s.distance.front() < s.distance.back())
    out.distances_ = Margin::fit(s.distance, {.tail_below = false, .tail_above = false});
  return out;
}

double FieldLaw::wet_score(double value, double v) const {
  const TailPlace at = values_.place(value, inner(v));
  return folded_ ? law_.score({beyond(at) / 2, true}) : law_.score(at);
}

double FieldLaw::dry_score(double distance, double v) const {
  if (distances_.empty()) return drawn_dry_score(v);
  return law_.score({distances_.place(-distance, inner(v)).level() / 2, false});
}

double FieldLaw::drawn_dry_score(double v) const { return law_.score({inner(v) / 2, false}); }

TailPlace FieldLaw::place(double score) const {
  const TailPlace own = law_.place(score);
  TailPlace out = own;
  if (folded_) out = own.above ? of_beyond(wet_ * 2 * own.p) : TailPlace::of_level((1 - wet_) * 2 * own.p);
  return out;
}

double FieldLaw::value_at(const TailPlace& place) const {
  if (!folded_) return values_.value(place);
  const double p = beyond(place);
  return p >= wet_ ? 0 : values_.value(of_beyond(p / wet_));
}

double FieldLaw::value(double score) const {
  if (calibration_.there()) return value_at(calibration_.place(law_.score(place(score)), law_));
  if (!folded_) return values_.value(law_.place(score));
  const TailPlace own = law_.place(score);
  return own.above ? values_.value(of_beyond(2 * own.p)) : 0;
}

double FieldLaw::edge() const {
  if (!folded_) return -std::numeric_limits<double>::infinity();
  if (!calibration_.there()) return 0;
  double dry = -40, wet = 40;
  for (int k = 0; k < 80; ++k) {
    const double middle = (dry + wet) / 2;
    (value(middle) > 0 ? wet : dry) = middle;
  }
  return dry;
}

// Scores have mean square 1; halves of their law have plus or minus its mean size.
double FieldLaw::mean() const {
  if (!folded_) return 0;
  constexpr int kPoints = 4000;
  double size = 0;
  for (int k = 0; k < kPoints; ++k) size += law_.score({(k + 0.5) / kPoints / 2, true}) / kPoints;
  return (2 * wet_ - 1) * size;
}

double FieldLaw::deviation() const { return std::sqrt(1 - mean() * mean()); }

void FieldLaw::calibrate(std::vector<double> drawn) {
  std::erase_if(drawn, [](double y) { return !std::isfinite(y); });
  for (double& y : drawn) y = law_.score(place(y));
  std::sort(drawn.begin(), drawn.end());
  calibration_ = ScoreCalibration::fit(drawn, law_);
}

std::vector<std::vector<double>> FieldLaw::numbers() const {
  return {{folded_ ? 1.0 : 0.0, wet_},
          values_.numbers(),
          distances_.empty() ? std::vector<double>() : distances_.numbers(),
          calibration_.there() ? calibration_.numbers() : std::vector<double>()};
}

FieldLaw FieldLaw::from_numbers(const std::vector<std::vector<double>>& v, const std::string& scores) {
  if (v.size() != 4 || v[0].size() != 2 || !(v[0][1] > 0 && v[0][1] <= 1))
    throw InputError(
        "[fields] expected the law of a channel (a share, a margin, distances and a calibration), got {} parts",
        v.size());
  for (const std::vector<double>& part : v)
    if (!std::ranges::all_of(part, [](double x) { return std::isfinite(x); }))
      throw InputError("[fields] expected finite numbers in the law of a channel, got nan or inf");
  FieldLaw out;
  out.law_ = ScoreLaw::named(scores);
  out.folded_ = v[0][0] != 0, out.wet_ = v[0][1];
  out.values_ = Margin::from_numbers(v[1]);
  if (!v[2].empty()) out.distances_ = Margin::from_numbers(v[2]);
  if (!v[3].empty()) out.calibration_ = ScoreCalibration::from_numbers(v[3]);
  return out;
}

}  // namespace htfm
