// The cosine transform of a field, which goes on beyond its edges as its mirror image: no jump there makes waves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace htfm {

class CosineWaves {
 public:
  static constexpr int64_t kLongestSide = 1024;  ///< the work grows with the cube of it

  /// InputError for sides that are too short or too long.
  CosineWaves(int64_t height, int64_t width);

  size_t points() const { return static_cast<size_t>(height_ * width_); }
  /// Waves across the shorter side, of each entry of a transform; 0 is the mean.
  double wave_number(size_t entry) const;
  /// The orthonormal transform of a field, in place, and back.
  void forward(std::span<double> field) const;
  void backward(std::span<double> waves) const;

 private:
  // One transform along the columns, then one along the rows; a matrix and its transpose for each.
  void transform(const std::vector<double>& left, const std::vector<double>& right, std::span<double> field) const;
  int64_t height_, width_;
  std::vector<double> down_, down_back_, across_, across_back_;
};

}  // namespace htfm
