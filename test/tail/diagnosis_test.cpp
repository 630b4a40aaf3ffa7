// Verdicts on data sets whose laws are known.
#include "htfm/tail/diagnosis.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include "htfm/base/error.h"

namespace htfm {
namespace {

/// Rows sqrt(v) z with v = exp(log_scale(i)).
template <class Scale>
at::Tensor mixture(int64_t n, int64_t dim, Key key, const Scale& scale) {
  at::Tensor rows = at::empty({n, dim}, at::kDouble);
  double* x = rows.mutable_data_ptr<double>();
  fill_normal(key.child("normal"), 0, n * dim, x);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t d = 0; d < dim; ++d) x[i * dim + d] *= scale(i);
  return rows;
}

at::Tensor student_rows(int64_t n, int64_t dim, double nu, Key key) {
  std::vector<double> g(static_cast<size_t>(n));
  fill_log_gamma_draw(key.child("gamma"), nu / 2, 0, n, g.data());
  return mixture(n, dim, key,
                 [&](int64_t i) { return std::exp(0.5 * (std::log(nu / 2) - g[static_cast<size_t>(i)])); });
}

at::Tensor normal_rows(int64_t n, int64_t dim, Key key) {
  return mixture(n, dim, key, [](int64_t) { return 1.0; });
}

TEST(Diagnosis, GaussianRowsAreLight) {
  const Diagnosis d = diagnose(normal_rows(32000, 3, Key(1)));
  EXPECT_EQ(d.verdict, TailVerdict::light);
  EXPECT_EQ(d.sides.size(), 6u);
  EXPECT_EQ(d.directions.size(), 32u);
  for (const TailReport& side : d.sides) EXPECT_NE(side.verdict, TailVerdict::heavy) << side.name << side.sentence;
  EXPECT_NE(d.sentence.find("radius: light"), std::string::npos);
}

TEST(Diagnosis, StudentRowsAreHeavyInAllDirections) {
  at::Tensor rows = student_rows(32000, 2, 2.5, Key(2));
  const at::Tensor scale = at::empty({2}, at::kDouble);
  scale.mutable_data_ptr<double>()[0] = 1000, scale.mutable_data_ptr<double>()[1] = 1e-3;
  rows = rows.mul(scale).add(7);  // units and centre do not matter
  for (const RadiusKind radius : {RadiusKind::euclidean, RadiusKind::mahalanobis}) {
    DiagnosisOptions options;
    options.radius = radius;
    const Diagnosis d = diagnose(rows, {"a", "b"}, options);
    EXPECT_EQ(d.verdict, TailVerdict::heavy);
    EXPECT_TRUE(d.radius.choice.index_interval().contains(2.5)) << d.sentence;
    EXPECT_EQ(d.sides[2].name, "b, above");
    int inside = 0;
    for (const TailReport& t : d.directions) inside += t.choice.index_interval().contains(2.5);
    EXPECT_GE(inside, 26);  // of 32, dependent
    EXPECT_LT(d.direction_indices().lower, 2.6);
    EXPECT_GT(d.direction_indices().upper, 2.4);
  }
}

TEST(Diagnosis, OneHeavyColumnIsFound) {
  at::Tensor rows = normal_rows(20000, 2, Key(3));
  std::vector<double> u(20000);
  fill_uniform(Key(4), 0, 20000, u.data());
  // Pareto of index 3 above, nothing below.
  for (int64_t i = 0; i < 20000; ++i)
    rows.mutable_data_ptr<double>()[2 * i + 1] = std::pow(u[static_cast<size_t>(i)], -1 / 3.0);
  const Diagnosis d = diagnose(rows, {"light", "heavy"});
  EXPECT_EQ(d.verdict, TailVerdict::heavy);
  EXPECT_EQ(d.sides[0].verdict, TailVerdict::light);
  EXPECT_EQ(d.sides[2].verdict, TailVerdict::heavy);
  EXPECT_TRUE(d.sides[2].choice.index_interval().contains(3)) << d.sides[2].sentence;
  EXPECT_EQ(d.sides[3].verdict, TailVerdict::light) << d.sides[3].sentence;
  // Return levels in the data's own units: exceeded once in 10^5 draws at 10^(5/3).
  EXPECT_TRUE(d.sides[2].quantile_interval(1e-5).contains(std::pow(1e5, 1 / 3.0)));
  EXPECT_TRUE(d.sides[2].quantile_interval(1e-5).contains(d.sides[2].quantile(1e-5)));
}

TEST(Diagnosis, SmallSamplesAreNotJudged) {
  const Diagnosis d = diagnose(student_rows(60, 1, 4, Key(5)));
  EXPECT_EQ(d.verdict, TailVerdict::unclear);
  EXPECT_NE(d.sentence.find("too small to tell"), std::string::npos);
  EXPECT_NE(d.sentence.find("would tell"), std::string::npos);
  EXPECT_EQ(diagnose(normal_rows(10, 2, Key(6))).verdict, TailVerdict::unclear);
  EXPECT_EQ(diagnose(normal_rows(1, 1, Key(6))).verdict, TailVerdict::unclear);
}

TEST(Diagnosis, ConstantColumnsAreLeftOut) {
  at::Tensor rows = student_rows(5000, 2, 2, Key(7));
  for (int64_t i = 0; i < 5000; ++i) rows.mutable_data_ptr<double>()[2 * i] = 3;
  const Diagnosis d = diagnose(rows, {"c", "x"});
  EXPECT_EQ(d.constant, std::vector<std::string>{"c"});
  EXPECT_EQ(d.verdict, TailVerdict::heavy);
  EXPECT_EQ(d.sides[0].verdict, TailVerdict::unclear);
  EXPECT_EQ(diagnose(at::empty({100, 2}, at::kDouble).fill_(1)).verdict, TailVerdict::unclear);
}

TEST(Diagnosis, ManyEqualValuesDoNotBreakIt) {
  // Nine rows of ten are zero, as in a table of losses.
  at::Tensor rows = student_rows(20000, 1, 2, Key(8));
  for (int64_t i = 0; i < 20000; ++i)
    if (i % 10) rows.mutable_data_ptr<double>()[i] = 0;
  const Diagnosis d = diagnose(rows);
  EXPECT_EQ(d.verdict, TailVerdict::heavy) << d.sentence;
  EXPECT_TRUE(d.radius.choice.index_interval().contains(2)) << d.sentence;
}

TEST(Diagnosis, BadInputIsRefused) {
  at::Tensor rows = normal_rows(100, 2, Key(9));
  EXPECT_THROW(diagnose(rows, {"a"}), InputError);
  rows.mutable_data_ptr<double>()[5] = NAN;
  EXPECT_THROW(diagnose(rows), InputError);
}

}  // namespace
}  // namespace htfm
