#include "htfm/signature/standardise.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "htfm/base/error.h"
#include "htfm/signature/input.h"

namespace htfm {

namespace {

// A spread below this part of the mean is rounding, not variation.
constexpr double kRounding = 1e-12;

at::Tensor checked_features(const char* where, const at::Tensor& features, int64_t size) {
  const bool right = features.defined() && features.device().is_cpu() &&
                     (features.scalar_type() == at::kFloat || features.scalar_type() == at::kDouble) &&
                     features.dim() == 2 && (size < 0 || features.size(1) == size);
  if (!right) {
    throw InputError("[{}] expected float32 or float64 features n x {} on the CPU, got {}", where,
                     size < 0 ? "p" : std::to_string(size), describe(features));
  }
  return features.contiguous();
}

// Mean, and sum of squares about it, of some coordinates side by side, so that their sums need not wait for one
// another. Two passes about the first value: a coordinate that does not vary then has exactly no spread.
template <int Width>
void moments(const double* values, int64_t n, int64_t step, double* mean, double* m2) {
  double sum[Width] = {}, square[Width] = {}, centre[Width];
  for (int64_t i = 0; i < n; ++i) {
#pragma GCC unroll 4  // so that the sums stay in registers
    for (int c = 0; c < Width; ++c) sum[c] += values[i * step + c] - values[c];
  }
  for (int c = 0; c < Width; ++c) centre[c] = values[c] + sum[c] / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) {
#pragma GCC unroll 4
    for (int c = 0; c < Width; ++c)
      square[c] += (values[i * step + c] - centre[c]) * (values[i * step + c] - centre[c]);
  }
  std::copy_n(centre, Width, mean);
  std::copy_n(square, Width, m2);
}

void check_finite(const double* values, int64_t n, int64_t p) {
  for (int64_t i = 0; i < n * p; ++i) {
    if (!std::isfinite(values[i])) {
      throw Error("[RunningStandardiser] expected finite features, got {} in row {}, coordinate {}", values[i], i / p,
                  i % p);
    }
  }
}

// 1 / standard deviation, or 0 where the values do not vary.
double inverse_spread(double mean, double m2, int64_t count) {
  const double spread = std::sqrt(m2 / static_cast<double>(count));
  return spread > kRounding * std::abs(mean) ? 1.0 / spread : 0.0;
}

}  // namespace

at::Tensor signed_log1p(const at::Tensor& features, std::span<const int64_t> coordinates) {
  at::Tensor result = checked_features("signed_log1p", features, -1).clone();
  const int64_t n = result.size(0), p = result.size(1);
  for (int64_t c : coordinates) {
    if (c < 0 || c >= p) throw InputError("[signed_log1p] expected coordinates of 0 to {}, got {}", p - 1, c);
  }
  with_float_type(result, [&](auto zero) {
    using Number = decltype(zero);
    Number* row = result.mutable_data_ptr<Number>();
    for (int64_t i = 0; i < n; ++i, row += p) {
      for (int64_t c : coordinates) row[c] = std::copysign(std::log1p(std::abs(row[c])), row[c]);
    }
  });
  return result;
}

at::Tensor standardise_along_time(const at::Tensor& paths) {
  at::Tensor result = checked_paths("standardise_along_time", paths, true).clone();
  const int64_t n = result.size(0), points = result.size(1), channels = result.size(2);
  with_float_type(result, [&](auto zero) {
    using Number = decltype(zero);
    for (int64_t i = 0; i < n * channels; ++i) {
      Number* values = result.mutable_data_ptr<Number>() + i / channels * points * channels + i % channels;
      double mean = 0.0, m2 = 0.0;
      for (int64_t j = 0; j < points; ++j) {
        const double delta = static_cast<double>(values[j * channels]) - mean;
        mean += delta / static_cast<double>(j + 1);
        m2 += delta * (static_cast<double>(values[j * channels]) - mean);
      }
      const double scale = inverse_spread(mean, m2, points);
      for (int64_t j = 0; j < points; ++j) {
        values[j * channels] = static_cast<Number>((static_cast<double>(values[j * channels]) - mean) * scale);
      }
    }
  });
  return result.view(paths.sizes());
}

RunningStandardiser::RunningStandardiser(int64_t size) {
  if (size < 0)
    throw InputError("[RunningStandardiser] expected at least 0 coordinates, got {}",
                     size);  // 0: a clock without a feature
  mean_.assign(size, 0.0);
  m2_.assign(size, 0.0);
}

void RunningStandardiser::update(const at::Tensor& features) {
  const at::Tensor batch = checked_features("RunningStandardiser", features, size()).to(at::kDouble);
  const int64_t n = batch.size(0), p = size();
  if (n == 0) return;
  const double* values = batch.const_data_ptr<double>();
  const auto old_count = static_cast<double>(count_), share = static_cast<double>(n) / static_cast<double>(count_ + n);
  std::vector<double> mean(static_cast<size_t>(p)), m2(static_cast<size_t>(p));
  int64_t c = 0;
  for (; c + 4 <= p; c += 4) moments<4>(values + c, n, p, &mean[c], &m2[c]);
  if (p - c == 3) moments<3>(values + c, n, p, &mean[c], &m2[c]);
  if (p - c == 2) moments<2>(values + c, n, p, &mean[c], &m2[c]);
  if (p - c == 1) moments<1>(values + c, n, p, &mean[c], &m2[c]);
  const auto finite = [](double v) { return std::isfinite(v); };
  if (!std::all_of(mean.begin(), mean.end(), finite)) check_finite(values, n, p);
  for (c = 0; c < p; ++c) {
    // Chan, Golub and LeVeque (1979): the merge of two samples' moments.
    const double delta = mean[c] - mean_[c];
    mean_[c] = count_ == 0 ? mean[c] : mean_[c] + delta * share;
    m2_[c] += m2[c] + delta * delta * share * old_count;
  }
  count_ += n;
}

at::Tensor RunningStandardiser::apply(const at::Tensor& features) const {
  const at::Tensor input = checked_features("RunningStandardiser", features, size()).to(at::kDouble);
  if (count_ == 0) throw Error("[RunningStandardiser] expected statistics of at least one batch, got none");
  const int64_t n = input.size(0), p = size();
  at::Tensor result = at::empty({n, p}, at::kFloat);
  const double* from = input.const_data_ptr<double>();
  float* to = result.mutable_data_ptr<float>();
  std::vector<double> scale(static_cast<size_t>(p));
  for (int64_t c = 0; c < p; ++c) scale[c] = inverse_spread(mean_[c], m2_[c], count_);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t c = 0; c < p; ++c)
      to[i * p + c] = scale[c] == 0.0 ? 0.0f : static_cast<float>((from[i * p + c] - mean_[c]) * scale[c]);
  return result;
}

RunningStandardiser::State RunningStandardiser::state() const {
  State state{at::empty({}, at::kLong), at::empty({size()}, at::kDouble), at::empty({size()}, at::kDouble)};
  *state.count.mutable_data_ptr<int64_t>() = count_;
  std::copy(mean_.begin(), mean_.end(), state.mean.mutable_data_ptr<double>());
  std::copy(m2_.begin(), m2_.end(), state.m2.mutable_data_ptr<double>());
  return state;
}

void RunningStandardiser::load(const State& state) {
  const auto fits = [&](const at::Tensor& values) {
    return values.defined() && values.scalar_type() == at::kDouble && values.dim() == 1 && values.size(0) == size();
  };
  if (!state.count.defined() || state.count.scalar_type() != at::kLong || state.count.numel() != 1 ||
      !fits(state.mean) || !fits(state.m2)) {
    throw InputError("[RunningStandardiser] expected count int64, mean and m2 float64 of {} values, got {}, {}, {}",
                     size(), describe(state.count), describe(state.mean), describe(state.m2));
  }
  const at::Tensor count = state.count.cpu().contiguous(), mean = state.mean.cpu().contiguous(),
                   m2 = state.m2.cpu().contiguous();
  const double* means = mean.const_data_ptr<double>();
  const double* squares = m2.const_data_ptr<double>();
  const int64_t seen = *count.const_data_ptr<int64_t>();
  if (seen < 0) throw InputError("[RunningStandardiser] expected a count of at least 0, got {}", seen);
  for (int64_t c = 0; c < size(); ++c) {
    if (!std::isfinite(means[c]) || !std::isfinite(squares[c]) || squares[c] < 0) {
      throw InputError("[RunningStandardiser] expected a finite mean and m2 >= 0, got {} and {} at coordinate {}",
                       means[c], squares[c], c);
    }
  }
  count_ = seen;
  mean_.assign(means, means + size());
  m2_.assign(squares, squares + size());
}

}  // namespace htfm
