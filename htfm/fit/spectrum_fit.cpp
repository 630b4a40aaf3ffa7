#include "htfm/fit/spectrum_fit.h"

#include <ATen/ops/abs.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sgn.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/field/cosine_waves.h"
#include "htfm/metric/field_summary.h"

namespace htfm {

namespace {

constexpr int kRounds = 10;
constexpr double kStep = 0.35;  // of the logarithm of a ratio of powers: 0.5 if gains acted on powers alone
constexpr double kKnotsAnOctave = 1;
constexpr double kReach = 0.35;      // of a knot, in logarithms of wave numbers
constexpr double kLargestGain = 3;   // more is not a correction
constexpr int64_t kTogether = 64;    // fields
constexpr int64_t kFields = 10'000;  // that gains are found by, at the most: they are kept with their waves

using Spectra = std::vector<std::vector<double>>;

// The power of values is that of a few storms, which differ from set to set; that of their roots is steadier.
at::Tensor rooted(const at::Tensor& fields) { return fields.abs().sqrt_().mul_(fields.sgn()); }

// Mean power of the roots of fields n x c x h x w that are read part by part; those that are not finite do not count.
template <class Read>
Spectra mean_spectra(int64_t n, int64_t channels, int64_t rings, const Read& read) {
  const int64_t parts = (n + kTogether - 1) / kTogether;
  std::vector<Spectra> sums(static_cast<size_t>(parts),
                            Spectra(static_cast<size_t>(channels), std::vector<double>(static_cast<size_t>(rings))));
  std::vector<int64_t> counts(static_cast<size_t>(parts));
  parallel_for(parts, [&](int64_t part) {
    const int64_t begin = part * kTogether, count = std::min(n - begin, kTogether);
    const at::Tensor fields = read(begin, count), finite = fields.isfinite().flatten(1).all(1).nonzero().view({-1});
    const at::Tensor kept = rooted(fields.index_select(0, finite));
    counts[static_cast<size_t>(part)] = kept.size(0);
    for (int64_t c = 0; c < channels && kept.size(0) > 0; ++c) {
      const at::Tensor own = radial_spectrum(kept.select(1, c)).sum(0);
      std::copy_n(own.const_data_ptr<double>(), rings, sums[static_cast<size_t>(part)][static_cast<size_t>(c)].begin());
    }
  });
  Spectra out = sums[0];
  int64_t count = counts[0];
  for (size_t p = 1; p < sums.size(); ++p) {
    count += counts[p];
    for (size_t c = 0; c < out.size(); ++c)
      for (size_t k = 0; k < out[c].size(); ++k) out[c][k] += sums[p][c][k];
  }
  for (std::vector<double>& of_channel : out)
    for (double& power : of_channel) power /= static_cast<double>(count);
  return out;
}

// Wave numbers at which gains are found: evenly spaced in their logarithms, from 1 to the largest.
std::vector<double> knots_to(int64_t rings) {
  const double octaves = std::log2(static_cast<double>(rings));
  const auto steps = std::max<int64_t>(1, std::llround(kKnotsAnOctave * octaves));
  std::vector<double> out;
  for (int64_t k = 0; k <= steps; ++k)
    out.push_back(std::exp2(octaves * static_cast<double>(k) / static_cast<double>(steps)));
  return out;
}

// The logarithms of found / wanted, without the factor that all wave numbers share: the law of the values decides it.
std::vector<double> shape_of(const std::vector<double>& found, const std::vector<double>& wanted) {
  std::vector<double> out(found.size());
  double mean = 0;
  for (size_t k = 0; k < out.size(); ++k) {
    out[k] = std::log(found[k] / wanted[k]);
    if (!std::isfinite(out[k]))
      throw InputError("[spectrum] expected samples with power at every wave number, got none at {}", k + 1);
    mean += out[k] / static_cast<double>(out.size());
  }
  for (double& x : out) x -= mean;
  return out;
}

// The mean over wave numbers near one.
double near(double wave, const std::vector<double>& of_waves) {
  double sum = 0, weights = 0;
  for (size_t k = 0; k < of_waves.size(); ++k) {
    const double away = std::log(static_cast<double>(k + 1) / wave) / kReach, weight = std::exp(-away * away / 2);
    sum += weight * of_waves[k], weights += weight;
  }
  return sum / weights;
}

bool all_positive(const std::vector<double>& v) {
  return std::ranges::all_of(v, [](double x) { return x > 0 && std::isfinite(x); });
}

// One channel of the rows that a model drew, and its waves.
class DrawnChannel {
 public:
  DrawnChannel(const at::Tensor& rows, int64_t height, int64_t width)
      : height_(height),
        width_(width),
        transform_(height, width),
        rows_(rows.to(at::kDouble).contiguous()),
        waves_(rows_.clone()),
        power_(transform_.points()) {
    stays_.resize(static_cast<size_t>(rows_.size(0)));
    parallel_for(rows_.size(0), [&](int64_t i) {
      stays_[static_cast<size_t>(i)] = SpectrumGain::stays(field(rows_, i));
      if (!stays_[static_cast<size_t>(i)]) transform_.forward(field(waves_, i));
    });
    for (int64_t i = 0; i < rows_.size(0); ++i) {
      if (stays_[static_cast<size_t>(i)]) continue;
      const std::span<const double> own = field(waves_, i);
      for (size_t k = 1; k < own.size(); ++k) power_[k] += own[k] * own[k];
    }
  }

  // Gains at these wave numbers, divided by what keeps the power of all waves together as it is.
  SpectrumGain gain(const std::vector<double>& waves, std::vector<double>& gains) const {
    const SpectrumGain as_given(height_, width_, waves, gains);
    double before = 0, after = 0;
    for (size_t k = 1; k < power_.size(); ++k) {
      before += power_[k];
      after += power_[k] * as_given.of_entries()[k] * as_given.of_entries()[k];
    }
    if (!(after > 0)) return as_given;
    for (double& g : gains) g *= std::sqrt(before / after);
    return {height_, width_, waves, gains};
  }

  at::Tensor with(const SpectrumGain& gain) const {
    at::Tensor out = at::empty(rows_.sizes(), rows_.options());
    parallel_for(rows_.size(0), [&](int64_t i) {
      const std::span<double> to = field(out, i);
      const bool stays = stays_[static_cast<size_t>(i)];
      std::ranges::copy(field(stays ? rows_ : waves_, i), to.begin());
      if (stays) return;
      for (size_t k = 0; k < to.size(); ++k) to[k] *= gain.of_entries()[k];
      transform_.backward(to);
    });
    return out;
  }

 private:
  static std::span<double> field(const at::Tensor& rows, int64_t i) {
    return {rows.mutable_data_ptr<double>() + i * rows.size(1), static_cast<size_t>(rows.size(1))};
  }
  int64_t height_, width_;
  CosineWaves transform_;
  at::Tensor rows_, waves_;
  std::vector<double> power_;  // sums of squares over the fields, of each entry
  std::vector<char> stays_;
};

}  // namespace

std::vector<std::vector<double>> training_spectra(const FieldSet& set) {
  const std::vector<int64_t> part = set.part(false);
  const int64_t rings = std::min(set.fields.size(2), set.fields.size(3)) / 2;
  return mean_spectra(static_cast<int64_t>(part.size()), set.fields.size(1), rings, [&](int64_t begin, int64_t count) {
    return set.take({part.begin() + begin, part.begin() + begin + count});
  });
}

void check_spectrum_sides(int64_t height, int64_t width) {
  if (std::min(height, width) < 4 || std::max(height, width) > CosineWaves::kLongestSide)
    throw InputError("[spectrum] expected fields of 4 to {} points a side, got {} x {}", CosineWaves::kLongestSide,
                     height, width);
}

SpectrumFit fit_spectrum(FieldTransform& transform, const at::Tensor& drawn, int64_t height, int64_t width,
                         const Spectra& wanted) {
  const int64_t channels = transform.channels(), rings = std::min(height, width) / 2, plane = height * width;
  if (!transform.scored()) throw InputError("[spectrum] expected fields that are scores, got {}", transform.kind);
  check_spectrum_sides(height, width);
  if (std::ssize(wanted) != channels ||
      std::ranges::any_of(wanted, [&](const auto& own) { return std::ssize(own) != rings; }))
    throw InputError("[spectrum] expected the power at {} wave numbers of {} channels, got that of {}", rings, channels,
                     wanted.size());
  const at::Tensor rows = drawn.narrow(0, 0, std::min(kFields, drawn.size(0)));
  const std::vector<double> knots = knots_to(rings);
  struct Fitted {
    int64_t channel;
    DrawnChannel drawn;
    std::vector<double> gains;
  };
  std::vector<Fitted> fitted;
  for (int64_t c = 0; c < channels; ++c)
    if (!transform.is_plain(c) && all_positive(wanted[static_cast<size_t>(c)]))
      fitted.push_back(
          {c, DrawnChannel(rows.narrow(1, c * plane, plane), height, width), std::vector<double>(knots.size(), 1.0)});
  SpectrumFit out;
  std::vector<SpectrumGain> best(static_cast<size_t>(channels));
  FieldTransform laws = transform;  // which gains have no part in: they are in the rows
  laws.gains.clear();
  for (int round = 0; round <= kRounds; ++round) {
    at::Tensor moved = rows.to(at::kDouble, false, true);
    std::vector<SpectrumGain> gains(static_cast<size_t>(channels));
    for (Fitted& f : fitted) {
      if (round == 0) continue;
      SpectrumGain& gain = gains[static_cast<size_t>(f.channel)] = f.drawn.gain(knots, f.gains);
      moved.narrow(1, f.channel * plane, plane).copy_(f.drawn.with(gain));
    }
    laws.calibrate(moved);
    const Spectra found = mean_spectra(rows.size(0), channels, rings, [&](int64_t begin, int64_t count) {
      return laws.invert(moved.narrow(0, begin, count)).view({count, channels, height, width}).to(at::kFloat);
    });
    double squares = 0;
    for (Fitted& f : fitted) {
      const auto c = static_cast<size_t>(f.channel);
      const std::vector<double> shape = shape_of(found[c], wanted[c]);
      for (const double x : shape) squares += x * x / static_cast<double>(shape.size() * fitted.size());
      for (size_t k = 0; k < knots.size(); ++k)
        f.gains[k] = std::clamp(f.gains[k] * std::exp(-kStep * near(knots[k], shape)), 1 / kLargestGain, kLargestGain);
    }
    const double distance = std::sqrt(squares);
    if (round == 0) out.before = out.after = distance;
    if (distance < out.after) best = gains, out.after = distance;
  }
  transform.gains.clear();
  if (out.after < out.before) transform.gains = best;
  transform.calibrate(drawn);
  return out;
}

}  // namespace htfm
