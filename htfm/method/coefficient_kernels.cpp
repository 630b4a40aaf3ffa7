// Compiled without fused multiplications (cmake/Modules.cmake): the same bits with every instruction set.
#include "htfm/method/coefficient_kernels.h"

#include "htfm/schedule/scaling.h"

namespace htfm {
namespace {

void precondition(CoefficientRows& rows) {
  for (int64_t i = 0; i < CoefficientRows::kMost; ++i) {
    const Coefficients c{rows.alpha[i], rows.beta[i], rows.dalpha[i], rows.dbeta[i]};
    const Scaling s = clock_scaling(c, rows.data_scale[i], rows.source_scale[i]);
    rows.data_in[i] = s.in * c.alpha;
    rows.source_in[i] = s.in * c.beta;
    // Given both endpoints, the affine target (eq. clock-affine-target) is the path's own derivative.
    rows.data_target[i] = (c.dalpha - s.skip * c.alpha) / s.out;
    rows.source_target[i] = (c.dbeta - s.skip * c.beta) / s.out;
  }
}

}  // namespace

HTFM_DEFINE_KERNELS(CoefficientKernels, &precondition)

}  // namespace htfm
