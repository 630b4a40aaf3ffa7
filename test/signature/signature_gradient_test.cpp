// The gradients of signatures and logsignatures against finite differences.
#include "htfm/signature/signature_gradient.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/random.h"

namespace htfm {
namespace {

at::Tensor normals(const char* name, at::IntArrayRef shape) {
  at::Tensor out = at::empty(shape, at::kDouble);
  fill_normal(Key(7).child(name), 0, out.numel(), out.mutable_data_ptr<double>());
  return out;
}

// The largest difference between the gradient of <weights, value(paths)> and its central differences.
template <class Value, class Gradient>
double worst_difference(at::Tensor paths, const Value& value, const Gradient& gradient) {
  const at::Tensor weights = normals("weights", value(paths).sizes()), found = gradient(paths, weights);
  double* x = paths.mutable_data_ptr<double>();
  const double* g = found.template const_data_ptr<double>();
  const double step = 1e-5;
  double worst = 0;
  for (int64_t i = 0; i < paths.numel(); ++i) {
    const double own = x[i];
    const auto at_value = [&](double v) {
      x[i] = v;
      return value(paths).mul(weights).sum().template item<double>();
    };
    const double slope = (at_value(own + step) - at_value(own - step)) / (2 * step);
    x[i] = own;
    worst = std::max(worst, std::abs(slope - g[i]) / (1 + std::abs(slope)));
  }
  return worst;
}

TEST(SignatureGradient, EqualsFiniteDifferences) {
  for (const Convention convention : {Convention::linear, Convention::jump, Convention::leadlag, Convention::constant})
    for (const int depth : {1, 3, 4}) {
      const PathOptions options{.convention = convention, .augment_time = true, .times = {}};
      const at::Tensor paths = normals("paths", {2, 5, 2});
      EXPECT_LT(worst_difference(
                    paths.clone(), [&](const at::Tensor& p) { return signature(p, depth, options); },
                    [&](const at::Tensor& p, const at::Tensor& w) { return signature_gradient(p, depth, w, options); }),
                1e-7)
          << convention_name(convention) << ", depth " << depth;
      for (const LogBasis basis : {LogBasis::words, LogBasis::brackets})
        EXPECT_LT(worst_difference(
                      paths.clone(), [&](const at::Tensor& p) { return logsignature(p, depth, basis, options); },
                      [&](const at::Tensor& p, const at::Tensor& w) {
                        return logsignature_gradient(p, depth, basis, w, options);
                      }),
                  1e-7)
            << convention_name(convention) << ", depth " << depth;
    }
}

TEST(SignatureGradient, KeepsShapeAndType) {
  const at::Tensor flat = normals("flat", {3, 9}).to(at::kFloat);
  const PathOptions options{.augment_time = true, .times = {}};
  const at::Tensor gradient = signature_gradient(flat, 2, at::zeros({3, 6}, at::kFloat), options);
  EXPECT_EQ(gradient.sizes(), flat.sizes());
  EXPECT_EQ(gradient.scalar_type(), at::kFloat);
  EXPECT_THROW(signature_gradient(flat, 2, at::zeros({3, 5}, at::kFloat), options), InputError);
}

}  // namespace
}  // namespace htfm
