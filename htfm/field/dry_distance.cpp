#include "htfm/field/dry_distance.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"

namespace htfm {
namespace {

double square(double x) { return x * x; }

// Squared distances of the points of one channel from sites, where they are less than what is there.
void lower_by_sites(const float* site, int64_t count, int64_t height, int64_t width, float* squared) {
  for (int64_t s = 0; s < count; ++s)
    for (int64_t j = 0; j < height; ++j) {
      const float down = static_cast<float>(j) - site[2 * s], rows = down * down, column = site[2 * s + 1];
      float* to = squared + j * width;
      for (int64_t i = 0; i < width; ++i) {
        const float across = static_cast<float>(i) - column, own = across * across + rows;
        to[i] = own < to[i] ? own : to[i];
      }
    }
}

}  // namespace

NearestWet::NearestWet(const std::vector<uint8_t>& wet, int64_t height, int64_t width)
    : height_(height), width_(width), nearest_row_(wet.size(), -1) {
  // Down with the last wet row of each column, then up with the nearer of both.
  std::vector<int32_t> last(static_cast<size_t>(width), -1);
  for (int64_t j = 0; j < height; ++j)
    for (int64_t i = 0; i < width; ++i) {
      int32_t& own = last[static_cast<size_t>(i)];
      if (wet[static_cast<size_t>(j * width + i)]) own = static_cast<int32_t>(j);
      nearest_row_[static_cast<size_t>(j * width + i)] = own;
    }
  std::fill(last.begin(), last.end(), -1);
  for (int64_t j = height - 1; j >= 0; --j)
    for (int64_t i = 0; i < width; ++i) {
      int32_t &own = last[static_cast<size_t>(i)], &above = nearest_row_[static_cast<size_t>(j * width + i)];
      if (wet[static_cast<size_t>(j * width + i)]) own = static_cast<int32_t>(j);
      if (own >= 0 && (above < 0 || own - j < j - above)) above = own;
    }
}

// Each column has a parabola over the row; the lowest one at a place belongs to the nearest wet point.
void NearestWet::row(int64_t j, std::vector<Site>& out) const {
  out.assign(static_cast<size_t>(width_), Site());
  const int32_t* nearest = nearest_row_.data() + j * width_;
  std::vector<int32_t> column;  // of the parabolas of the envelope
  std::vector<double> from;     // where each begins
  const auto height = [&](int64_t i) { return square(static_cast<double>(j - nearest[i])); };
  for (int64_t i = 0; i < width_; ++i) {
    if (nearest[i] < 0) continue;
    double begin = -std::numeric_limits<double>::infinity();
    while (!column.empty()) {
      const int64_t k = column.back();
      begin = (height(i) + square(static_cast<double>(i)) - height(k) - square(static_cast<double>(k))) /
              static_cast<double>(2 * (i - k));
      if (begin > from.back()) break;
      column.pop_back(), from.pop_back();
      begin = -std::numeric_limits<double>::infinity();
    }
    column.push_back(static_cast<int32_t>(i)), from.push_back(begin);
  }
  if (column.empty()) return;
  size_t at = 0;
  for (int64_t i = 0; i < width_; ++i) {
    while (at + 1 < column.size() && from[at + 1] < static_cast<double>(i)) ++at;
    out[static_cast<size_t>(i)] = {nearest[column[at]], column[at]};
  }
}

at::Tensor dry_distance(const at::Tensor& fields, const std::vector<int64_t>& index, const WetOutside& outside,
                        double threshold, double reach) {
  const int64_t channels = fields.size(1), height = fields.size(2), width = fields.size(3), plane = height * width;
  if (outside.there() && outside.end.numel() != fields.size(0) * channels)
    throw InputError("[fields] expected what lies outside of {} fields, got of {}", fields.size(0),
                     outside.end.numel() / std::max<int64_t>(1, channels));
  at::Tensor out = at::empty({static_cast<int64_t>(index.size()), channels, height, width}, at::kFloat);
  const float* x = fields.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  const auto most = static_cast<float>(reach);
  parallel_for(static_cast<int64_t>(index.size()) * channels, [&](int64_t task) {
    const int64_t place = index[static_cast<size_t>(task / channels)] * channels + task % channels;
    const float* own = x + place * plane;
    float* distance = to + task * plane;
    std::vector<uint8_t> wet(static_cast<size_t>(plane));
    for (int64_t k = 0; k < plane; ++k) wet[static_cast<size_t>(k)] = static_cast<double>(own[k]) >= threshold;
    const NearestWet inside(wet, height, width);
    std::vector<NearestWet::Site> nearest;
    for (int64_t j = 0; j < height; ++j) {
      inside.row(j, nearest);
      for (int64_t i = 0; i < width; ++i) {
        const NearestWet::Site& s = nearest[static_cast<size_t>(i)];
        distance[j * width + i] = s.row < 0 ? most * most
                                            : static_cast<float>(square(static_cast<double>(s.row - j)) +
                                                                 square(static_cast<double>(s.column - i)));
      }
    }
    if (outside.there()) {
      const auto* end = outside.end.const_data_ptr<int64_t>();
      const int64_t first = place > 0 ? end[place - 1] : 0;
      lower_by_sites(outside.site.const_data_ptr<float>() + 2 * first, end[place] - first, height, width, distance);
    }
    for (int64_t k = 0; k < plane; ++k) distance[k] = std::min(most, std::sqrt(distance[k]));
  });
  return out;
}

}  // namespace htfm
