// Signatures of many paths at once, one path in each lane of a vector.
#pragma once

#include <cstdint>

#include "htfm/base/dispatch.h"

namespace htfm {

/// The Lyndon words to read off a tensor logarithm (see LyndonBasis); `row_begin` null leaves the coefficients of the
/// words, otherwise they are changed to coordinates of the brackets.
struct LogPlan {
  int64_t words;
  const int32_t *length, *place;
  const int32_t *row_begin, *column, *value;
};

/// One batch: n x points x channels in, n x columns out, rows contiguous.
template <class T>
struct SignatureJob {
  const T* paths;
  int64_t n, points;
  int channels;      // as stored
  const T* times;    // where not null, put in front as one more channel
  int moves, width;  // the convention (see Moves); sources count the time channel
  const int* source;
  const bool* waits;
  int depth;
  const LogPlan* plan;  // null for the signature itself
  T* out;
  int64_t columns;
};

/// c = a b in the truncated tensor algebra, for n pairs of signatures.
template <class T>
struct ChenJob {
  const T *left, *right;
  T* out;
  int64_t n;
  int channels, depth;
};

struct SignatureKernels {
  int lanes_f32, lanes_f64;
  /// Bytes of work space, aligned to 64, for one block of paths.
  int64_t (*work_bytes)(int width, int depth, int64_t plan_words);
  /// Paths first, first + 1, ...: as many as there are lanes, or fewer at the end.
  void (*block_f32)(const SignatureJob<float>& job, int64_t first, void* work);
  void (*block_f64)(const SignatureJob<double>& job, int64_t first, void* work);
  void (*chen_f32)(const ChenJob<float>& job, int64_t begin, int64_t end);
  void (*chen_f64)(const ChenJob<double>& job, int64_t begin, int64_t end);
};
HTFM_DECLARE_KERNELS(SignatureKernels)

}  // namespace htfm
