// Tails: survival functions and quantiles against quantiles.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "htfm/base/error.h"
#include "htfm/report/chart.h"
#include "htfm/report/figures.h"
#include "htfm/report/matrix.h"
#include "htfm/report/text.h"

namespace htfm::report {
namespace {

struct Survival {
  std::vector<double> r, probability;
};

/// P(R >= r) at chosen order statistics: all of the largest ones, then evenly in the logarithm of the rank.
Survival survival(std::vector<double> values, Scale scale) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  Survival out;
  for (size_t rank = n; rank > 0;) {
    if (drawable(values[n - rank], scale)) {
      out.r.push_back(values[n - rank]);
      out.probability.push_back(static_cast<double>(rank) / static_cast<double>(n));
    }
    rank -= std::max<size_t>(1, rank / 40);
  }
  return out;
}

/// Says how many values have no place on the scale, where there are any.
void note_left_out(std::vector<std::string>& notes, const Sample& sample, Scale scale) {
  int64_t not_finite = 0, not_positive = 0;
  for (const double value : sample.values) {
    if (!std::isfinite(value))
      ++not_finite;
    else if (!drawable(value, scale))
      ++not_positive;
  }
  const std::string total = count(static_cast<int64_t>(sample.values.size()));
  if (not_finite > 0)
    notes.push_back(fmt::format("Left out of {}: {} of {} not finite.", sample.name, count(not_finite), total));
  if (not_positive > 0)
    notes.push_back(
        fmt::format("Left out of {}: {} of {} not positive on a log axis.", sample.name, count(not_positive), total));
}

}  // namespace

std::vector<double> radii(const at::Tensor& points, std::span<const double> center) {
  check_matrix(points, std::max<int64_t>(1, static_cast<int64_t>(center.size())));
  if (!center.empty() && points.size(1) != static_cast<int64_t>(center.size()))
    throw InputError("[radii] expected a centre of {} coordinates, got {}", points.size(1), center.size());
  std::vector<double> out(static_cast<size_t>(points.size(0)), 0.0);
  for (int64_t column = 0; column < points.size(1); ++column) {
    const std::vector<double> values = matrix_column(points, column);
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = std::hypot(out[i], values[i] - (center.empty() ? 0.0 : center[static_cast<size_t>(column)]));
  }
  return out;
}

Figure radial_tail(const Sample& data, const std::vector<Sample>& models, const TailOptions& options) {
  std::vector<Survival> curves{survival(data.values, options.x.scale)};
  std::vector<Sample> samples{data};
  std::vector<std::string> notes;
  ChartLayout layout{
      .width = options.width, .height = options.height, .title = options.title, .x = options.x, .y = options.y};
  samples[0].color = data.color == Color::automatic ? Color::neutral : data.color;
  for (size_t i = 0; i < models.size(); ++i) {
    curves.push_back(survival(models[i].values, options.x.scale));
    samples.push_back(models[i]);
    samples.back().color = color_or(models[i].color, i);
  }
  // Models reach at most 100 times as far as the data on the axis: one sample that went astray must not squeeze all
  // curves.
  Extent reach;
  reach.add(curves[0].r, options.x.scale);
  const double farthest = reach.lo <= reach.hi ? 100 * reach.hi : std::numeric_limits<double>::infinity();
  int64_t beyond = 0;
  for (size_t i = 0; i < curves.size(); ++i) {
    for (size_t k = 0; k < curves[i].r.size(); ++k) {
      // The lower tenth of the body says nothing about the tail.
      if (curves[i].r[k] <= farthest && curves[i].probability[k] <= 0.9)
        layout.x_extent.add(curves[i].r[k], options.x.scale);
    }
    layout.y_extent.add(curves[i].probability, options.y.scale);
    layout.legend.push_back({samples[i].name, samples[i].color, LegendEntry::Key::line});
    note_left_out(notes, samples[i], options.x.scale);
    beyond += std::count_if(samples[i].values.begin(), samples[i].values.end(),
                            [&](double r) { return std::isfinite(r) && r > farthest; });
  }
  if (beyond > 0)
    notes.push_back(
        fmt::format("{} beyond the axis, over 100 times as far out as any of the data.", count(beyond, "sample")));
  Chart chart(layout);
  Plot& plot = chart.plot();
  std::vector<double> values = data.values;
  // Not on the few largest points, which are noise.
  const double anchor =
      std::min(0.5, std::max(options.anchor, 20 / static_cast<double>(std::max<size_t>(values.size(), 1))));
  const double start = quantile(values, 1 - anchor);
  if (drawable(start, Scale::log)) {
    // Just above the data, where it can be seen; as far as the axes go.
    const double height = 3 * anchor, end = plot.x().range.hi;
    for (const double slope : options.slopes)
      if (end > start)
        plot.reference(start, height, end, height * std::pow(end / start, -slope),
                       fmt::format("slope {}", number(-slope)));
  }
  for (size_t i = curves.size(); i-- > 0;)
    plot.line(curves[i].r, curves[i].probability, samples[i].color, i == 0 ? "ln strong" : "ln");
  return chart.figure(options.label, std::move(notes));
}

Figure quantile_plot(const Sample& data, const std::vector<Sample>& samples, const QuantileOptions& options) {
  std::vector<std::string> notes;
  note_left_out(notes, data, Scale::linear);
  std::vector<std::vector<double>> sorted{data.values};
  for (const Sample& sample : samples) {
    sorted.push_back(sample.values);
    note_left_out(notes, sample, Scale::linear);
  }
  size_t least = SIZE_MAX;
  for (std::vector<double>& values : sorted) {
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
    std::sort(values.begin(), values.end());
    least = std::min(least, values.size());
  }
  const auto at = [](const std::vector<double>& values, double probability) {
    const double place =
        std::clamp(probability * static_cast<double>(values.size()) - 0.5, 0.0, static_cast<double>(values.size() - 1));
    const size_t below = static_cast<size_t>(place), above = std::min(below + 1, values.size() - 1);
    const double share = place - static_cast<double>(below);
    return values[below] * (1 - share) + values[above] * share;
  };
  // Evenly spaced in the middle, evenly in the logarithm of the probability on both sides.
  std::set<double> probabilities;
  if (least > 0) {
    for (int i = 1; i < 50; ++i) probabilities.insert(i / 50.0);
    for (double tail = 0.5 / static_cast<double>(least); tail < 0.02; tail *= 1.25)
      probabilities.insert({tail, 1 - tail});
  }
  std::vector<double> reference;
  reference.reserve(probabilities.size());
  for (const double probability : probabilities) reference.push_back(at(sorted[0], probability));

  ChartLayout layout{
      .width = options.width, .height = options.height, .title = options.title, .x = options.x, .y = options.y};
  std::vector<std::vector<double>> quantiles;
  // The window is the data's, the same on both axes: on linear axes its bulk, enlarged; on log axes all of it.
  Extent window;
  if (options.x.scale == Scale::linear && least > 0) {
    const double low = at(sorted[0], 0.002), high = at(sorted[0], 0.998);
    window.add(low - 0.1 * (high - low), Scale::linear), window.add(high + 0.1 * (high - low), Scale::linear);
  } else {
    window.add(reference, options.x.scale);
  }
  layout.x_extent = layout.y_extent = window;
  for (size_t i = 0; i < samples.size(); ++i) {
    quantiles.emplace_back();
    for (const double probability : probabilities) quantiles.back().push_back(at(sorted[i + 1], probability));
    layout.legend.push_back({samples[i].name, color_or(samples[i].color, i), LegendEntry::Key::dot});
  }
  Chart chart(layout);
  const Range x = chart.plot().x().range, y = chart.plot().y().range;
  const double low = std::max(x.lo, y.lo), high = std::min(x.hi, y.hi);
  int64_t outside = 0;
  const bool any = least > 0 && !samples.empty();
  if (any && low < high) chart.plot().reference(low, low, high, high);
  for (size_t i = 0; i < quantiles.size() && any; ++i)
    outside += chart.plot().dots(reference, quantiles[i], color_or(samples[i].color, i), 4000, 4.2);
  if (outside > 0) notes.push_back(fmt::format("{} outside the window.", count(outside, "quantile")));
  return chart.figure(options.label, std::move(notes));
}

}  // namespace htfm::report
