#include "htfm/data/state_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "htfm/base/random.h"

namespace htfm {
namespace {

constexpr int64_t kWidth = Polygons::kWidth, kKnots = Polygons::kMost + 1;

// Two numbers with polygons of 3 and of 64 pieces, one without.
struct Example {
  Example() : knots(static_cast<size_t>(3 * kKnots), std::numeric_limits<float>::infinity()) {
    for (int64_t k = 0; k <= 3; ++k) knots[static_cast<size_t>(k)] = static_cast<float>(k * k) - 2;
    for (int64_t k = 0; k <= 64; ++k) knots[static_cast<size_t>(2 * kKnots + k)] = 0.1F * static_cast<float>(k) - 3;
    const Key key(7);
    for (size_t i = 0; i < static_cast<size_t>((4 + 65) * kWidth); ++i)
      values.push_back(static_cast<float>(key.child("values").uniform(i)));
    for (size_t i = 0; i < 40 * 3; ++i) x.push_back(static_cast<float>(12 * key.child("x").uniform(i) - 5));
    for (size_t i = 0; i < 40 * kWidth; ++i) z.push_back(static_cast<float>(key.child("z").uniform(i)));
  }
  Polygons polygons() const { return {3, pieces.data(), knots.data()}; }
  std::vector<int64_t> pieces{3, 0, 64};
  std::vector<float> knots, values, x, z;
};

// The value at x of the line through values at knots; at the ends' values beyond them.
double interpolated(const float* knots, const float* values, int64_t pieces, double x, int64_t unit) {
  if (x <= knots[0]) return values[unit];
  for (int64_t k = 0; k < pieces; ++k) {
    if (x >= knots[k + 1]) continue;
    const double part = (x - knots[k]) / (knots[k + 1] - knots[k]);
    return (1 - part) * values[k * kWidth + unit] + part * values[(k + 1) * kWidth + unit];
  }
  return values[pieces * kWidth + unit];
}

TEST(StateKernels, PolygonsAreLinesBetweenKnots) {
  const Example e;
  std::vector<float> z = e.z;
  kernels<StateKernels>().add_polygons(e.polygons(), e.values.data(), e.x.data(), 40, z.data());
  for (int64_t i = 0; i < 40; ++i)
    for (int64_t u = 0; u < kWidth; u += 17) {
      const auto at = static_cast<size_t>(i * kWidth + u);
      const double wanted = e.z[at] +
                            interpolated(e.knots.data(), e.values.data(), 3, e.x[static_cast<size_t>(3 * i)], u) +
                            interpolated(e.knots.data() + 2 * kKnots, e.values.data() + 4 * kWidth, 64,
                                         e.x[static_cast<size_t>(3 * i + 2)], u);
      EXPECT_NEAR(z[at], wanted, 1e-5) << i << " " << u;
    }
}

// The sum of gradient times polygons is linear in the values: its derivative, times them, is itself.
TEST(StateKernels, TheGradientIsThatOfThePolygons) {
  const Example e;
  std::vector<float> sums(e.z.size()), gradient(e.values.size());
  kernels<StateKernels>().add_polygons(e.polygons(), e.values.data(), e.x.data(), 40, sums.data());
  kernels<StateKernels>().polygon_gradient(e.polygons(), e.x.data(), e.z.data(), 40, gradient.data());
  double by_rows = 0, by_values = 0;
  for (size_t i = 0; i < sums.size(); ++i) by_rows += static_cast<double>(sums[i]) * e.z[i];
  for (size_t i = 0; i < gradient.size(); ++i) by_values += static_cast<double>(gradient[i]) * e.values[i];
  EXPECT_NEAR(by_rows, by_values, 1e-4 * by_rows);
}

TEST(StateKernels, RowsOfTablesAreAdded) {
  const Example e;
  const int64_t first[] = {2, 0, 1}, second[] = {0, 3, 3};
  const float* tables[] = {e.values.data(), e.values.data() + 5 * kWidth};
  const int64_t* states[] = {first, second};
  std::vector<float> z = e.z;
  kernels<StateKernels>().add_rows(tables, states, 2, 3, z.data());
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t u = 0; u < kWidth; ++u)
      EXPECT_EQ(z[static_cast<size_t>(i * kWidth + u)], e.z[static_cast<size_t>(i * kWidth + u)] +
                                                            tables[0][first[i] * kWidth + u] +
                                                            tables[1][second[i] * kWidth + u]);
}

#if defined(__x86_64__) && !defined(HTFM_ONE_ISA)
TEST(StateKernels, AllInstructionSetsGiveTheSameBits) {
  const Example e;
  const auto results = [&](const StateKernels& k) {
    std::vector<float> z = e.z, gradient(e.values.size()), first(e.z.size(), 0.1F), second(e.z.size(), 0.2F),
                       weights = e.z, average = e.z;
    k.add_polygons(e.polygons(), e.values.data(), e.x.data(), 40, z.data());
    k.polygon_gradient(e.polygons(), e.x.data(), z.data(), 40, gradient.data());
    k.adam({0.01F, 1.5F, 0.99F, 0.9F}, std::ssize(z), z.data(), first.data(), second.data(), weights.data(),
           average.data());
    for (const auto* more : {&gradient, &first, &second, &weights, &average})
      z.insert(z.end(), more->begin(), more->end());
    return z;
  };
  const auto base = results(kernel_table<StateKernels, Isa::base>());
  if (isa() >= Isa::v3) {
    EXPECT_EQ(base, results(kernel_table<StateKernels, Isa::v3>()));
  }
  if (isa() >= Isa::v4) {
    EXPECT_EQ(base, results(kernel_table<StateKernels, Isa::v4>()));
  }
}
#endif

}  // namespace
}  // namespace htfm
