#include "htfm/coupling/coupling.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "htfm/base/error.h"
#include "htfm/clock/feature.h"

namespace htfm {
namespace {

constexpr int64_t kDim = 3, kBatch = 500;

// Heavy-tailed data off the origin, with ties.
at::Tensor make_data(int64_t n) {
  at::Tensor x = at::empty({n, kDim}, at::kFloat);
  float* p = x.mutable_data_ptr<float>();
  fill_normal(Key(1), 0, n * kDim, p);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < kDim; ++k)
      p[i * kDim + k] = 5 + p[i * kDim + k] * static_cast<float>(1 / Key(2).uniform(i));
  for (int64_t i = 0; i < n / 50; ++i) std::copy_n(p, kDim, p + (n - 1 - i) * kDim);
  return x;
}

double kolmogorov(std::vector<double> a, std::vector<double> b) {
  std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());
  double most = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double v = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == v) ++i;
    while (j < b.size() && b[j] == v) ++j;
    most = std::max(most, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                   static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return most;
}

// P(sqrt(m/2) D > 2.2) is near 1e-4 for two samples of m.
double bound(size_t m) { return 2.2 * std::sqrt(2.0 / static_cast<double>(m)); }

struct Paired {
  std::vector<double> area, radius, first, size, feature;
  std::vector<std::array<double, kDim>> source, data;
};

struct Setting {
  ClockSpec clock;
  std::string kind;
};

class EveryCoupling : public testing::TestWithParam<std::string> {
 protected:
  static Paired draw(const ClockSpec& clock_spec, const CouplingSpec& spec, const at::Tensor& data, int epochs) {
    const auto clock = make_clock(clock_spec);
    FeatureSpec features;
    features.area = true;
    const PathFeature feature(*clock, features);
    const SourceSampler source(*clock, feature);
    const MagnitudeLaw sizes(make_size(spec.size, data, {}), data);
    const auto coupling = make_coupling({spec, source, kDim, Key(7)});
    const int64_t n = data.size(0), batch = kBatch;
    Paired out;
    std::vector<int64_t> order(static_cast<size_t>(n));
    for (int epoch = 0; epoch < epochs; ++epoch) {
      fill_permutation(Key(3).child(static_cast<uint64_t>(epoch)), n, order.data());
      for (int64_t at = 0; at < n; at += batch) {
        const std::span<const int64_t> index(order.data() + at, static_cast<size_t>(batch));
        DataBatch rows{at::empty({batch, kDim}, at::kFloat), index, epoch * n + at};
        for (int64_t i = 0; i < batch; ++i)
          std::copy_n(data.const_data_ptr<float>() + index[i] * kDim, kDim,
                      rows.rows.mutable_data_ptr<float>() + i * kDim);
        const Key key = Key(4).child(static_cast<uint64_t>(rows.position));
        const SourceBatch s = coupling->pair(key, rows, sizes.levels(key.child("level"), rows));
        for (int64_t i = 0; i < batch; ++i) {
          const double* x = s.source.const_data_ptr<double>() + i * kDim;
          out.area.push_back(s.area.const_data_ptr<double>()[i]);
          out.radius.push_back(std::hypot(x[0], x[1], x[2]));
          out.first.push_back(x[0]);
          const float* row = rows.rows.const_data_ptr<float>() + i * kDim;
          out.source.push_back({x[0], x[1], x[2]}), out.data.push_back({row[0], row[1], row[2]});
          out.size.push_back(sizes.size()(rows.rows.const_data_ptr<float>() + i * kDim, index[i]));
          if (s.feature.defined())
            out.feature.push_back(s.feature.const_data_ptr<double>()[i * s.feature.size(1) + s.feature.size(1) - 1]);
        }
      }
    }
    return out;
  }
};

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto ranks = [](const std::vector<double>& v) {
    const auto order = ascending_order(v);
    std::vector<double> r(v.size());
    for (size_t k = 0; k < v.size(); ++k) r[order[k]] = static_cast<double>(k) / static_cast<double>(v.size()) - 0.5;
    return r;
  };
  const auto x = ranks(a), y = ranks(b);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return 12 * sum / static_cast<double>(x.size());
}

// The source of the pairs has the law of the source drawn alone, and clock and source still belong together; the data
// are every row once an epoch by construction of the batches.
TEST_P(EveryCoupling, KeepsTheMarginals) {
  const at::Tensor data = make_data(8000);
  for (const ClockSpec& clock :
       {ClockSpec{"inverse-gamma", {{"nu", 1.5}}, 20}, ClockSpec{"stable", {{"alpha", 1.5}}, 20}}) {
    CouplingSpec spec;
    spec.kind = GetParam();
    spec.pool = 8192;
    spec.group = 8;
    const int64_t clocks = spec.kind == "ot-given-clock" ? 16000 / spec.group : 16000;  // that are independent
    const Paired ours = draw(clock, spec, data, 2), plain = draw(clock, {}, data, 2);
    EXPECT_LT(kolmogorov(ours.area, plain.area), bound(clocks)) << clock.family;
    EXPECT_LT(kolmogorov(ours.radius, plain.radius), bound(clocks)) << clock.family;
    EXPECT_LT(kolmogorov(ours.first, plain.first), bound(clocks)) << clock.family;
    std::vector<double> a, b;  // |x_0| given the clock: a chi law, whatever the clock
    for (size_t i = 0; i < ours.area.size(); ++i) a.push_back(ours.radius[i] / std::sqrt(2 * ours.area[i]));
    for (size_t i = 0; i < plain.area.size(); ++i) b.push_back(plain.radius[i] / std::sqrt(2 * plain.area[i]));
    EXPECT_LT(kolmogorov(a, b), bound(16000)) << clock.family;
    EXPECT_EQ(std::multiset<double>(ours.size.begin(), ours.size.end()),
              std::multiset<double>(plain.size.begin(), plain.size.end()));
    // The feature belongs to the same clock as the area.
    for (size_t i = 0; i < ours.feature.size(); i += 97)
      EXPECT_NEAR(ours.feature[i], std::log((clock.family == "stable" ? 1 : 2) * ours.area[i]), 1e-9);
  }
}

double squared_distance(const std::array<double, kDim>& a, const std::array<double, kDim>& b) {
  double square = 0;
  for (size_t k = 0; k < a.size(); ++k) square += (a[k] - b[k]) * (a[k] - b[k]);
  return square;
}

TEST_P(EveryCoupling, OrdersWhatItPromises) {
  const at::Tensor data = make_data(8000);
  CouplingSpec spec;
  spec.kind = GetParam();
  spec.pool = 8192;
  spec.group = 8;
  const Paired p = draw({"inverse-gamma", {{"nu", 1.5}}, 20}, spec, data, 1);
  const double by_radius = rank_correlation(p.radius, p.size), by_clock = rank_correlation(p.area, p.size);
  if (spec.kind == "independent") {
    EXPECT_LT(std::abs(by_radius), 0.05);
  } else if (spec.kind == "radial" || spec.kind == "pool") {
    EXPECT_GT(by_radius, 0.99);
  } else if (spec.kind == "clock") {
    EXPECT_GT(by_clock, 0.99);
  } else if (spec.kind == "ot") {  // no two rows of a batch would be nearer to their sources with these exchanged
    for (size_t i = 0; i < kBatch; ++i)
      for (size_t j = 0; j < i; ++j) {
        const double kept = squared_distance(p.source[i], p.data[i]) + squared_distance(p.source[j], p.data[j]),
                     exchanged = squared_distance(p.source[i], p.data[j]) + squared_distance(p.source[j], p.data[i]);
        ASSERT_LE(kept, exchanged * (1 + 1e-9)) << i << " " << j;
      }
  } else if (spec.kind == "ot-given-clock") {  // the clock knows nothing of the data's size
    EXPECT_LT(std::abs(by_clock), 4 / std::sqrt(8000.0 / 8));
  } else {
    FAIL() << "no promise is known of the coupling " << spec.kind;
  }
}

// A permutation keeps the marginals; the entropic plan must be one too, and cost less than chance.
TEST(Transport, EntropicKeepsTheBatch) {
  const at::Tensor data = make_data(1000);
  const auto clock = make_clock({"inverse-gamma", {{"nu", 3.0}}, 4});
  const PathFeature feature(*clock, {});
  const SourceSampler source(*clock, feature);
  CouplingSpec spec;
  spec.kind = "ot";
  spec.ot_power = 1;
  const auto cost = [&](const CouplingSpec& own) {
    const SourceBatch s =
        make_coupling({own, source, kDim, Key(7)})->pair(Key(1), {data, {}, 0}, std::vector<double>(1000, 0.5));
    double sum = 0;
    for (int64_t i = 0; i < 1000; ++i) {
      double square = 0;
      for (int64_t k = 0; k < kDim; ++k)
        square +=
            std::pow(s.source.const_data_ptr<double>()[i * kDim + k] - data.const_data_ptr<float>()[i * kDim + k], 2);
      sum += std::sqrt(square);
    }
    return sum;
  };
  const double exact = cost(spec), chance = cost({});
  spec.ot_entropy = 0.05;
  const double entropic = cost(spec);
  EXPECT_LT(exact, chance);
  EXPECT_LT(entropic, (exact + chance) / 2);
  EXPECT_GE(entropic, exact * (1 - 1e-9));
}

std::vector<std::string> kinds() {
  std::vector<std::string> out;
  for (const CouplingInfo& c : couplings()) out.push_back(c.name);
  return out;
}
INSTANTIATE_TEST_SUITE_P(All, EveryCoupling, testing::ValuesIn(kinds()), [](const auto& one) {
  std::string name = one.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Over an epoch the levels are uniform, and larger rows have larger levels; ties share theirs.
TEST(MagnitudeLaw, LevelsAreUniform) {
  const at::Tensor data = make_data(5000);
  const MagnitudeLaw law(make_size({}, data, {}), data);
  std::vector<double> u = law.levels(Key(1), {data, {}, 0});
  std::sort(u.begin(), u.end());
  for (size_t i = 0; i < u.size(); ++i) EXPECT_NEAR(u[i], (static_cast<double>(i) + 0.5) / 5000, 0.012);
}

// Rows in the tail are stretched to the tail law's quantile at their level, along their direction; the others stay.
TEST(MagnitudeLaw, ParetoTail) {
  at::Tensor x = at::empty({20000, 2}, at::kFloat);
  float* p = x.mutable_data_ptr<float>();
  for (int64_t i = 0; i < 20000; ++i) {
    const double r = std::pow(Key(8).uniform(i), -1 / 2.0), angle = 2 * M_PI * Key(9).uniform(i);
    p[2 * i] = static_cast<float>(r * std::cos(angle)), p[2 * i + 1] = static_cast<float>(r * std::sin(angle));
  }
  MagnitudeLaw law(make_size({}, x, {}), x);
  for (const double expected : {2.0, 9.0}) {  // the clock's index where the data allow it, their own otherwise
    law.fit_tail(expected);
    ASSERT_LT(law.tail().from, 1);
    EXPECT_NEAR(1 / law.tail().fit.shape, 2, expected == 2 ? 1e-9 : 0.6);
    // Four standard errors of a quantile that is extrapolated by a factor of k / (n p), k the exceedances: with a known
    // shape xi that of the log of the scale, whose Fisher information is 1 / (1 + 2 xi) for each; otherwise that of the
    // shape comes on top.
    const double k = static_cast<double>(law.tail().fit.exceedances),
                 error = 4 * (expected == 2 ? std::sqrt(2.0) : 0.75 * std::log(k / 0.02)) / std::sqrt(k);
    EXPECT_NEAR(std::log(law.quantile(1 - 1e-6) / 1000), 0, error) << law.tail().explanation;
    const DataBatch all{x, {}, 0};
    const std::vector<double> level = law.levels(Key(1), all);
    const at::Tensor y = law.stretch(all, level);
    for (int64_t i = 0; i < 20000; ++i) {
      const float *a = x.const_data_ptr<float>() + 2 * i, *b = y.const_data_ptr<float>() + 2 * i;
      if (level[i] <= law.tail().from) {
        ASSERT_EQ(a[0], b[0]);
      } else {
        ASSERT_NEAR(law.size()(b, i) / law.quantile(level[i]), 1, 1e-4);
      }
    }
  }
}

// Over 16 draws the errors of the extrapolated quantile average out: no rule for the threshold may shift it.
TEST(MagnitudeLaw, ParetoTailIsRightInTheMean) {
  double sum = 0, variance = 0;
  for (uint64_t draw = 0; draw < 16; ++draw) {
    at::Tensor x = at::empty({20000, 2}, at::kFloat);
    float* p = x.mutable_data_ptr<float>();
    for (int64_t i = 0; i < 20000; ++i) {
      const double r = std::pow(Key(40 + draw).uniform(i), -1 / 2.0), angle = 2 * M_PI * Key(80 + draw).uniform(i);
      p[2 * i] = static_cast<float>(r * std::cos(angle)), p[2 * i + 1] = static_cast<float>(r * std::sin(angle));
    }
    MagnitudeLaw law(make_size({}, x, {}), x);
    law.fit_tail(2);
    ASSERT_LT(law.tail().from, 1);
    sum += std::log(law.quantile(1 - 1e-6) / 1000);
    variance += 2 / static_cast<double>(law.tail().fit.exceedances);
  }
  EXPECT_NEAR(sum / 16, 0, 4 * std::sqrt(variance) / 16);
}

TEST(MagnitudeLaw, LightTailsAreLeftAlone) {
  at::Tensor x = at::empty({20000, 2}, at::kFloat);
  fill_normal(Key(5), 0, 40000, x.mutable_data_ptr<float>());
  MagnitudeLaw law(make_size({}, x, {}), x);
  law.fit_tail(INFINITY);
  EXPECT_EQ(law.stretch({x, {}, 0}, law.levels(Key(1), {x, {}, 0})).equal(x), law.tail().from >= 1);
  if (law.tail().from < 1) {
    EXPECT_LT(law.tail().fit.shape, 0.2);
  }
}

// s_d from the law of the radius equals what pairs say.
TEST(Pool, DataScaleIsThatOfItsPairs) {
  const at::Tensor data = make_data(8000);
  for (const ClockSpec& spec :
       {ClockSpec{"inverse-gamma", {{"nu", 1.5}}, 4}, ClockSpec{"stable", {{"alpha", 1.5}}, 4}}) {
    const auto clock = make_clock(spec);
    const PathFeature feature(*clock, {});
    const SourceSampler source(*clock, feature);
    const MagnitudeLaw sizes(make_size({}, data, {}), data);
    CouplingSpec coupling;
    coupling.kind = "pool";
    const auto pool = make_coupling({coupling, source, kDim, Key(7)});
    const std::optional<DataScale> known = pool->data_scale(sizes);
    ASSERT_TRUE(known);
    std::vector<double> area, distance;
    for (uint64_t round = 0; round < 16; ++round) {
      const DataBatch rows{data, {}, 0};
      const SourceBatch s = pool->pair(Key(round), rows, sizes.levels(Key(100 + round), rows));
      for (int64_t i = 0; i < 8000; ++i)
        area.push_back(s.area.const_data_ptr<double>()[i]),
            distance.push_back(sizes.size()(data.const_data_ptr<float>() + i * kDim, i));
    }
    const DataScale fitted = fit_data_scale(area, distance, kDim);
    std::sort(area.begin(), area.end());
    for (const double level : {0.05, 0.3, 0.5, 0.8, 0.95, 0.99}) {
      const double a = area[static_cast<size_t>(level * static_cast<double>(area.size()))];
      EXPECT_NEAR(std::log(known->at(a) / fitted.at(a)), 0, level > 0.97 ? 0.3 : 0.12) << spec.family << " " << level;
    }
  }
}

TEST(Size, Statistics) {
  at::Tensor x = at::empty({3, 2}, at::kFloat);
  const float values[] = {0, 0, 3, -4, -3, 4};
  std::copy_n(values, 6, x.mutable_data_ptr<float>());
  const float* row = x.const_data_ptr<float>() + 2;
  EXPECT_DOUBLE_EQ((*make_size({"radius", "", ""}, x, {}))(row, 1), 5);
  EXPECT_DOUBLE_EQ((*make_size({"maximum", "", ""}, x, {}))(row, 1), 4);
  EXPECT_DOUBLE_EQ((*make_size({"column", "loss", ""}, x, {"loss", "gain"}))(row, 1), 3);
  EXPECT_DOUBLE_EQ((*make_size({"column", "2", ""}, x, {}))(row, 1), 4);
  EXPECT_DOUBLE_EQ((*make_size([](std::span<const float> r) { return r[0] + r[1]; }, 2))(row, 1), -1);
  EXPECT_THROW(make_size({"column", "3", ""}, x, {"loss", "gain"}), InputError);
  EXPECT_THROW(make_size({"file", "", ""}, x, {}), InputError);
}

// In Mahalanobis size a point two deviations out has size two, whatever the axis.
TEST(Size, MahalanobisKnowsTheScatter) {
  at::Tensor x = at::empty({20000, 2}, at::kFloat);
  float* p = x.mutable_data_ptr<float>();
  fill_normal(Key(5), 0, 40000, p);
  for (int64_t i = 0; i < 20000; ++i) p[2 * i] *= 100;
  const auto size = make_size({"mahalanobis", "", ""}, x, {});
  const float far[] = {200, 0}, wide[] = {0, 2};
  EXPECT_NEAR((*size)(far, 0), 2, 0.1);
  EXPECT_NEAR((*size)(wide, 0), 2, 0.1);
}

}  // namespace
}  // namespace htfm
