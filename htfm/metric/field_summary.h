// What the scores of fields need of a set, collected as the fields stream by: power sums, histograms, spectra, maxima
// and the largest values, each for blocks of neighbouring fields, so that intervals come from drawing blocks anew.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// Fields of one channel that are read part by part; `read` is called by several threads at a time.
struct FieldStream {
  int64_t n = 0, height = 0, width = 0;
  std::function<at::Tensor(int64_t begin, int64_t end)> read;  ///< (end - begin) x height x width float32
};

struct FieldSummaryOptions {
  double wet = 0.1;     ///< values of at least this are wet
  double centre = 0;    ///< of the power sums: near the mean
  int64_t blocks = 50;  ///< at the most; of neighbouring fields, as equal as can be
};

/// Largest values are kept above a floor, at most so many of a block; beyond that every second one, and so on.
inline constexpr int64_t kMostTail = int64_t{1} << 19;

struct FieldBlock {
  int64_t fields = 0, nonfinite = 0;  ///< fields looked at, and those left out
  int64_t values = 0, wet = 0;        ///< of the fields looked at
  std::array<double, 4> sums{};       ///< of the powers 1 to 4 about the centre
  std::vector<uint32_t> histogram;    ///< by field_bin
  std::vector<double> spectrum;       ///< sums over the fields of the mean power at wave numbers 1, 2, ...
  std::vector<float> maxima;          ///< one a field
  std::vector<float> tail;            ///< values above the floor, or every tail_stride-th
  int64_t tail_stride = 1;
};

struct FieldSummary {
  FieldSummaryOptions options;
  std::vector<FieldBlock> blocks;

  int64_t fields() const;
  int64_t values() const;
  int64_t nonfinite() const;
  double mean() const;
  /// The largest edge of a bin above which at least so many values lie; the lowest where there are fewer.
  float floor_above(int64_t count) const;
};

/// Bins of equal width on the logarithm of |x|, 128 to a doubling, in the order of x.
inline constexpr int64_t kFieldBins = 65536;
int64_t field_bin(float value);
/// The least value of a bin.
float field_bin_edge(int64_t bin);

/// Reads a stream once. With a floor, values above it are kept.
FieldSummary summarise_fields(const FieldStream& stream, const FieldSummaryOptions& options,
                              const float* floor = nullptr);
/// Reads it once more for the values above the floor.
void collect_tail(const FieldStream& stream, float floor, FieldSummary& summary);

/// Power of fields (m x h x w) at wave numbers 1 to min(h, w) / 2, counted in waves across the shorter side: the mean
/// over the modes of a ring, of fields less their mean under a Hann window. m x (min(h, w) / 2) float64.
at::Tensor radial_spectrum(const at::Tensor& fields);

}  // namespace htfm
