#include "htfm/stat/scatter.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "htfm/base/random.h"

namespace htfm {
namespace {

at::Tensor normal(int64_t n, int64_t dim, uint64_t seed) {
  at::Tensor x = at::empty({n, dim}, at::kDouble);
  fill_normal(Key(seed), 0, n * dim, x.mutable_data_ptr<double>());
  return x;
}

// Elliptical data: the scatter of the Gaussian part comes out whatever the sizes of the points.
TEST(Scatter, OfHeavyTailedEllipticalData) {
  const at::Tensor root = at::tensor({2.0, 0.0, 0.0, 1.0, 0.5, 0.0, -30.0, 4.0, 10.0}, at::kDouble).view({3, 3});
  const at::Tensor size = normal(30000, 1, 2).abs().pow(-1);  // tail index 1
  const at::Tensor x = at::mm(normal(30000, 3, 1), root.t()).mul(size).add(at::tensor({5.0, -7.0, 100.0}, at::kDouble));
  const at::Tensor scatter = robust_scatter(x, median_centre(x)), truth = at::mm(root, root.t());
  const at::Tensor d = truth.diagonal().sqrt(), unit = d.unsqueeze(0).mul(d.unsqueeze(1));
  const at::Tensor e = scatter.diagonal().sqrt();
  // Correlations: the deviation of Tyler's estimator is near sqrt((1 + 2/dim) / n).
  EXPECT_LT(scatter.div(e.unsqueeze(0).mul(e.unsqueeze(1))).sub(truth.div(unit)).abs().max().item<double>(),
            5 * std::sqrt(1.7 / 20000));
  const at::Tensor ratio = e.div(d);
  EXPECT_LT(ratio.max().div(ratio.min()).item<double>(), 1.05);
}

TEST(Scatter, OfNormalDataIsItsCovariance) {
  const at::Tensor x = normal(20000, 5, 3).mul(2.5);
  const at::Tensor scatter = robust_scatter(x, median_centre(x));
  for (int64_t k = 0; k < 5; ++k) EXPECT_NEAR(scatter[k][k].item<double>(), 6.25, 6.25 * 0.05);
}

TEST(Scatter, FewRowsAndDependentColumnsStayPositiveDefinite) {
  const at::Tensor x = normal(10, 1, 4).expand({10, 6}).contiguous();
  EXPECT_TRUE(robust_scatter(x, median_centre(x)).isfinite().all().item<bool>());
}

}  // namespace
}  // namespace htfm
