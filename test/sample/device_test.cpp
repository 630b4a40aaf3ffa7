// The U-Net and its training on a CUDA device against PyTorch's golden values and against the CPU. Skipped where there
// is no device.
#include "test/device.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "htfm/base/error.h"
#include "htfm/model/config.h"
#include "htfm/sample/sampler.h"
#include "htfm/train/device_trainer.h"
#include "htfm/train/trainer.h"
#include "test/net/unet_golden.h"

namespace htfm {
namespace {

at::Tensor pixels(const at::Tensor& rows, const UNetOptions& o, int64_t padded) {
  at::Tensor x = rows.view({-1, o.channels, o.height, o.width}).permute({0, 2, 3, 1});
  at::Tensor out = at::zeros({x.size(0), o.height, o.width, padded}, at::kFloat);
  out.narrow(3, 0, o.channels).copy_(x);
  return out;
}

// Output and gradient of the mean squared error on a device.
struct DeviceResult {
  at::Tensor output;
  std::vector<float> gradient;
};

DeviceResult run(const UNetOptions& o, const std::vector<float>& parameters, const NetworkInput& in,
                 const std::vector<float>& target, at::ScalarType type) {
  ParameterLayout layout;
  const UNetLayers layers(o, layout);
  const ImageDevice& device = image_device();
  device.configure(false, false);
  const auto ops = device.image_ops(type);
  const auto queue = device.queue();
  DeviceResult result;
  queue->run([&] {
    const at::Tensor master =
        at::from_blob(const_cast<float*>(parameters.data()), {layout.size()}, at::kFloat).to(ops->device());
    UNetPass pass(layers, *ops, {master, master.to(type)}, true);
    const at::Tensor feature = in.feature.defined() ? in.feature.to(ops->device()) : at::Tensor();
    const at::Tensor out = pass.forward(pixels(in.x, o, 8).to(ops->device()).to(type), in.t.to(ops->device()), feature);
    result.output = out.cpu().permute({0, 3, 1, 2}).contiguous();
    at::Tensor d = at::empty_like(result.output);
    MeanSquare loss(target);
    loss(0, d.size(0), result.output.const_data_ptr<float>(), d.mutable_data_ptr<float>());
    const UNetGradient g = pass.backward(pixels(d.view({d.size(0), -1}), o, 8).to(ops->device()).to(type));
    result.gradient.assign(static_cast<size_t>(layout.size()), 0.0f);
    for (const ParameterGradient& p : g.parameters) {
      const at::Tensor host = p.value.to(at::kFloat).cpu().contiguous();
      std::copy_n(host.const_data_ptr<float>(), host.numel(), result.gradient.data() + p.parameter);
    }
    const at::Tensor totals = device.column_totals(g.sums).cpu();
    for (const UNetLayers::Column& c : layers.columns)
      std::copy_n(totals.const_data_ptr<float>() + c.column, c.count, result.gradient.data() + c.parameter);
  });
  return result;
}

class DeviceGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(DeviceGoldenTest, EqualsPyTorch) {
  HTFM_NEEDS_DEVICE();
  const UNetGolden golden(GetParam());
  ParameterLayout layout;
  const UNetLayers layers(golden.options(), layout);
  const std::vector<float> parameters = UNetGolden::parameters(layout);
  const DeviceResult r = run(golden.options(), parameters, golden.input(), golden["target"], at::kFloat);
  const std::vector<float>& expected = golden["output"];
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(r.output.const_data_ptr<float>()[i], expected[i], 1e-4) << i;
  for (const ParameterInfo& p : layout.list())
    EXPECT_LT(relative_error(golden["gradient." + p.name], r.gradient.data() + p.offset), 2e-4) << p.name;
}

INSTANTIATE_TEST_SUITE_P(Cases, DeviceGoldenTest, testing::Values("feature", "plain", "film", "ncsnpp", "released"));

UNetOptions image_network() {
  UNetOptions o;
  o.feature = 2;
  return o;
}

// The same values are left out on both sides.
UNetOptions dropout_network() {
  UNetOptions o = image_network();
  o.dropout = 0.3;
  return o;
}

UNetOptions field_network() {
  UNetOptions o;
  o.feature = 2, o.channels = 1, o.height = o.width = 128, o.base = 32, o.multipliers = {1, 2, 2}, o.blocks = 1,
  o.attention = {32};
  o.group_channels = 4, o.filtered = o.rescale = o.progressive = true;
  return o;
}

// The mean squared error, and the output that it was of.
struct RememberedOutput final : SampleLoss {
  explicit RememberedOutput(const std::vector<float>& target) : error(target), output(target.size()) {}
  double operator()(int64_t first, int64_t rows, const float* out, float* gradient) const override {
    std::copy_n(out, output.size(), output.begin());
    return error(first, rows, out, gradient);
  }
  MeanSquare error;
  mutable std::vector<float> output;
};

// Sizes as in the paper's networks: every tiling of the norms (of fields by teams of blocks), flash attention, float32
// and bfloat16 against the CPU.
class DeviceSizeTest : public testing::TestWithParam<std::pair<const char*, UNetOptions (*)()>> {};

TEST_P(DeviceSizeTest, AgreesWithTheCpu) {
  HTFM_NEEDS_DEVICE();
  const UNetOptions o = GetParam().second();
  const auto net = make_unet(o);
  std::vector<float> parameters(static_cast<size_t>(net->layout().size()));
  net->layout().initialise(Key(9), parameters.data());
  for (const ParameterInfo& p : net->layout().list())  // nor may what starts at zero hide anything
    if (p.bound == 0)
      for (int64_t i = 0; i < p.size; ++i)
        parameters[p.offset + i] += static_cast<float>(0.04 * Key(4).uniform(static_cast<uint64_t>(i)) - 0.02);
  const int64_t n = 2;
  NetworkInput in{at::empty({n, net->dim()}, at::kFloat), at::empty({n}, at::kFloat), at::empty({n, 2}, at::kFloat)};
  std::vector<float> target(static_cast<size_t>(n * net->dim()));
  fill_normal(Key(1), 0, in.x.numel(), in.x.mutable_data_ptr<float>());
  fill_normal(Key(2), 0, in.feature.numel(), in.feature.mutable_data_ptr<float>());
  fill_normal(Key(3), 0, static_cast<int64_t>(target.size()), target.data());
  in.t.fill_(0.3);
  std::vector<float> gradient(parameters.size());
  const RememberedOutput loss(target);
  net->gradient(parameters.data(), in, loss, gradient.data());
  const std::vector<float>& expected = loss.output;
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const bool exact = type == at::kFloat;
    const DeviceResult r = run(o, parameters, in, target, type);
    double worst = 0, size = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      worst = std::max<double>(worst, std::abs(r.output.const_data_ptr<float>()[i] - expected[i]));
      size = std::max<double>(size, std::abs(expected[i]));
    }
    EXPECT_LT(worst, (exact ? 1e-4 : 0.1) * std::max(size, 1.0)) << "output of size " << size;
    double largest = 0;
    for (const ParameterInfo& p : net->layout().list()) {
      const std::vector<float> own(gradient.begin() + p.offset, gradient.begin() + p.offset + p.size);
      const double error = relative_error(own, r.gradient.data() + p.offset);
      largest = std::max(largest, error);
      EXPECT_LT(error, exact ? 2e-3 : 0.2) << p.name;
    }
    std::printf("%s: output off by %.2e of %.2f, gradients by %.2e\n", exact ? "float32" : "bf16", worst, size,
                largest);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, DeviceSizeTest,
                         testing::Values(std::pair{"images", &image_network}, std::pair{"fields", &field_network},
                                         std::pair{"dropout", &dropout_network}),
                         [](const auto& each) { return std::string(each.param.first); });

// Evaluations in eight bits against the same rounding on the CPU. The device norms bfloat16 values, so some of its
// activations are rounded to the next number of eight bits.
TEST(DeviceEightBit, EvaluationsAreRoundedAsOnTheCpu) {
  HTFM_NEEDS_DEVICE();
  const UNetOptions o = image_network();
  ParameterLayout layout;
  const UNetLayers layers(o, layout);
  std::vector<float> numbers(static_cast<size_t>(layout.size()));
  layout.initialise(Key(9), numbers.data());
  for (const ParameterInfo& p : layout.list())
    if (p.bound == 0)
      for (int64_t i = 0; i < p.size; ++i)
        numbers[p.offset + i] += static_cast<float>(0.04 * Key(4).uniform(static_cast<uint64_t>(i)) - 0.02);
  const at::Tensor parameters = at::from_blob(numbers.data(), {layout.size()}, at::kFloat);
  const int64_t n = 4;
  at::Tensor x = at::empty({n, o.channels * o.height * o.width}, at::kFloat), t = at::empty({n}, at::kFloat).fill_(0.3),
             feature = at::empty({n, 2}, at::kFloat);
  fill_normal(Key(1), 0, x.numel(), x.mutable_data_ptr<float>());
  fill_normal(Key(2), 0, feature.numel(), feature.mutable_data_ptr<float>());
  const auto on_cpu = [&](bool eight_bit) {
    const auto ops = make_cpu_image_ops(eight_bit);
    return UNetPass(layers, *ops, {parameters, parameters}, false)
        .forward(pixels(x, o, o.channels), t, feature)
        .clone();
  };
  const auto on_device = [&](const char* precision) {
    const ImageDevice& device = image_device();
    const DevicePrecision p = precision_by_name(precision);
    device.configure(p.tf32, false);
    const auto ops = device.image_ops(p.type, p.eight_bit);
    const auto queue = device.queue();
    at::Tensor out;
    queue->run([&] {
      const at::Tensor master = parameters.to(ops->device());
      UNetPass pass(layers, *ops, {master, master.to(p.type)}, false);
      const auto forward = [&] {
        return pass.forward(pixels(x, o, 8).to(ops->device()).to(p.type), t.to(ops->device()),
                            feature.to(ops->device()));
      };
      forward();
      out = forward().cpu().clone();
    });
    return out;
  };
  const auto off = [](const at::Tensor& got, const at::Tensor& expected) {
    return ((got - expected).norm() / expected.norm()).item<double>();
  };
  const at::Tensor exact = on_cpu(false), rounded = on_cpu(true);
  const double by_rounding = off(rounded, exact), on_both = off(on_device("fp8"), rounded),
               in_bf16 = off(on_device("bf16"), exact);
  std::printf("fp8: off by %.2e from float32, the device's by %.2e from the CPU's; bf16: by %.2e\n", by_rounding,
              on_both, in_bf16);
  EXPECT_LT(on_both, by_rounding + 2 * in_bf16);
  EXPECT_GT(off(on_device("fp8"), exact), 2 * in_bf16) << "the network ran in bf16";
}

// The same data, clocks and noise on the device and on the CPU: the same losses, weights and samples, for every method
// and loss.
struct MethodCase {
  const char* name;
  std::vector<std::string> settings;
  const char* solver;
};

class DeviceMethodTest : public testing::TestWithParam<MethodCase> {};

TEST_P(DeviceMethodTest, TrainsAndSamplesLikeTheCpu) {
  HTFM_NEEDS_DEVICE();
  std::vector<std::string> settings{
      "net.kind=unet",           "unet.base=32",      "unet.groups=8", "unet.multipliers=1,2", "unet.attention=8",
      "clock.family=stable",     "clock.alpha=1.7",   "train.batch=8", "train.epochs=2",       "train.lr=1e-3",
      "train.precision=float32", "train.log_steps=1", "data.flip=true"};
  settings.insert(settings.end(), GetParam().settings.begin(), GetParam().settings.end());
  const RunConfig c = parse_config("", "test", settings);
  Dataset data;
  data.rows = at::empty({20, 3 * 16 * 16}, at::kFloat);  // the last batch of an epoch is smaller
  fill_normal(Key(2), 0, data.rows.numel(), data.rows.mutable_data_ptr<float>());
  data.image = ImageShape{3, 16, 16}, data.hash = "x", data.origin = "noise";
  data.labels = at::arange(20).remainder(3), data.classes = {"a", "b", "c"};
  std::vector<Model> models;
  std::vector<std::vector<double>> losses, validations;
  for (const at::Device where : {at::Device(at::kCPU), at::Device(at::kCUDA, 0)}) {
    losses.emplace_back(), validations.emplace_back();
    TrainOptions options;
    options.device = where;
    options.report = [&](const TrainProgress& p) {
      losses.back().push_back(p.loss);
      if (p.validation) validations.back().push_back(*p.validation);
    };
    models.push_back(train(c, data, options));
  }
  ASSERT_EQ(losses[0].size(), c.train.validation > 0 ? 4U : 6U);
  ASSERT_EQ(validations[0].size(), c.train.validation > 0 ? 2U : 0U);
  const auto near = [](const std::vector<double>& x, const std::vector<double>& y) {
    ASSERT_EQ(x.size(), y.size());
    for (size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(y[k], x[k], 1e-4 * x[k]) << k;
  };
  near(losses[0], losses[1]), near(validations[0], validations[1]);
  const at::Tensor a = models[0].trained.ema, b = models[1].trained.ema;
  EXPECT_LT((a - b).norm().item<double>() / a.norm().item<double>(), 1e-3);
  if (c.train.validation > 0) {
    EXPECT_EQ(models[0].best_step, models[1].best_step);
    EXPECT_LT((models[0].trained.best - models[1].trained.best).norm().item<double>() / a.norm().item<double>(), 1e-3);
  }
  if (c.path.learn) {
    const at::Tensor curves = models[0].curves.parameters;
    EXPECT_GT(curves.norm().item<double>(), 1e-3) << "the curves have moved";
    EXPECT_LT((curves - models[1].curves.parameters).norm().item<double>(), 1e-2 * curves.norm().item<double>());
  }
  SampleOptions options = sample_options(c);
  options.n = 5, options.solver = GetParam().solver, options.solve.nfe = 4, options.precision = "float32";
  const SampleResult host = sample(models[0], options);
  options.device = at::Device(at::kCUDA, 0), options.device_rows = 3;
  const SampleResult device = sample(models[0], options);
  EXPECT_LT((host.samples - device.samples).norm().item<double>() / host.samples.norm().item<double>(), 1e-4);
  options.first = 3, options.n = 2;  // the last two again, as a part of their own
  const at::Tensor part = sample(models[0], options).samples, whole = device.samples.narrow(0, 3, 2);
  EXPECT_LT((part - whole).norm().item<double>() / whole.norm().item<double>(), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(
    Methods, DeviceMethodTest,
    testing::Values(
        MethodCase{"flow", {}, "euler"}, MethodCase{"flow_stochastic", {"sample.time_grid=angle"}, "stochastic"},
        MethodCase{"flow_by_clock", {"precondition.time=clock"}, "euler"},
        MethodCase{"flow_pool", {"coupling.kind=pool", "coupling.size=maximum", "precondition.scale=clock"}, "heun"},
        MethodCase{"flow_pool_t",
                   {"clock.family=inverse-gamma", "clock.nu=3", "coupling.kind=pool", "coupling.size=maximum",
                    "precondition.scale=clock"},
                   "ab2"},
        MethodCase{"flow_ot", {"coupling.kind=ot"}, "euler"}, MethodCase{"flow_tail", {"data.tail=pareto"}, "euler"},
        MethodCase{"flow_learned", {"path.schedule=near-linear", "path.learn=true"}, "euler"},
        MethodCase{"flow_validated", {"train.validation=0.2", "train.validate_steps=2"}, "euler"},
        MethodCase{"flow_given_field", {"condition.field=4x4", "condition.drop=0.2", "data.flip=false"}, "ab2"},
        MethodCase{"flow_guided",
                   {"condition.field=4x4", "condition.drop=0.2", "data.flip=false", "sample.guidance=1"},
                   "ab2"},
        MethodCase{"ncsnpp_given_field", {"net.kind=ncsnpp", "condition.field=16x16", "data.flip=false"}, "euler"},
        MethodCase{"flow_class", {"condition.label=true", "condition.drop=0.2", "sample.guidance=2"}, "ab2"},
        MethodCase{"dlpm_class", {"condition.label=true", "method=dlpm"}, "dlpm"},
        MethodCase{"flow_plain", {"train.graph=false"}, "midpoint"}, MethodCase{"dlpm", {"method=dlpm"}, "dlpm"},
        MethodCase{"dlpm_clamped", {"method=dlpm", "baseline.clamp_a=20", "baseline.clamp_eps=2"}, "dlpm"},
        MethodCase{
            "dlpm_median", {"method=dlpm", "baseline.loss=median", "baseline.outer=3", "baseline.inner=2"}, "dlpm"},
        MethodCase{"dlim", {"method=dlim", "baseline.eta=0.3"}, "dlim"}, MethodCase{"lim_sde", {"method=lim"}, "sde"},
        MethodCase{"lim_ode", {"method=lim"}, "ode"},
        MethodCase{"tflow", {"method=tflow", "clock.family=inverse-gamma", "clock.nu=3"}, "heun"},
        MethodCase{"clock_diffusion", {"method=clock-diffusion"}, "mixed-flow"},
        MethodCase{"clock_diffusion_noisy", {"method=clock-diffusion"}, "kernel"},
        MethodCase{"tedm", {"method=tedm", "clock.family=inverse-gamma", "clock.nu=5"}, "heun"}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace htfm
