#include "htfm/metric/field_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"
#include "htfm/base/parallel.h"
#include "htfm/metric/moment_scores.h"

namespace htfm {
namespace {

constexpr int64_t kLeastTail = 5;  // values beyond the cut
constexpr int64_t kCurvePoints = 64;
constexpr double kReserve = 4;  // the kept tail is so many times the one beyond the cut: resamples cut lower, too

using Weights = std::vector<double>;  // how often each block was drawn

// Values of all blocks, the largest first.
struct Ordered {
  std::vector<float> value;
  std::vector<uint16_t> block;

  Ordered(const FieldSummary& s, std::vector<float> FieldBlock::*member) {
    std::vector<std::pair<float, uint16_t>> all;
    for (size_t b = 0; b < s.blocks.size(); ++b)
      for (const float v : s.blocks[b].*member) all.emplace_back(v, static_cast<uint16_t>(b));
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [v, b] : all) value.push_back(v), block.push_back(b);
  }
};

// A set with its largest values in order, seen under weights.
class FieldSide {
 public:
  FieldSide(const FieldSummary& summary, float floor)
      : s_(summary), floor_(floor), tail_(summary, &FieldBlock::tail), maxima_(summary, &FieldBlock::maxima) {}

  const FieldSummary& summary() const { return s_; }
  size_t blocks() const { return s_.blocks.size(); }
  Weights once() const { return Weights(blocks(), 1); }

  template <class Get>
  double total(const Weights& w, const Get& get) const {
    double sum = 0;
    for (size_t b = 0; b < blocks(); ++b) sum += w[b] * static_cast<double>(get(s_.blocks[b]));
    return sum;
  }
  double values(const Weights& w) const {
    return total(w, [](const FieldBlock& b) { return b.values; });
  }
  MomentShape shape(const Weights& w) const {
    std::array<double, 4> sums{};
    for (size_t p = 0; p < 4; ++p) sums[p] = total(w, [p](const FieldBlock& b) { return b.sums[p]; });
    return moment_shape(sums, values(w));
  }
  double wet(const Weights& w) const {
    return total(w, [](const FieldBlock& b) { return b.wet; }) / values(w);
  }
  std::vector<double> spectrum(const Weights& w) const {
    std::vector<double> out(s_.blocks[0].spectrum.size());
    const double n = total(w, [](const FieldBlock& b) { return b.fields; });
    for (size_t k = 0; k < out.size(); ++k) out[k] = total(w, [k](const FieldBlock& b) { return b.spectrum[k]; }) / n;
    return out;
  }
  double stride(size_t b) const { return static_cast<double>(s_.blocks[b].tail_stride); }

  // As quantile_of_sorted, of values at so many from the top; the floor where they lie below it.
  double tail_quantile(const Weights& w, double level) const { return quantile(tail_, w, values(w), level, true); }
  double return_level(const Weights& w, double period) const {
    const double n = total(w, [](const FieldBlock& b) { return b.fields; });
    if (n / period < 1 - 1e-9) return kNan;
    return quantile(maxima_, w, n, 1 - 1 / period, false);
  }
  const Ordered& tail() const { return tail_; }

 private:
  double quantile(const Ordered& o, const Weights& w, double n, double level, bool strides) const {
    const double position = level * (n - 1), below = std::floor(position), rank = n - 1 - below;  // from the top
    double before = 0, high = kNan;
    for (size_t k = 0; k < o.value.size(); ++k) {
      const double own = w[o.block[k]] * (strides ? stride(o.block[k]) : 1);
      if (own == 0) continue;
      if (std::isnan(high) && before + own > std::max(0.0, rank - 1)) high = o.value[k];
      if (before + own > rank) return std::lerp(static_cast<double>(o.value[k]), high, position - below);
      before += own;
    }
    return floor_;
  }

  const FieldSummary& s_;
  float floor_;
  Ordered tail_, maxima_;
};

// The values of a set beyond a cut: how many lead its tail, and for how many values they stand.
struct Beyond {
  size_t end = 0;
  double n = 0;
};

Beyond beyond(const FieldSide& s, const Weights& w, double cut) {
  Beyond out;
  for (; out.end < s.tail().value.size() && s.tail().value[out.end] > cut; ++out.end)
    out.n += w[s.tail().block[out.end]] * s.stride(s.tail().block[out.end]);
  return out;
}

// The Kolmogorov-Smirnov distance of what lies beyond.
double distance_beyond(const FieldSide& real, const Weights& wr, Beyond p, const FieldSide& fake, const Weights& wf,
                       Beyond q) {
  if (p.n < kLeastTail || q.n < kLeastTail) return kNan;
  double ks = 0, a = 0, b = 0;
  for (size_t i = 0, j = 0; i < p.end || j < q.end;) {
    const auto &x = real.tail(), &y = fake.tail();
    const float v = std::max(i < p.end ? x.value[i] : -std::numeric_limits<float>::infinity(),
                             j < q.end ? y.value[j] : -std::numeric_limits<float>::infinity());
    for (; i < p.end && x.value[i] == v; ++i) a += wr[x.block[i]] * real.stride(x.block[i]);
    for (; j < q.end && y.value[j] == v; ++j) b += wf[y.block[j]] * fake.stride(y.block[j]);
    ks = std::max(ks, std::abs(a / p.n - b / q.n));
  }
  return ks;
}

// Points of the exceedance curve: edges of bins, evenly on a log scale from the least wet value to the largest.
std::vector<int64_t> curve_bins(const FieldSummary& real, const FieldSummary& fake) {
  int64_t low = kFieldBins, high = 0;
  for (const FieldSummary* s : {&real, &fake})
    for (const FieldBlock& b : s->blocks)
      for (int64_t bin = field_bin(1e-30F); bin < kFieldBins; ++bin)
        if (b.histogram[static_cast<size_t>(bin)] > 0) low = std::min(low, bin), high = std::max(high, bin);
  low = std::max(low, field_bin(static_cast<float>(std::max(1e-30, real.options.wet / 10))));
  std::vector<int64_t> out;
  for (int64_t k = 0; k < kCurvePoints && low < high; ++k)
    if (const int64_t bin = low + (high - low) * k / (kCurvePoints - 1); out.empty() || bin > out.back())
      out.push_back(bin);
  return out;
}

std::vector<double> exceedance(const FieldSide& side, const Weights& w, const std::vector<std::vector<double>>& above) {
  std::vector<double> out;
  out.reserve(above.size());
  for (const std::vector<double>& level : above) {
    double sum = 0;
    for (size_t b = 0; b < w.size(); ++b) sum += w[b] * level[b];
    out.push_back(sum / side.values(w));
  }
  return out;
}

// Values of at least each bin's edge, by block.
std::vector<std::vector<double>> counts_above(const FieldSummary& s, const std::vector<int64_t>& bins) {
  std::vector<std::vector<double>> out(bins.size(), std::vector<double>(s.blocks.size(), 0));
  for (size_t b = 0; b < s.blocks.size(); ++b) {
    double sum = 0;
    int64_t bin = kFieldBins;
    for (size_t k = bins.size(); k-- > 0;) {
      while (bin > bins[k]) sum += s.blocks[b].histogram[static_cast<size_t>(--bin)];
      out[k][b] = sum;
    }
  }
  return out;
}

// All figures of one pair of weights, in a fixed order.
struct FieldFigures {
  std::vector<double> signed_values;  // percentile intervals
  std::vector<double> distances;      // reflected ones
};

double log_distance(const std::vector<double>& real, const std::vector<double>& fake) {
  double sum = 0;
  for (size_t k = 0; k < real.size(); ++k) sum += std::log(fake[k] / real[k]) * std::log(fake[k] / real[k]);
  return std::sqrt(sum / static_cast<double>(real.size()));
}

Weights draw(Key key, size_t blocks) {
  Weights w(blocks, 0);
  for (size_t b = 0; b < blocks; ++b) ++w[key.below(blocks, b)];
  return w;
}

}  // namespace

FieldScores field_scores(const FieldStream& real_stream, const FieldStream& fake_stream, const FieldScoreOptions& o) {
  check_options(o.bootstrap);
  if (!(o.cut > 0 && o.cut < 1)) throw InputError("[cut] expected a level between 0 and 1, got {}", o.cut);
  if (o.blocks < 2 || o.blocks > 65535) throw InputError("[blocks] expected from 2 to 65535, got {}", o.blocks);
  if (real_stream.height != fake_stream.height || real_stream.width != fake_stream.width)
    throw InputError("[fields] expected samples of {} x {}, as the real fields, got {} x {}", real_stream.height,
                     real_stream.width, fake_stream.height, fake_stream.width);
  FieldSummaryOptions so{.wet = o.wet, .blocks = o.blocks};
  so.centre = real_stream.read(0, 1).to(at::kDouble).mean().item<double>();
  FieldSummary real = summarise_fields(real_stream, so);
  if (real.nonfinite() > 0)
    throw InputError("[fields] expected real fields that are finite, got {} that are not", real.nonfinite());
  const auto floor_of = [&](const FieldSummary& s) {
    return s.floor_above(static_cast<int64_t>(kReserve * (1 - o.cut) * static_cast<double>(s.values())) + kLeastTail);
  };
  const float floor = floor_of(real);
  collect_tail(real_stream, floor, real);
  FieldSummary fake = summarise_fields(fake_stream, so, &floor);
  if (fake.fields() == 0)
    throw InputError("[fields] expected a sample that is finite, got none in {}", fake.nonfinite());
  const float lower =
      std::min(floor, floor_of(fake));  // samples whose own quantile is far below the real one are read once more
  if (lower < floor) collect_tail(fake_stream, lower, fake);

  const FieldSide a(real, floor), b(fake, lower);
  const std::vector<int64_t> bins = curve_bins(real, fake);
  const auto above_real = counts_above(real, bins), above_fake = counts_above(fake, bins);
  const auto figures = [&](const Weights& wr, const Weights& wf) {
    FieldFigures f;
    const MomentShape x = a.shape(wr), y = b.shape(wf);
    const double cut = a.tail_quantile(wr, o.cut);
    const Beyond tail = beyond(a, wr, cut), reached = beyond(b, wf, cut),
                 own = beyond(b, wf, b.tail_quantile(wf, o.cut));
    const double share = tail.n > 0 ? (reached.n / b.values(wf)) / (tail.n / a.values(wr)) : kNan;
    const std::vector<double> p = a.spectrum(wr), q = b.spectrum(wf);
    f.distances = {std::abs(1 - y.kurtosis / x.kurtosis), std::abs(1 - y.skewness / x.skewness),
                   distance_beyond(a, wr, tail, b, wf, reached), distance_beyond(a, wr, tail, b, wf, own),
                   log_distance(p, q)};
    f.signed_values = {x.kurtosis, y.kurtosis, x.skewness, y.skewness, share, a.wet(wr), b.wet(wf)};
    const auto append = [&](const std::vector<double>& v) {
      f.signed_values.insert(f.signed_values.end(), v.begin(), v.end());
    };
    append(exceedance(a, wr, above_real)), append(exceedance(b, wf, above_fake)), append(p), append(q);
    for (const double period : o.periods) f.signed_values.push_back(a.return_level(wr, period));
    for (const double period : o.periods) f.signed_values.push_back(b.return_level(wf, period));
    return f;
  };
  const FieldFigures sample = figures(a.once(), b.once());
  std::vector<FieldFigures> rounds(static_cast<size_t>(o.bootstrap.rounds));
  const Key key = Key(o.bootstrap.seed).child("fields");
  parallel_for(o.bootstrap.rounds, [&](int64_t r) {
    const Key own = key.child(static_cast<uint64_t>(r));
    rounds[static_cast<size_t>(r)] = figures(draw(own.child("real"), a.blocks()), draw(own.child("fake"), b.blocks()));
  });
  size_t at = 0;
  const auto scored = [&](std::vector<double> FieldFigures::*member, size_t k, bool distance) {
    std::vector<double> values;
    values.reserve(rounds.size());
    for (const FieldFigures& f : rounds) values.push_back((f.*member)[k]);
    const double own = (sample.*member)[k];
    return distance ? reflected_interval(own, std::move(values), o.bootstrap.level)
                    : percentile_interval(own, std::move(values), o.bootstrap.level);
  };
  const auto next = [&] { return scored(&FieldFigures::signed_values, at++, false); };
  const auto several = [&](size_t count) {
    std::vector<Scored> out;
    for (size_t k = 0; k < count; ++k) out.push_back(next());
    return out;
  };
  FieldScores out;
  out.real = real.fields(), out.fake = fake.fields(), out.nonfinite = fake.nonfinite();
  out.cut = a.tail_quantile(a.once(), o.cut);
  out.kr = scored(&FieldFigures::distances, 0, true), out.sr = scored(&FieldFigures::distances, 1, true);
  out.tail_ks = scored(&FieldFigures::distances, 2, true), out.tail_ks_own = scored(&FieldFigures::distances, 3, true);
  out.spectrum_distance = scored(&FieldFigures::distances, 4, true);
  out.kurtosis_real = next(), out.kurtosis_fake = next(), out.skewness_real = next(), out.skewness_fake = next(),
  out.tail_share = next();
  out.wet_real = next(), out.wet_fake = next();
  for (const int64_t bin : bins) out.exceedance.x.push_back(field_bin_edge(bin));
  out.exceedance.real = several(bins.size()), out.exceedance.fake = several(bins.size());
  const size_t rings = real.blocks[0].spectrum.size();
  for (size_t k = 1; k <= rings; ++k) out.spectrum.x.push_back(static_cast<double>(k));
  out.spectrum.real = several(rings), out.spectrum.fake = several(rings);
  out.return_levels.x = o.periods;
  out.return_levels.real = several(o.periods.size()), out.return_levels.fake = several(o.periods.size());
  return out;
}

}  // namespace htfm
