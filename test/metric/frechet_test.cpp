// The Frechet distance against features' singular values (golden/make_features.py), and its laws.
#include "htfm/metric/frechet.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/zeros.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "htfm/base/parallel.h"
#include "htfm/base/random.h"
#include "htfm/io/npy.h"
#include "htfm/metric/product.h"
#include "test/data.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using test::input_error;

at::Tensor normal(Key key, int64_t n, int64_t dim) {
  at::Tensor x = at::empty({n, dim}, at::kDouble);
  fill_normal(key, 0, n * dim, x.mutable_data_ptr<double>());
  return x;
}

FeatureMoments moments_of(const at::Tensor& x, int64_t batch = 1 << 20) {
  MomentCollector out;
  for (int64_t i = 0; i < x.size(0); i += batch) out.add(x.narrow(0, i, std::min(batch, x.size(0) - i)));
  return out.moments();
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return frechet_distance(moments_of(a), moments_of(b)).value;
}

class FrechetGolden : public testing::TestWithParam<const char*> {};

TEST_P(FrechetGolden, AgreesWithSingularValues) {
  const std::string folder = test::golden_file("metric/");
  std::ifstream file(folder + "frechet.json");
  const nlohmann::json expected = nlohmann::json::parse(file).at(GetParam());
  const std::string name = folder + "frechet_" + GetParam();
  const at::Tensor real = read_npy(name + "_real.npy"), fake = read_npy(name + "_fake.npy");
  for (const int64_t batch : {7, 100, 1000}) {
    const FeatureMoments a = moments_of(real, batch), b = moments_of(fake, batch);
    // A root of an eigenvalue that is rounding, 1e-16 of the largest, weighs 1e-8 of its root.
    EXPECT_NEAR(root_trace(a, b), expected.at("root").get<double>(), 1e-8 * expected.at("root").get<double>()) << batch;
    EXPECT_NEAR(root_trace(b, a), expected.at("root").get<double>(), 1e-8 * expected.at("root").get<double>()) << batch;
    EXPECT_NEAR(frechet_distance(a, b).value, expected.at("distance").get<double>(), 1e-6) << batch;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, FrechetGolden,
                         testing::Values("full", "dead", "few_real", "few_fake", "few_both", "far"),
                         [](const auto& set) { return std::string(set.param); });

// Diagonal covariances commute: the distance is |m_a - m_b|^2 + sum (sigma_a - sigma_b)^2.
TEST(Frechet, ClosedFormOfDiagonalCovariances) {
  constexpr int64_t kDim = 40;
  FeatureMoments a{1000, at::empty({kDim}, at::kDouble), at::zeros({kDim, kDim}, at::kDouble)}, b = a;
  b.mean = a.mean.clone(), b.covariance = a.covariance.clone();
  double expected = 0;
  for (int64_t k = 0; k < kDim; ++k) {
    const double sa = 0.1 + 0.05 * static_cast<double>(k), sb = 2.0 / static_cast<double>(k + 1),
                 m = 0.01 * static_cast<double>(k);
    a.mean.mutable_data_ptr<double>()[k] = m, b.mean.mutable_data_ptr<double>()[k] = -m;
    a.covariance.mutable_data_ptr<double>()[k * kDim + k] = sa * sa,
                                                       b.covariance.mutable_data_ptr<double>()[k * kDim + k] = sb * sb;
    expected += 4 * m * m + (sa - sb) * (sa - sb);
  }
  const FrechetDistance d = frechet_distance(a, b);
  EXPECT_NEAR(d.value, expected, 1e-12 * expected);
  EXPECT_NEAR(d.mean + d.covariance, d.value, 1e-12);
}

TEST(Frechet, IsZeroForOneSetAndScalesLikeASquare) {
  const at::Tensor x = normal(Key(1), 600, 50), y = normal(Key(2), 500, 50).mul(1.5);
  EXPECT_NEAR(distance(x, x), 0, 1e-9);
  const double d = distance(x, y);
  EXPECT_NEAR(distance(y, x), d, 1e-9);
  EXPECT_NEAR(distance(x.mul(100), y.mul(100)), 1e4 * d, 1e-6 * d);
  EXPECT_NEAR(distance(x.add(3), y.add(3)), d, 1e-9);
  EXPECT_NEAR(distance(x.add(3), x), 9 * 50, 1e-8);
}

TEST(Moments, AreThoseOfThePlainFormula) {
  const at::Tensor x = normal(Key(3), 1000, 300).add(10);
  const FeatureMoments m = moments_of(x, 333);
  const at::Tensor mean = x.mean(0), centred = x.sub(mean);
  EXPECT_EQ(m.n, 1000);
  EXPECT_LT(m.mean.sub(mean).abs().max().item<double>(), 1e-13);
  EXPECT_LT(m.covariance.sub(centred.t().mm(centred).div(999)).abs().max().item<double>(), 1e-13);
  EXPECT_TRUE(m.covariance.equal(m.covariance.t()));
  EXPECT_TRUE(moments_of(x.to(at::kFloat)).mean.sub(mean).abs().max().item<double>() < 1e-6);
}

TEST(Moments, SameBitsForAnyNumberOfThreads) {
  const at::Tensor x = normal(Key(4), 2100, 600), y = normal(Key(5), 650, 600);
  double value[2];
  FeatureMoments m[2];
  for (const int k : {0, 1}) {
    set_thread_count(k == 0 ? 1 : 3);
    m[k] = moments_of(x, k == 0 ? 250 : 90);
    value[k] = frechet_distance(m[k], moments_of(y, 250)).value;
  }
  set_thread_count(0);
  EXPECT_TRUE(m[0].covariance.equal(m[1].covariance));
  EXPECT_EQ(value[0], value[1]);
}

TEST(Moments, RefuseWhatIsNoFeature) {
  MomentCollector c;
  c.add(normal(Key(1), 5, 3));
  EXPECT_MENTIONS(input_error([&] { c.add(normal(Key(1), 5, 4)); }), "expected features of dimension 3, got 4");
  at::Tensor bad = normal(Key(1), 5, 3);
  bad.mutable_data_ptr<double>()[7] = std::nan("");
  EXPECT_MENTIONS(input_error([&] { c.add(bad, "fake"); }), "[fake] expected finite features, got nan or inf in row 8");
  EXPECT_EQ(c.count(), 5) << "a refused batch leaves nothing behind";
  EXPECT_MENTIONS(input_error([&] { MomentCollector().moments(); }), "at least two features, got 0");
  EXPECT_MENTIONS(input_error([&] { frechet_distance(c.moments(), moments_of(normal(Key(1), 5, 4))); }),
                  "of one dimension, got 3 and 4");
}

TEST(Product, TilesAndCongruenceAreTheWholeProduct) {
  const at::Tensor a = normal(Key(6), 530, 70), b = normal(Key(7), 70, 300);
  at::Tensor out = at::full({530, 300}, 1.0, at::kDouble);
  add_product(out, a, b);
  EXPECT_LT(out.sub(a.mm(b).add(1)).abs().max().item<double>(), 1e-12);
  const at::Tensor l = normal(Key(8), 530, 530).tril(), s = a.mm(a.t());
  const at::Tensor whole = l.t().mm(s).mm(l);
  EXPECT_LT(congruence(l, s).sub(whole).tril().abs().max().item<double>(), 1e-11 * whole.abs().max().item<double>());
}

}  // namespace
}  // namespace htfm
