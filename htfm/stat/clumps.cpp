#include "htfm/stat/clumps.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

namespace htfm {

namespace {

constexpr double kErrors = 2;                       // standard errors beyond which counts are no chance
constexpr double kLeastSize = 1.5, kMostSize = 10;  // smaller ones change little; a heap of round numbers has any size
constexpr size_t kOutliers = 2;                     // cells that count no more than the next one
constexpr double kWindow = 6;                       // cells on either side that tell the density at one

struct Cell {
  double at = 0, count = 0;  // at: number of the cell; those of different values without a lattice lie far apart
  double weight = 1;         // by the cells around, not by itself or its neighbours
};

std::vector<Cell> cells_of(std::span<const double> values, double step) {
  constexpr double kApart = 2 * kWindow + 1;
  std::vector<Cell> out;
  double last = values.front();
  for (const double x : values) {
    double at = step > 0 ? std::round((x - values.front()) / step) : 0;
    if (!(step > 0) && !out.empty()) at = out.back().at + (x != last ? kApart : 0);
    if (out.empty() || at != out.back().at) out.push_back({at, 0});
    ++out.back().count;
    last = x;
  }
  return out;
}

// How many values the cells from `low` to `high` have, all at most kWindow away from the i-th one.
double count_in(const std::vector<Cell>& cells, size_t i, double low, double high) {
  double sum = 0;
  size_t j = i;
  while (j > 0 && cells[j - 1].at >= low) --j;
  for (; j < cells.size() && cells[j].at <= high; ++j)
    if (cells[j].at >= low) sum += cells[j].count;
  return sum;
}

double count_at(const std::vector<Cell>& cells, size_t i, double at) { return count_in(cells, i, at, at); }

// A cell's counts vary by their mean: those in a dense part count less.
void weigh(std::vector<Cell>& cells) {
  for (size_t i = 0; i < cells.size(); ++i) {
    const double at = cells[i].at,
                 around = count_in(cells, i, at - kWindow, at - 2) + count_in(cells, i, at + 2, at + kWindow);
    cells[i].weight = 1 / (1 + around / (2 * (kWindow - 1)));
  }
}

// What a cell has beyond the mean of its neighbours is at most what the third of all cells has.
void bound_outliers(std::vector<Cell>& cells) {
  if (cells.size() <= kOutliers) return;
  std::vector<double> beyond;
  for (size_t i = 0; i < cells.size(); ++i) {
    const double beside = count_at(cells, i, cells[i].at - 1) + count_at(cells, i, cells[i].at + 1);
    beyond.push_back((cells[i].count - beside / 2) * std::sqrt(cells[i].weight));
  }
  std::vector<double> largest = beyond;
  std::nth_element(largest.begin(), largest.begin() + kOutliers, largest.end(), std::greater<>());
  for (size_t i = 0; i < cells.size(); ++i)
    cells[i].count -= std::max(0.0, beyond[i] - largest[kOutliers]) / std::sqrt(cells[i].weight);
}

// Of the k largest values and all that equal the least of these; nothing where they are too few to tell.
std::optional<double> size_among(std::span<const double> sorted, size_t k, double step) {
  const auto first = std::lower_bound(sorted.begin(), sorted.end(), sorted[sorted.size() - k]);
  std::vector<Cell> cells = cells_of({first, sorted.end()}, step);
  weigh(cells);
  bound_outliers(cells);
  // Second differences of counts do not see a density that is linear over three cells; of Poisson counts with mean m
  // they have variance 6 m. Those that reach below the first cell are left out.
  double squares = 0, expected = 0, variance = 0, done = cells.front().at;
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto at = [&](double offset) { return count_at(cells, i, cells[i].at + offset); };
    const double weight = cells[i].weight;
    variance += weight * weight * cells[i].count * (at(-1) + at(1)) / 2;
    for (const double offset : {-1.0, 0.0, 1.0}) {
      if (cells[i].at + offset <= done) continue;
      done = cells[i].at + offset;
      const double difference = at(offset - 1) - 2 * at(offset) + at(offset + 1);
      squares += weight * difference * difference;
      expected += weight * (at(offset - 1) + 4 * at(offset) + at(offset + 1));
    }
  }
  if (!(expected > 0)) return std::nullopt;
  const double size = squares / expected, error = std::sqrt(140 * variance) / expected;  // 140 m^2 a cell
  const bool shown = size - kErrors * error > 1;
  if (!shown && size + kErrors * error > kLeastSize) return std::nullopt;
  return shown && size > kLeastSize ? std::min(size, kMostSize) : 1;
}

}  // namespace

double clump_size(std::span<const double> sorted, int64_t k, double step) {
  const size_t n = sorted.size();
  if (k < 2 || n < 2) return 1;
  const size_t tail = std::min(n, static_cast<size_t>(k));
  for (const size_t count : {tail, std::max(tail, n / 2), n})
    if (const std::optional<double> size = size_among(sorted, count, step)) return *size;
  return 1;
}

}  // namespace htfm
