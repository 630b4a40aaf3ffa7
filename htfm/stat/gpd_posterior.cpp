#include "htfm/stat/gpd_posterior.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/stat/estimators.h"
#include "htfm/stat/gpd_likelihood.h"

namespace htfm {

namespace {

constexpr int kShapes = 72, kScales = 48;
constexpr double kNothing = 16;  // log-likelihood lost where nothing is left
constexpr double kHighestShape = 4;

// The likelihood of one tail over a grid of log scales at one shape.
struct ScaleRow {
  double first = 0, step = 0;      // of the log scale, in units of the largest excess
  std::vector<double> cumulative;  // up to and with each cell, relative to exp(top)
  double top = -std::numeric_limits<double>::infinity();

  double log_mass() const {
    return cumulative.empty() ? -std::numeric_limits<double>::infinity() : top + std::log(cumulative.back() * step);
  }
  double draw(double u, double within) const {
    const auto cell = std::lower_bound(cumulative.begin(), cumulative.end(), u * cumulative.back());
    return first + step * (static_cast<double>(cell - cumulative.begin()) + within - 0.5);
  }
};

ScaleRow scale_row(const gpd::Excesses& e, double shape, double& log_scale) {
  ScaleRow row;
  e.best_for_shape(shape, log_scale);
  const double deviation = std::sqrt(std::max(1 + 2 * shape, 0.1) / e.count());
  row.step = 11 * deviation / kScales;
  row.first = log_scale - 5.5 * deviation + row.step / 2;
  std::vector<double> value(kScales);
  for (int i = 0; i < kScales; ++i) {
    value[static_cast<size_t>(i)] = e.count() * e.log_likelihood(shape, row.first + i * row.step);
    row.top = std::max(row.top, value[static_cast<size_t>(i)]);
  }
  double sum = 0;
  for (const double v : value) row.cumulative.push_back(sum += std::exp(v - row.top));
  return row;
}

// The shapes that the likelihood of all tails together leaves, and a margin around them.
Interval shapes_left(const std::vector<gpd::Excesses>& tails) {
  constexpr int points = 46;
  std::vector<double> value(points, 0.0);
  const auto shape = [](int i) { return kSmallestShape + (kHighestShape - kSmallestShape) * i / (points - 1); };
  for (const gpd::Excesses& e : tails) {
    double log_scale = std::log(e.mean);
    for (int i = 0; i < points; ++i) value[static_cast<size_t>(i)] += e.count() * e.best_for_shape(shape(i), log_scale);
  }
  const double best = *std::max_element(value.begin(), value.end());
  int low = points - 1, high = 0;
  for (int i = 0; i < points; ++i)
    if (value[static_cast<size_t>(i)] > best - kNothing) low = std::min(low, i), high = std::max(high, i);
  return {shape(std::max(low - 1, 0)), shape(std::min(high + 1, points - 1))};
}

// Draws of one shape for all tails, and of a scale for each.
std::vector<std::vector<GpdDraw>> draw_together(const std::vector<gpd::Excesses>& tails, int64_t count, Key key) {
  const Interval range = shapes_left(tails);
  const double step = (range.upper - range.lower) / kShapes;
  std::vector<std::vector<ScaleRow>> rows(tails.size());
  std::vector<double> log_mass(kShapes);
  std::vector<double> log_scale;
  for (const gpd::Excesses& e : tails) log_scale.push_back(std::log(e.mean));
  for (int i = 0; i < kShapes; ++i) {
    const double shape = range.lower + step * (i + 0.5);
    log_mass[static_cast<size_t>(i)] = -shape;
    for (size_t t = 0; t < tails.size(); ++t) {
      rows[t].push_back(scale_row(tails[t], shape, log_scale[t]));
      log_mass[static_cast<size_t>(i)] += rows[t].back().log_mass();
    }
  }
  const double top = *std::max_element(log_mass.begin(), log_mass.end());
  std::vector<double> cumulative;
  double sum = 0;
  for (const double l : log_mass) cumulative.push_back(sum += std::exp(l - top));
  std::vector<std::vector<GpdDraw>> out(tails.size(), std::vector<GpdDraw>(static_cast<size_t>(count)));
  const uint64_t numbers = 2 + 2 * tails.size();  // uniform ones that a draw takes
  for (int64_t c = 0; c < count; ++c) {
    const uint64_t at = static_cast<uint64_t>(c) * numbers;
    const auto cell = std::lower_bound(cumulative.begin(), cumulative.end(), key.uniform(at) * sum);
    const auto i = static_cast<size_t>(cell - cumulative.begin());
    const double shape = range.lower + step * (static_cast<double>(i) + key.uniform(at + 1));
    for (size_t t = 0; t < tails.size(); ++t) {
      const double log_drawn = rows[t][i].draw(key.uniform(at + 2 + 2 * t), key.uniform(at + 3 + 2 * t));
      out[t][static_cast<size_t>(c)] = {shape, std::exp(log_drawn) * tails[t].unit};
    }
  }
  return out;
}

bool can_be_fitted(std::span<const double> sorted, int64_t k) { return !std::isnan(fit_gpd(sorted, k).shape); }

}  // namespace

double GpdDraw::excess(double p) const {
  const double l = -std::log(p), x = shape * l;
  return scale * l * (std::abs(x) < 1e-8 ? 1 + x / 2 : std::expm1(x) / x);
}

std::vector<GpdDraw> gpd_posterior(std::span<const double> sorted, int64_t k, int64_t count, Key key) {
  if (!can_be_fitted(sorted, k)) return {};
  return std::move(draw_together({gpd::Excesses(sorted, k)}, count, key)[0]);
}

std::pair<std::vector<GpdDraw>, std::vector<GpdDraw>> gpd_posterior_of_two(std::span<const double> first,
                                                                           int64_t first_k,
                                                                           std::span<const double> second,
                                                                           int64_t second_k, int64_t count, Key key) {
  if (!can_be_fitted(first, first_k) || !can_be_fitted(second, second_k)) return {};
  auto both = draw_together({gpd::Excesses(first, first_k), gpd::Excesses(second, second_k)}, count, key);
  return {std::move(both[0]), std::move(both[1])};
}

}  // namespace htfm
