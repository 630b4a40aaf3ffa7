// Sources whose covariance given the clock is 2A Sigma: moments and characteristic functions, and Sigma as it is
// fitted.
#include <ATen/ops/diag.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <ATen/ops/mm.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/method/flow_matching.h"

namespace htfm {
namespace {

using Complex = std::complex<double>;

at::Tensor matrix_of(int64_t dim, const std::vector<double>& values) {
  at::Tensor out = at::empty({dim, dim}, at::kDouble);
  std::copy(values.begin(), values.end(), out.mutable_data_ptr<double>());
  return out;
}

double entry(const at::Tensor& m, int64_t i, int64_t j) { return m.const_data_ptr<double>()[i * m.size(1) + j]; }

// Of trace 3.
at::Tensor truth() { return matrix_of(3, {1.5, 0.6, -0.3, 0.6, 1.0, 0.2, -0.3, 0.2, 0.5}); }

// n rows of a Student-t law with freedom 1.5, which has no variance, and this scatter.
at::Tensor heavy_rows(const at::Tensor& scatter, int64_t n) {
  const auto clock = make_clock({"inverse-gamma", {{"nu", 1.5}}, 1});
  at::Tensor x = sample_source(Key(4), clock->sample(Key(5), {.count = n, .paths = false}).area, scatter.size(0));
  SourceCovariance::full(scatter).apply(x);
  return x;
}

std::vector<int64_t> all(int64_t n) {
  std::vector<int64_t> index(static_cast<size_t>(n));
  for (size_t i = 0; i < index.size(); ++i) index[i] = static_cast<int64_t>(i);
  return index;
}

TEST(SourceCovariance, FullOneIsTheShapeOfHeavyRows) {
  const int64_t n = 20000;
  const at::Tensor fitted = SourceCovariance::fit({"full"}, heavy_rows(truth().mul(7), n).to(at::kFloat)).matrix();
  EXPECT_NEAR(fitted.trace().item<double>(), 3, 1e-12);
  // Tyler's estimate has (1 + 2/d) / n times the covariance of a normal law's scatter matrix; that of the trace is left
  // in.
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 3; ++j) {
      const double s = entry(truth(), i, j), variance = entry(truth(), i, i) * entry(truth(), j, j) + s * s;
      EXPECT_NEAR(entry(fitted, i, j), s, 4 * std::sqrt(5.0 / 3 * variance / static_cast<double>(n)));
    }
}

// A matrix that is a diagonal and two factors is found again, and its root needs no other noise than z.
TEST(SourceCovariance, LowRankIsExactWhereTheMatrixIs) {
  const int64_t dim = 9;
  at::Tensor u = at::empty({dim, 2}, at::kDouble), d = at::empty({dim}, at::kDouble);
  fill_normal(Key(1), 0, dim * 2, u.mutable_data_ptr<double>());
  fill_uniform(Key(2), 0, dim, d.mutable_data_ptr<double>());
  at::Tensor sigma = at::mm(u, u.t()).add(at::diag(d.add(0.5)));
  sigma = sigma.mul(static_cast<double>(dim) / sigma.trace().item<double>());
  const SourceCovariance two = SourceCovariance::low_rank(sigma, 2);
  EXPECT_LT(two.matrix().sub(sigma).abs().max().item<double>(), 1e-6);
  const at::Tensor one = SourceCovariance::low_rank(sigma, 1).matrix();
  EXPECT_NEAR(one.trace().item<double>(), static_cast<double>(dim), 1e-9);
  EXPECT_GT(one.sub(sigma).abs().max().item<double>(), 1e-2);
}

struct Drawn {
  at::Tensor x, sigma;
};

constexpr int64_t kDraws = 400'000;

Drawn draw(const SourceCovarianceSpec& covariance, const SourceMeanSpec& mean, Key key = Key(6)) {
  FlowMatchingSpec spec;
  spec.clock = {"gamma", {{"shape", 1.5}}, 20};
  spec.source = mean;
  spec.covariance = covariance;
  FlowMatching flow(spec);
  flow.fit_to_data({heavy_rows(truth(), 5000).to(at::kFloat), {}, Key(2)});
  const ClockSample clocks = flow.clock().sample(key.child("clock"), {.count = kDraws, .paths = false});
  return {flow.draw_source(key.child("source"), clocks.area, 3, 0), flow.covariance().matrix()};
}

const std::vector<SourceCovarianceSpec>& kinds() {
  static const std::vector<SourceCovarianceSpec> list{{"full", 1}, {"low-rank", 1}, {"low-rank", 2}};
  return list;
}

// E exp(i <xi, X>) = exp(i <xi, shift>) E exp(-(xi' Sigma xi / 2 - i <xi, skew>) V) with E exp(-s V) = (1 + s/k)^-k.
TEST(SourceCovariance, CharacteristicFunction) {
  const double skew[3] = {0.7, -0.4, 0.2}, shift[3] = {-0.3, 0.2, 0};
  for (const SourceCovarianceSpec& kind : kinds()) {
    const Drawn drawn = draw(kind, {"0.7,-0.4,0.2", "-0.3,0.2,0"});
    const double* p = drawn.x.const_data_ptr<double>();
    for (const auto& xi : {std::array{0.5, 0.0, 0.0}, {0.0, -1.0, 0.5}, {1.0, 1.0, 1.0}, {-1.0, 0.5, 2.0}}) {
      double quadratic = 0, along = 0, start = 0;
      for (int64_t i = 0; i < 3; ++i) {
        along += xi[i] * skew[i], start += xi[i] * shift[i];
        for (int64_t j = 0; j < 3; ++j) quadratic += xi[i] * entry(drawn.sigma, i, j) * xi[j];
      }
      double c = 0, s = 0, cc = 0, ss = 0;
      for (int64_t i = 0; i < kDraws; ++i) {
        const double phase = xi[0] * p[3 * i] + xi[1] * p[3 * i + 1] + xi[2] * p[3 * i + 2], co = std::cos(phase),
                     si = std::sin(phase);
        c += co, s += si, cc += co * co, ss += si * si;
      }
      const auto n = static_cast<double>(kDraws);
      c /= n, s /= n;
      const Complex law = std::exp(Complex(0, start)) * std::pow(1.0 + Complex(quadratic / 2, -along) / 1.5, -1.5);
      EXPECT_NEAR(c, law.real(), 4 * std::sqrt((cc / n - c * c) / n)) << kind.kind << kind.rank;
      EXPECT_NEAR(s, law.imag(), 4 * std::sqrt((ss / n - s * s) / n)) << kind.kind << kind.rank;
    }
  }
}

// Mean shift + skew, covariance Sigma + Var V skew skew', for V of mean 1 and variance 1 / 1.5.
TEST(SourceCovariance, Moments) {
  const double skew[3] = {0.7, -0.4, 0.2};
  for (const SourceCovarianceSpec& kind : kinds()) {
    const Drawn drawn = draw(kind, {"0.7,-0.4,0.2", ""});
    const double* p = drawn.x.const_data_ptr<double>();
    const auto n = static_cast<double>(kDraws);
    for (int64_t a = 0; a < 3; ++a)
      for (int64_t b = 0; b <= a; ++b) {
        double sum = 0, square = 0;
        for (int64_t i = 0; i < kDraws; ++i) {
          const double v = (p[3 * i + a] - skew[a]) * (p[3 * i + b] - skew[b]);
          sum += v, square += v * v;
        }
        const double mean = sum / n;
        EXPECT_NEAR(mean, entry(drawn.sigma, a, b) + skew[a] * skew[b] / 1.5,
                    4 * std::sqrt((square / n - mean * mean) / n))
            << kind.kind << kind.rank << " " << a << b;
      }
  }
}

TEST(SourceCovariance, IdentityLeavesTheBits) {
  FlowMatchingSpec spec;
  spec.clock = {"gamma", {{"shape", 1.5}}, 20};
  const FlowMatching flow(spec);
  const ClockSample clocks = flow.clock().sample(Key(6).child("clock"), {.count = kDraws, .paths = false});
  EXPECT_TRUE(draw({}, {}).x.equal(sample_source(Key(6).child("source"), clocks.area, 3)));
}

TEST(SourceCovariance, PartsAreThoseOfTheWholeForAnyNumberOfThreads) {
  for (const SourceCovarianceSpec& kind : kinds()) {
    const SourceCovariance sigma = SourceCovariance::fit(kind, heavy_rows(truth(), 3000));
    at::Tensor whole = heavy_rows(truth(), 5000), part = whole.narrow(0, 1234, 77).clone(), alone = whole.clone();
    sigma.apply(whole), sigma.apply(part);
    set_thread_count(1);
    sigma.apply(alone);
    EXPECT_TRUE(SourceCovariance::fit(kind, heavy_rows(truth(), 3000)).matrix().equal(sigma.matrix()));
    set_thread_count(0);
    EXPECT_TRUE(part.equal(whole.narrow(0, 1234, 77)));
    EXPECT_TRUE(alone.equal(whole));
  }
}

// Under every coupling, R^-1 (x_0 - m(T)) / sqrt(2A) is normal, and the source's scale is its root mean square over the
// coordinates.
TEST(SourceCovariance, PairsTakeTheCovariance) {
  const int64_t n = 4096;
  const at::Tensor data = heavy_rows(truth(), n).to(at::kFloat);
  const std::vector<int64_t> index = all(n);
  for (const char* coupling : {"independent", "radial", "clock", "pool"})
    for (const char* family : {"gamma", "inverse-gamma"}) {
      FlowMatchingSpec spec;
      spec.clock = {family, {{family == std::string("gamma") ? "shape" : "nu", 2.0}}};
      spec.source = {"1", "0.5"};
      spec.covariance = {"full"};
      spec.coupling.kind = coupling;
      spec.coupling.pool = n;
      FlowMatching flow(spec, DataScale(1));
      flow.fit_to_data({data, {}, Key(2)});
      RunningStandardiser standardiser(flow.feature().size());
      const PairPlan plan = flow.plan_pairs(Key(9), {data, index, 0}, standardiser);
      ASSERT_TRUE(plan.source.source.defined()) << coupling;  // nobody else can draw it
      std::map<std::string, at::Tensor> kept;
      flow.save_state(kept);
      const at::Tensor area = plan.source.area.unsqueeze(1), centred = plan.source.source.sub(area.mul(2)).sub(0.5);
      const at::Tensor z = at::linalg_solve_triangular(kept.at("source.covariance.root"),
                                                       centred.div(area.mul(2).sqrt()).t().contiguous(),
                                                       /*upper=*/false);
      const at::Tensor second = at::mm(z, z.t()).div(static_cast<double>(n));
      for (int64_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(z.select(0, i).mean().item<double>(), 0, 4 / std::sqrt(4096.0)) << coupling << " " << family;
        for (int64_t j = 0; j <= i; ++j)
          EXPECT_NEAR(entry(second, i, j), i == j ? 1 : 0, 4 * std::sqrt((i == j ? 2 : 1) / 4096.0))
              << coupling << " " << family;
      }
      double ratio = 0, square = 0;
      for (int64_t i = 0; i < n; ++i) {
        double own = 0;
        for (int64_t k = 0; k < 3; ++k) own += std::pow(entry(plan.source.source, i, k), 2) / 3;
        own /= std::pow(flow.scales(entry(area, i, 0)).source, 2);
        ratio += own / 4096, square += own * own / 4096;
      }
      EXPECT_NEAR(ratio, 1, 4 * std::sqrt((square - ratio * ratio) / 4096)) << coupling << " " << family;
    }
}

// What a checkpoint keeps is what is used: the matrix is not fitted anew to other rows.
TEST(SourceCovariance, KeptInTheSameBits) {
  for (const SourceCovarianceSpec& kind : kinds()) {
    FlowMatchingSpec spec;
    spec.covariance = kind;
    FlowMatching a(spec), b(spec);
    a.fit_to_data({heavy_rows(truth(), 3000).to(at::kFloat), {}, Key(2)});
    std::map<std::string, at::Tensor> kept;
    a.save_state(kept);
    b.load_state(kept, "test");
    b.fit_to_data({heavy_rows(truth().add(1), 3000).to(at::kFloat), {}, Key(2)});
    EXPECT_TRUE(a.covariance().matrix().equal(b.covariance().matrix())) << kind.kind;
    kept.clear();
    EXPECT_THROW(b.load_state(kept, "test"), InputError) << kind.kind;
  }
}

TEST(SourceCovariance, SaysWhatCannotBe) {
  const auto refusal = [](const SourceCovarianceSpec& spec, const at::Tensor& rows) -> std::string {
    try {
      SourceCovariance::fit(spec, rows);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  const at::Tensor rows = heavy_rows(truth(), 100);
  EXPECT_NE(refusal({"diagonal"}, rows).find("[source.covariance] expected one of identity, full, low-rank"),
            std::string::npos);
  EXPECT_NE(refusal({"low-rank", 3}, rows).find("[source.rank]"), std::string::npos);
  EXPECT_NE(refusal({"full"}, rows.narrow(0, 0, 1)).find("[source.covariance]"), std::string::npos);
  EXPECT_NE(refusal({"full"}, at::empty({2, 2000}, at::kFloat).zero_()).find("1024"), std::string::npos);
}

}  // namespace
}  // namespace htfm
