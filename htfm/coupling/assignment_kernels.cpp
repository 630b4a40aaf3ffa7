#include "htfm/coupling/assignment_kernels.h"

#include "htfm/base/lanes.h"
#include "htfm/base/math.h"

namespace htfm {
namespace {

using Vec = Vector<double>;
constexpr int kLanes = kLanesOf<double>;

void cost_row(int64_t n, int64_t dim, const double* x, const double* y, double p, double* out) {
  for (int64_t j = 0; j < n; ++j) out[j] = (y[j] - x[0]) * (y[j] - x[0]);
  for (int64_t d = 1; d < dim; ++d) {
    const double* column = y + d * n;
    for (int64_t j = 0; j < n; ++j) out[j] += (column[j] - x[d]) * (column[j] - x[d]);
  }
  if (p == 2) return;
  if (p == 1) {
    for (int64_t j = 0; j < n; ++j) out[j] = __builtin_sqrt(out[j]);
  } else if (p == 1.5) {
    for (int64_t j = 0; j < n; ++j) {
      const double r = __builtin_sqrt(out[j]);
      out[j] = r * __builtin_sqrt(r);
    }
  } else {
    for (int64_t j = 0; j < n; ++j) {
      const double square = out[j] > 1e-300 ? out[j] : 1e-300;
      out[j] = exp_double(0.5 * p * log_positive(square));
    }
  }
}

constexpr int kChains = 4;  // of comparisons, so that they need not wait for one another

[[gnu::always_inline]] inline Vec first_columns(int chain) {
  Vec v;
  for (int i = 0; i < kLanes; ++i) v[i] = chain * kLanes + i;
  return v;
}

[[gnu::always_inline]] inline double lesser(double a, double b) { return a < b ? a : b; }

[[gnu::always_inline]] inline double least_of(const Vec (&v)[kChains]) {
  double lane[kLanes];
  store(lane, min(min(v[0], v[1]), min(v[2], v[3])));
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] = lesser(lane[i], lane[i + half]);
  return lane[0];
}

// The first column among those whose value is the best.
[[gnu::always_inline]] inline double first_at(const Vec (&value)[kChains], const Vec (&at)[kChains], double best) {
  Vec candidate[kChains];
  for (int k = 0; k < kChains; ++k) candidate[k] = value[k] == best ? at[k] : splat(__builtin_inf());
  return least_of(candidate);
}

BestTwo best_two(int64_t n, const double* cost, const double* price) {
  Vec best[kChains], second[kChains], at[kChains], column[kChains];
  for (int k = 0; k < kChains; ++k) best[k] = second[k] = splat(__builtin_inf()), at[k] = column[k] = first_columns(k);
  int64_t j = 0;
  for (; j + kChains * kLanes <= n; j += kChains * kLanes)
#pragma GCC unroll 4
    for (int k = 0; k < kChains; ++k) {
      const Vec value = load(cost + j + k * kLanes) - load(price + j + k * kLanes);
      at[k] = value < best[k] ? column[k] : at[k];
      second[k] = min(second[k], max(value, best[k]));
      best[k] = min(value, best[k]);
      column[k] += static_cast<double>(kChains * kLanes);
    }
  BestTwo out{least_of(best), 0, 0};
  const double where = first_at(best, at, out.best);
  for (int k = 0; k < kChains; ++k) best[k] = at[k] == where ? second[k] : best[k];
  out.second = least_of(best);
  out.at = static_cast<int64_t>(where);
  for (; j < n; ++j) {
    const double value = cost[j] - price[j];
    out.second = lesser(out.second, value < out.best ? out.best : value);
    if (value < out.best) out.best = value, out.at = j;
  }
  return out;
}

Nearest relax(int64_t n, const double* cost, const double* price, double offset, double row, double* distance,
              double* from) {
  Vec best[kChains], at[kChains], column[kChains];
  for (int k = 0; k < kChains; ++k) best[k] = splat(__builtin_inf()), at[k] = column[k] = first_columns(k);
  const Vec rows = splat(row);
  int64_t j = 0;
  for (; j + kChains * kLanes <= n; j += kChains * kLanes)
#pragma GCC unroll 4
    for (int k = 0; k < kChains; ++k) {
      const int64_t c = j + k * kLanes;
      const Vec value = (load(cost + c) - load(price + c)) + offset, old = load(distance + c);
      store(from + c, value < old ? rows : load(from + c));
      const Vec now = min(value, old);
      store(distance + c, now);
      at[k] = now < best[k] ? column[k] : at[k];
      best[k] = min(now, best[k]);
      column[k] += static_cast<double>(kChains * kLanes);
    }
  const double nearest = least_of(best);
  Nearest out{nearest, static_cast<int64_t>(first_at(best, at, nearest))};
  for (; j < n; ++j) {
    const double value = (cost[j] - price[j]) + offset;
    if (value < distance[j]) distance[j] = value, from[j] = row;
    if (distance[j] < out.distance) out = {distance[j], j};
  }
  return out;
}

void lower(int64_t n, const double* cost, double price, double* least) {
  for (int64_t j = 0; j < n; ++j) {
    const double value = cost[j] - price;
    least[j] = value < least[j] ? value : least[j];
  }
}

}  // namespace

HTFM_DEFINE_KERNELS(AssignmentKernels, &cost_row, &best_two, &relax, &lower)

}  // namespace htfm
