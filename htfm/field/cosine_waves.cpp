#include "htfm/field/cosine_waves.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "htfm/base/error.h"

namespace htfm {

namespace {

// The orthonormal cosine transform of so many points, a row for each wave: row k has k half waves.
std::vector<double> cosine_rows(int64_t size) {
  std::vector<double> out(static_cast<size_t>(size * size));
  const auto n = static_cast<double>(size);
  for (int64_t k = 0; k < size; ++k)
    for (int64_t i = 0; i < size; ++i)
      out[static_cast<size_t>(k * size + i)] =
          std::sqrt((k == 0 ? 1 : 2) / n) *
          std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) * static_cast<double>(k) / n);
  return out;
}

std::vector<double> transposed(const std::vector<double>& a, int64_t size) {
  std::vector<double> out(a.size());
  for (int64_t j = 0; j < size; ++j)
    for (int64_t i = 0; i < size; ++i) out[static_cast<size_t>(i * size + j)] = a[static_cast<size_t>(j * size + i)];
  return out;
}

// out = a b: a is rows x inner, b is inner x columns.
void product(const double* a, const double* b, int64_t rows, int64_t inner, int64_t columns, double* out) {
  std::fill_n(out, rows * columns, 0.0);
  for (int64_t j = 0; j < rows; ++j)
    for (int64_t k = 0; k < inner; ++k) {
      const double factor = a[j * inner + k];
      const double* from = b + k * columns;
      double* to = out + j * columns;
      for (int64_t i = 0; i < columns; ++i) to[i] += factor * from[i];
    }
}

}  // namespace

CosineWaves::CosineWaves(int64_t height, int64_t width) : height_(height), width_(width) {
  if (height < 2 || width < 2 || height > kLongestSide || width > kLongestSide)
    throw InputError("[spectrum] expected fields of 2 to {} points a side, got {} x {}", kLongestSide, height, width);
  down_ = cosine_rows(height), down_back_ = transposed(down_, height);
  across_ = cosine_rows(width), across_back_ = transposed(across_, width);
}

double CosineWaves::wave_number(size_t entry) const {
  const auto k = static_cast<int64_t>(entry);
  const double down = static_cast<double>(k / width_) / static_cast<double>(height_),
               across = static_cast<double>(k % width_) / static_cast<double>(width_);
  return static_cast<double>(std::min(height_, width_)) * std::hypot(down, across) / 2;
}

void CosineWaves::transform(const std::vector<double>& left, const std::vector<double>& right,
                            std::span<double> field) const {
  std::vector<double> half(field.size());
  product(left.data(), field.data(), height_, height_, width_, half.data());
  product(half.data(), right.data(), height_, width_, width_, field.data());
}

void CosineWaves::forward(std::span<double> field) const { transform(down_, across_back_, field); }

void CosineWaves::backward(std::span<double> waves) const { transform(down_back_, across_, waves); }

}  // namespace htfm
