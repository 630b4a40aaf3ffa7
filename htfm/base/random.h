// Explicit random keys: every array of random numbers is a function of (key, index), so results do not depend on the
// number of threads, and a run is resumed by naming its step.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// Philox4x32-10 (Salmon et al. 2011): four random words for a 64-bit key and a 128-bit counter.
std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter, uint64_t stream = 0);

/// Names one stream of random numbers. A value: the same key always gives the same numbers.
class Key {
 public:
  explicit Key(uint64_t seed) : value_(seed) {}
  /// An independent stream, named by a number (step, row) or by a word ("order", "clock").
  Key child(uint64_t tag) const;
  Key child(std::string_view name) const;
  uint64_t value() const { return value_; }

  /// Element `index` of the stream: 64 random bits, or a uniform number in the open interval (0,1) with 52 bits.
  uint64_t bits(uint64_t index) const;
  double uniform(uint64_t index) const;
  /// A whole number in 0..bound-1.
  uint64_t below(uint64_t bound, uint64_t index) const;

 private:
  uint64_t value_;
};

/// Fill out[0..n) with elements first..first+n of the stream. In parallel where n is large.
void fill_uniform(Key key, uint64_t first, int64_t n, double* out);
void fill_normal(Key key, uint64_t first, int64_t n, float* out);
void fill_normal(Key key, uint64_t first, int64_t n, double* out);
/// Positive rho-stable draws by Kanter's formula, scaled: E exp(-s S) = exp(-(scale s)^rho), 0 < rho < 1; rho = 1 gives
/// scale.
void fill_positive_stable(Key key, double rho, double scale, uint64_t first, int64_t n, double* out);
/// Gamma(shape, 1) draws (Marsaglia and Tsang), returned as logarithms: small shapes underflow otherwise.
void fill_log_gamma_draw(Key key, double shape, uint64_t first, int64_t n, double* out);

/// A random permutation of 0..n-1.
void fill_permutation(Key key, int64_t n, int64_t* out);

}  // namespace htfm
