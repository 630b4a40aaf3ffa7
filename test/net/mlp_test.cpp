// The residual MLP against PyTorch (golden files of make_mlp.py) and against its own promises.
#include "htfm/net/mlp.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "htfm/base/dispatch.h"
#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "test/golden_file.h"

namespace htfm {
namespace {

// One golden file as a network of its sizes, its input and its parameters.
class Golden : public GoldenFile {
 public:
  explicit Golden(const std::string& name) : GoldenFile("mlp_" + name) {}
  MlpOptions options() const {
    MlpOptions o;
    o.dim = size("dim"), o.feature = size("feature"), o.width = size("width"), o.blocks = size("blocks");
    o.groups = size("groups"), o.time_embedding = size("time_embedding"), o.path_embedding = size("path_embedding");
    o.film = size("film") != 0;
    if (has("linear_path")) o.linear_path = size("linear_path") != 0, o.shift_only = size("shift_only") != 0;
    return o;
  }
  NetworkInput input() const {
    const int64_t n = size("batch");
    NetworkInput in{tensor("x", {n, size("dim")}), tensor("t", {n}), {}};
    if (size("feature")) in.feature = tensor("feature", {n, size("feature")});
    return in;
  }
  std::vector<float> parameters(const Network& net) const {
    std::vector<float> buffer(static_cast<size_t>(net.layout().size()), 0.0f);
    for (const ParameterInfo& p : net.layout().list()) {
      const std::vector<float>& values = (*this)["parameter." + p.name];
      if (static_cast<int64_t>(values.size()) != p.size) throw Error("{} has another size", p.name);
      std::copy(values.begin(), values.end(), buffer.begin() + p.offset);
    }
    return buffer;
  }
  size_t gradients() const { return count("gradient."); }
};

// Mean squared error over all elements.
class RowMeanSquare final : public SampleLoss {
 public:
  RowMeanSquare(const std::vector<float>& target, int64_t dim) : target_(target), dim_(dim) {}
  double operator()(int64_t first, int64_t rows, const float* output, float* gradient) const override {
    const double scale = 1 / static_cast<double>(target_.size());
    double sum = 0;
    for (int64_t i = 0; i < rows * dim_; ++i) {
      const double d = output[i] - target_[static_cast<size_t>(first * dim_ + i)];
      gradient[i] = static_cast<float>(2 * scale * d);
      sum += scale * d * d;
    }
    return sum;
  }

 private:
  const std::vector<float>& target_;
  int64_t dim_;
};

NetworkInput random_input(const MlpOptions& o, int64_t n, uint64_t seed) {
  NetworkInput in{at::empty({n, o.dim}, at::kFloat), at::empty({n}, at::kFloat), {}};
  fill_normal(Key(seed).child("x"), 0, n * o.dim, in.x.mutable_data_ptr<float>());
  for (int64_t i = 0; i < n; ++i)
    in.t.mutable_data_ptr<float>()[i] = static_cast<float>(Key(seed).child("t").uniform(static_cast<uint64_t>(i)));
  if (o.feature) {
    in.feature = at::empty({n, o.feature}, at::kFloat);
    fill_normal(Key(seed).child("feature"), 0, n * o.feature, in.feature.mutable_data_ptr<float>());
  }
  return in;
}

// Initial values, with parameters that start at zero moved away from it.
std::vector<float> random_parameters(const Network& net, uint64_t seed) {
  std::vector<float> p(static_cast<size_t>(net.layout().size()));
  net.layout().initialise(Key(seed), p.data());
  for (const ParameterInfo& info : net.layout().list())
    if (info.bound == 0)
      for (int64_t i = 0; i < info.size; ++i)
        p[static_cast<size_t>(info.offset + i)] +=
            static_cast<float>(0.2 * Key(seed).child(info.name + "+").uniform(static_cast<uint64_t>(i)));
  return p;
}

class AgainstPyTorch : public testing::TestWithParam<std::string> {};

// float32 sums of up to a few hundred terms: PyTorch's own float32 results lie within 1e-6 of these goldens. The bound
// is relative to the largest entry of the array, since small entries are differences of large terms.
TEST_P(AgainstPyTorch, OutputLossAndEveryGradient) {
  const Golden golden(GetParam());
  const auto net = make_mlp(golden.options());
  const std::vector<float> parameters = golden.parameters(*net);
  const auto near = [](const float* got, const std::vector<float>& expected, const std::string& name) {
    double largest = 0, worst = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_TRUE(std::isfinite(got[i])) << name;
      largest = std::max<double>(largest, std::abs(expected[i]));
      worst = std::max<double>(worst, std::abs(static_cast<double>(got[i]) - expected[i]));
    }
    EXPECT_LE(worst, 5e-6 * largest) << name << " on " << isa_name();
  };
  const at::Tensor output = net->forward(parameters.data(), golden.input());
  ASSERT_EQ(output.numel(), static_cast<int64_t>(golden["output"].size()));
  near(output.const_data_ptr<float>(), golden["output"], "output");
  // and by torch's operations, as devices run it
  const at::Tensor flat = at::empty({static_cast<int64_t>(parameters.size())}, at::kFloat);
  std::copy(parameters.begin(), parameters.end(), flat.mutable_data_ptr<float>());
  near(net->forward_by_torch(flat, golden.input()).contiguous().const_data_ptr<float>(), golden["output"], "torch");

  std::vector<float> gradient(parameters.size(), NAN);
  const double loss =
      net->gradient(parameters.data(), golden.input(), RowMeanSquare(golden["target"], net->dim()), gradient.data());
  EXPECT_NEAR(loss, golden["loss"][0], 1e-6 * golden["loss"][0]);
  EXPECT_EQ(golden.gradients(), net->layout().list().size());
  for (const ParameterInfo& p : net->layout().list())
    near(gradient.data() + p.offset, golden["gradient." + p.name], p.name);
}

INSTANTIATE_TEST_SUITE_P(Mlp, AgainstPyTorch, testing::Values("feature", "plain", "film", "shift", "odd"),
                         [](const auto& p) { return p.param; });

// The instruction set is chosen once a process, so the lower ones run in processes of their own.
TEST(Mlp, EqualsPyTorchOnEveryInstructionSet) {
  if (std::getenv("HTFM_ISA")) GTEST_SKIP() << "HTFM_ISA is set";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  for (const char* isa : {"base", "v3"}) {
    const std::string command = fmt::format(
        "HTFM_ISA={} '{}' --gtest_filter='*AgainstPyTorch*' --gtest_brief=1 --gtest_output= > /dev/null", isa, self);
    EXPECT_EQ(std::system(command.c_str()), 0) << isa;
  }
}

class EveryKind : public testing::TestWithParam<MlpOptions> {};

TEST_P(EveryKind, GradientIsBitEqualForAnyNumberOfThreads) {
  const MlpOptions o = GetParam();
  const auto net = make_mlp(o);
  const std::vector<float> p = random_parameters(*net, 1);
  const int64_t n = 1057;  // several parts, the last tile not full
  const NetworkInput in = random_input(o, n, 2);
  std::vector<float> target(static_cast<size_t>(n * o.dim));
  fill_normal(Key(3), 0, n * o.dim, target.data());
  std::vector<float> first, gradient(p.size());
  at::Tensor first_output;
  double first_loss = 0;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    std::ranges::fill(gradient, NAN);
    const double loss = net->gradient(p.data(), in, RowMeanSquare(target, o.dim), gradient.data());
    const at::Tensor output = net->forward(p.data(), in);
    if (first.empty()) {
      first = gradient, first_loss = loss, first_output = output;
      continue;
    }
    EXPECT_EQ(loss, first_loss) << threads;
    EXPECT_EQ(std::memcmp(gradient.data(), first.data(), first.size() * sizeof(float)), 0) << threads;
    EXPECT_EQ(std::memcmp(output.const_data_ptr(), first_output.const_data_ptr(), output.nbytes()), 0) << threads;
  }
  set_thread_count(0);
}

// A second gradient, of other numbers and another batch size, must leave nothing behind.
TEST_P(EveryKind, CallsAreIndependent) {
  const MlpOptions o = GetParam();
  const auto net = make_mlp(o);
  const std::vector<float> p = random_parameters(*net, 1), other = random_parameters(*net, 9);
  const NetworkInput in = random_input(o, 100, 2), more = random_input(o, 300, 3);
  const std::vector<float> target(static_cast<size_t>(300 * o.dim), 0.5f);
  std::vector<float> a(p.size()), b(p.size()), c(p.size());
  net->gradient(p.data(), in, RowMeanSquare(target, o.dim), a.data());
  net->gradient(other.data(), more, RowMeanSquare(target, o.dim), b.data());
  net->gradient(p.data(), in, RowMeanSquare(target, o.dim), c.data());
  EXPECT_EQ(std::memcmp(a.data(), c.data(), a.size() * sizeof(float)), 0);
}

TEST_P(EveryKind, EvaluatorEqualsForward) {
  const MlpOptions o = GetParam();
  const auto net = make_mlp(o);
  const std::vector<float> p = random_parameters(*net, 4);
  const int64_t n = 200;
  NetworkInput in = random_input(o, n, 5);
  const auto evaluator = net->evaluator(p.data(), n, o.feature ? in.feature.const_data_ptr<float>() : nullptr);
  std::vector<float> out(static_cast<size_t>(n * o.dim));
  for (const double t : {0.0, 0.3, 1.0, 0.3}) {
    std::fill_n(in.t.mutable_data_ptr<float>(), n, static_cast<float>(t));
    fill_normal(Key(6).child(static_cast<uint64_t>(1000 * t)), 0, n * o.dim, in.x.mutable_data_ptr<float>());
    (*evaluator)(in.x.const_data_ptr<float>(), t, out.data());
    const at::Tensor expected = net->forward(p.data(), in);
    const float* y = expected.const_data_ptr<float>();
    for (size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], y[i], 1e-5 * std::max(1.0f, std::abs(y[i]))) << t;
  }
  // A time for each row.
  in = random_input(o, n, 5);
  (*evaluator)(in.x.const_data_ptr<float>(), in.t.const_data_ptr<float>(), out.data());
  const at::Tensor expected = net->forward(p.data(), in);
  const float* y = expected.const_data_ptr<float>();
  for (size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], y[i], 1e-5 * std::max(1.0f, std::abs(y[i])));
}

// Central differences of the loss along a direction that leans towards the gradient, so that the derivative is well
// above the rounding error of the float32 forward pass (about 1e-7 of the loss, times 1/step).
TEST_P(EveryKind, GradientIsTheDerivativeOfTheLoss) {
  const MlpOptions o = GetParam();
  const auto net = make_mlp(o);
  const std::vector<float> p = random_parameters(*net, 7);
  const int64_t n = 70;
  const NetworkInput in = random_input(o, n, 8);
  std::vector<float> target(static_cast<size_t>(n * o.dim));
  fill_normal(Key(9), 0, n * o.dim, target.data());
  const RowMeanSquare loss(target, o.dim);
  std::vector<float> gradient(p.size()), scratch(p.size());
  net->gradient(p.data(), in, loss, gradient.data());
  for (const ParameterInfo& info : net->layout().list()) {
    const auto at = [&](int64_t i) { return static_cast<size_t>(info.offset + i); };
    std::vector<float> direction(static_cast<size_t>(info.size));
    fill_normal(Key(10).child(info.name), 0, info.size, direction.data());
    double norm_direction = 0, norm_gradient = 0;
    for (int64_t i = 0; i < info.size; ++i) {
      norm_direction += direction[static_cast<size_t>(i)] * direction[static_cast<size_t>(i)];
      norm_gradient += gradient[at(i)] * gradient[at(i)];
    }
    norm_direction = std::sqrt(norm_direction), norm_gradient = std::sqrt(norm_gradient);
    ASSERT_GT(norm_gradient, 0) << info.name;
    double slope = 0;
    const double step = 1e-2;
    std::vector<float> plus = p, minus = p;
    for (int64_t i = 0; i < info.size; ++i) {
      const double d = 0.5 * direction[static_cast<size_t>(i)] / norm_direction + gradient[at(i)] / norm_gradient;
      slope += d * gradient[at(i)];
      plus[at(i)] += static_cast<float>(step * d), minus[at(i)] -= static_cast<float>(step * d);
    }
    const double difference =
        (net->gradient(plus.data(), in, loss, scratch.data()) - net->gradient(minus.data(), in, loss, scratch.data())) /
        (2 * step);
    EXPECT_NEAR(difference, slope, 0.01 * std::abs(slope) + 1e-4) << info.name;
  }
}

MlpOptions kind(int64_t dim, int64_t feature, bool film, int64_t width, int64_t groups) {
  MlpOptions o;
  o.dim = dim, o.feature = feature, o.film = film, o.width = width, o.groups = groups;
  return o;
}
INSTANTIATE_TEST_SUITE_P(Mlp, EveryKind,
                         testing::Values(kind(2, 2, false, 64, 8), kind(2, 0, false, 64, 8), kind(3, 1, true, 64, 8),
                                         kind(1, 5, true, 20, 4), kind(7, 0, false, 72, 2)));

TEST(Mlp, ParametersAreNamedAndDecayOnlyTheTrunksWeights) {
  const auto net = make_mlp(kind(2, 2, true, 64, 8));
  EXPECT_EQ(net->dim(), 2);
  EXPECT_EQ(net->feature_size(), 2);
  for (const ParameterInfo& p : net->layout().list()) {
    const bool trunk = p.name.starts_with("input") || p.name.starts_with("output") || p.name.starts_with("film") ||
                       p.name.find("linear") != std::string::npos || p.name.find("modulation") != std::string::npos;
    EXPECT_EQ(p.decay, trunk && p.name.ends_with(".weight")) << p.name;
  }
}

// FiLM starts at zero, so a new network does not see it.
TEST(Mlp, FilmStartsAsTheIdentity) {
  const MlpOptions with = kind(2, 2, true, 64, 8), without = kind(2, 2, false, 64, 8);
  const NetworkInput in = random_input(with, 100, 1);
  std::vector<at::Tensor> outputs;
  for (const MlpOptions& o : {with, without}) {
    const auto net = make_mlp(o);
    std::vector<float> p(static_cast<size_t>(net->layout().size()));
    net->layout().initialise(Key(5), p.data());
    outputs.push_back(net->forward(p.data(), in));
  }
  EXPECT_EQ(std::memcmp(outputs[0].const_data_ptr(), outputs[1].const_data_ptr(), outputs[0].nbytes()), 0);
}

TEST(Mlp, EmptyBatchHasZeroLossAndGradient) {
  const MlpOptions o = kind(2, 2, false, 64, 8);
  const auto net = make_mlp(o);
  const std::vector<float> p = random_parameters(*net, 1), target;
  const NetworkInput in = random_input(o, 0, 1);
  std::vector<float> gradient(p.size(), NAN);
  EXPECT_EQ(net->gradient(p.data(), in, RowMeanSquare(target, 2), gradient.data()), 0);
  EXPECT_TRUE(std::ranges::all_of(gradient, [](float g) { return g == 0; }));
  EXPECT_EQ(net->forward(p.data(), in).size(0), 0);
}

// A huge state must come out finite, and a NaN must be seen: a training step whose loss is not finite is skipped.
TEST(Mlp, LargeStatesStayFiniteAndNansShow) {
  const MlpOptions o = kind(2, 2, false, 64, 8);
  const auto net = make_mlp(o);
  const std::vector<float> p = random_parameters(*net, 1);
  NetworkInput in = random_input(o, 65, 1);
  in.x.mutable_data_ptr<float>()[0] = 1e15f;
  at::Tensor y = net->forward(p.data(), in);
  EXPECT_TRUE(std::all_of(y.const_data_ptr<float>(), y.const_data_ptr<float>() + y.numel(),
                          [](float v) { return std::isfinite(v); }));
  in.x.mutable_data_ptr<float>()[0] = NAN;
  y = net->forward(p.data(), in);
  EXPECT_TRUE(std::isnan(y.const_data_ptr<float>()[0]));
  EXPECT_TRUE(std::all_of(y.const_data_ptr<float>() + 2, y.const_data_ptr<float>() + y.numel(),
                          [](float v) { return std::isfinite(v); }));
  const std::vector<float> target(130, 0.0f);
  std::vector<float> gradient(p.size());
  EXPECT_TRUE(std::isnan(net->gradient(p.data(), in, RowMeanSquare(target, 2), gradient.data())));
}

TEST(Mlp, RefusesSizesThatDoNotFit) {
  const auto refused = [](auto change) {
    MlpOptions o = kind(2, 2, false, 64, 8);
    change(o);
    EXPECT_THROW(make_mlp(o), InputError);
  };
  refused([](MlpOptions& o) { o.dim = 0; });
  refused([](MlpOptions& o) { o.width = 60; });
  refused([](MlpOptions& o) { o.width = 0; });
  refused([](MlpOptions& o) { o.groups = 0; });
  refused([](MlpOptions& o) { o.width = 4096, o.groups = 4; });
  refused([](MlpOptions& o) { o.blocks = 0; });
  refused([](MlpOptions& o) { o.blocks = 1000; });
  refused([](MlpOptions& o) { o.feature = -1; });
  refused([](MlpOptions& o) { o.time_embedding = 0; });
  refused([](MlpOptions& o) { o.path_embedding = 0; });
  refused([](MlpOptions& o) { o.feature = 0, o.film = true; });
}

TEST(Mlp, RefusesInputOfAnotherShapeOrType) {
  const MlpOptions o = kind(2, 2, false, 64, 8);
  const auto net = make_mlp(o);
  const std::vector<float> p = random_parameters(*net, 1);
  const auto refused = [&](auto change) {
    NetworkInput in = random_input(o, 10, 1);
    change(in);
    EXPECT_THROW(net->forward(p.data(), in), InputError);
    std::vector<float> gradient(p.size());
    const std::vector<float> target(20, 0.0f);
    EXPECT_THROW(net->gradient(p.data(), in, RowMeanSquare(target, 2), gradient.data()), InputError);
  };
  refused([](NetworkInput& in) { in.x = at::empty({10, 3}, at::kFloat); });
  refused([](NetworkInput& in) { in.x = at::empty({20}, at::kFloat); });
  refused([](NetworkInput& in) { in.x = at::empty({10, 2}, at::kDouble); });
  refused([](NetworkInput& in) { in.x = at::empty({2, 10}, at::kFloat).t(); });
  refused([](NetworkInput& in) { in.x.reset(); });
  refused([](NetworkInput& in) { in.t = at::empty({9}, at::kFloat); });
  refused([](NetworkInput& in) { in.t = at::empty({10}, at::kDouble); });
  refused([](NetworkInput& in) { in.t.reset(); });
  refused([](NetworkInput& in) { in.feature = at::empty({10, 1}, at::kFloat); });
  refused([](NetworkInput& in) { in.feature = at::empty({5, 4}, at::kFloat); });
  refused([](NetworkInput& in) { in.feature.reset(); });
  EXPECT_THROW(net->evaluator(p.data(), 10, nullptr), InputError);
  EXPECT_THROW(net->evaluator(p.data(), -1, nullptr), InputError);
}

}  // namespace
}  // namespace htfm
