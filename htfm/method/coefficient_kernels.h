// The coefficients of many training pairs at once, behind htfm/method/flow_matching.h.
#pragma once

#include <cstdint>

#include "htfm/base/dispatch.h"

namespace htfm {

/// Rows as columns: what is known of each, and what its pair is mixed with.
struct CoefficientRows {
  static constexpr int64_t kMost = 128;
  double alpha[kMost], beta[kMost], dalpha[kMost], dbeta[kMost], data_scale[kMost], source_scale[kMost];
  double data_in[kMost], source_in[kMost], data_target[kMost], source_target[kMost];
};

struct CoefficientKernels {
  /// Of all rows, those that nobody asked for too.
  void (*precondition)(CoefficientRows& rows);
};
HTFM_DECLARE_KERNELS(CoefficientKernels)

}  // namespace htfm
