#include "htfm/condition/focus.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace htfm {

namespace {

constexpr double kLeastShare = 0.05;  // of the mean weight

// Adds each row's mean square distance from the channel's least value, in units of its mean over all rows.
void add_channel(const ConditionField& field, const at::Tensor& values, int64_t channel, std::vector<double>& squares) {
  const int64_t points = field.height * field.width;
  const double* v = values.const_data_ptr<double>() + channel * points;
  const auto row = [&](size_t i) { return v + static_cast<int64_t>(i) * field.size(); };
  double least = *v;
  for (size_t i = 0; i < squares.size(); ++i) least = std::min(least, *std::min_element(row(i), row(i) + points));
  std::vector<double> own(squares.size());
  double sum = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    for (int64_t k = 0; k < points; ++k) own[i] += (row(i)[k] - least) * (row(i)[k] - least);
    sum += own[i];
  }
  if (!(sum > 0)) return;
  for (size_t i = 0; i < own.size(); ++i) squares[i] += own[i] / sum;
}

}  // namespace

std::vector<double> focus_weights(const ConditionField& field, const at::Tensor& values, double focus) {
  std::vector<double> out(static_cast<size_t>(values.size(0)));
  for (int64_t c = 0; c < field.channels; ++c) add_channel(field, values, c, out);
  for (double& w : out) w = std::pow(w, focus / 2);
  const double mean = std::accumulate(out.begin(), out.end(), 0.0) / static_cast<double>(out.size());
  if (!(mean > 0)) return std::vector<double>(out.size(), 1.0);
  for (double& w : out) w = std::max(w / mean, kLeastShare);
  return out;
}

}  // namespace htfm
