#include "htfm/net/module_network.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstring>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/base/single_thread_guard.h"
#include "htfm/io/dtype.h"
#include "htfm/net/gradient_parts.h"

namespace htfm {

namespace {

// A batch is cut into parts by its size alone.
constexpr int64_t kPartRows = 256, kMostParts = 16;

at::Tensor copy_of(const float* values, at::IntArrayRef shape) {
  at::Tensor out =
      at::empty(shape, at::kFloat);  // aligned, so that products give the same bits wherever the values were
  std::memcpy(out.mutable_data_ptr<float>(), values, out.nbytes());
  return out;
}

}  // namespace

int64_t ModuleNetwork::part_count(int64_t rows) const { return std::clamp<int64_t>(rows / kPartRows, 1, kMostParts); }

size_t ModuleNetwork::add_parameter(std::string name, std::vector<int64_t> shape, double bound, bool decay,
                                    double centre) {
  layout_.add(std::move(name), std::move(shape), decay, bound, centre);
  return layout_.list().size() - 1;
}

std::vector<at::Tensor> ModuleNetwork::tensors(const float* parameters) const {
  std::vector<at::Tensor> out;
  for (const ParameterInfo& p : layout_.list()) out.push_back(copy_of(parameters + p.offset, p.shape));
  return out;
}

void ModuleNetwork::check(const NetworkInput& in) const {
  const auto is_float = [](const at::Tensor& t) {
    return t.defined() && t.scalar_type() == at::kFloat && t.is_contiguous() && t.is_cpu();
  };
  const int64_t n = in.x.defined() && in.x.dim() > 0 ? in.x.size(0) : -1;
  if (!is_float(in.x) || n < 0 || in.x.numel() != n * dim_)
    throw InputError("[net] expected states of size n x {} in float32, got {}", dim_, tensor_text(in.x));
  if (!is_float(in.t) || in.t.numel() != n)
    throw InputError("[net] expected {} times in float32, got {}", n, tensor_text(in.t));
  if (feature_ &&
      (!is_float(in.feature) || in.feature.dim() != 2 || in.feature.size(0) != n || in.feature.size(1) != feature_))
    throw InputError("[net] expected features of size {} x {} in float32, got {}", n, feature_,
                     tensor_text(in.feature));
}

NetworkInput ModuleNetwork::part(const NetworkInput& in, int64_t first, int64_t rows) const {
  return {copy_of(in.x.const_data_ptr<float>() + first * dim_, {rows, dim_}),
          copy_of(in.t.const_data_ptr<float>() + first, {rows}),
          feature_ ? copy_of(in.feature.const_data_ptr<float>() + first * feature_, {rows, feature_})
                   : at::empty({rows, 0}, at::kFloat)};
}

at::Tensor ModuleNetwork::checked_output(std::span<const at::Tensor> parameters, const NetworkInput& in) const {
  at::Tensor out = output(parameters, in.x, in.t, in.feature);
  if (!out.defined() || out.scalar_type() != at::kFloat || out.numel() != in.x.numel() || out.size(0) != in.x.size(0))
    throw InputError("[net] expected an output of {} x {} in float32, got {}", in.x.size(0), dim_, tensor_text(out));
  return out.reshape({in.x.size(0), dim_}).contiguous();
}

at::Tensor ModuleNetwork::forward(const float* parameters, const NetworkInput& in) const {
  check(in);
  const int64_t n = in.x.size(0), parts = part_count(n);
  at::Tensor out = at::empty({n, dim_}, at::kFloat);
  float* y = out.mutable_data_ptr<float>();
  parallel_for(parts, [&](int64_t k) {
    const OwnThread alone;
    const at::NoGradGuard no_gradient;
    const int64_t first = k * n / parts, rows = (k + 1) * n / parts - first;
    const at::Tensor own = checked_output(tensors(parameters), part(in, first, rows));
    std::memcpy(y + first * dim_, own.const_data_ptr<float>(), own.nbytes());
  });
  return out;
}

double ModuleNetwork::gradient(const float* parameters, const NetworkInput& in, const SampleLoss& loss,
                               float* gradient) const {
  check(in);
  return gradient_in_parts(*this, parameters, in, loss, gradient);
}

double ModuleNetwork::part_gradient(const float* parameters, const NetworkInput& in, const SampleLoss& loss, int64_t k,
                                    float* gradient) const {
  const OwnThread alone;
  const at::AutoGradMode with_gradient(true);
  const int64_t n = in.x.size(0), first = part_begin(n, k), rows = part_begin(n, k + 1) - first;
  std::fill_n(gradient, layout_.size(), 0.0F);
  std::vector<at::Tensor> own = tensors(parameters);
  for (at::Tensor& p : own) p.set_requires_grad(true);
  const at::Tensor out = checked_output(own, part(in, first, rows));
  at::Tensor slope = at::empty({rows, dim_}, at::kFloat);
  const double value = loss(first, rows, out.const_data_ptr<float>(), slope.mutable_data_ptr<float>());
  if (!out.requires_grad()) return value;  // no parameter has a say in it
  const std::vector<at::Tensor> found = torch::autograd::grad({out}, own, {slope}, /*retain_graph=*/std::nullopt,
                                                              /*create_graph=*/false, /*allow_unused=*/true);
  for (size_t p = 0; p < found.size(); ++p) {
    if (!found[p].defined()) continue;
    const at::Tensor values_of = found[p].contiguous();
    std::memcpy(gradient + layout_.list()[p].offset, values_of.const_data_ptr<float>(), values_of.nbytes());
  }
  return value;
}

class ModuleEvaluator final : public Evaluator {
 public:
  ModuleEvaluator(const ModuleNetwork& network, const float* parameters, int64_t rows, const float* feature)
      : network_(network),
        parameters_(network.tensors(parameters)),
        rows_(rows),
        feature_(network.feature_ ? copy_of(feature, {rows, network.feature_}) : at::empty({rows, 0}, at::kFloat)) {}
  void operator()(const float* x, double t, float* out) override { run(x, at::full({rows_}, t, at::kFloat), out); }
  void operator()(const float* x, const float* t, float* out) override { run(x, copy_of(t, {rows_}), out); }

 private:
  void run(const float* x, at::Tensor t, float* out) {
    const OwnThread alone;
    const at::NoGradGuard no_gradient;
    const at::Tensor y =
        network_.checked_output(parameters_, {copy_of(x, {rows_, network_.dim_}), std::move(t), feature_});
    std::memcpy(out, y.const_data_ptr<float>(), y.nbytes());
  }

  const ModuleNetwork& network_;
  std::vector<at::Tensor> parameters_;
  int64_t rows_;
  at::Tensor feature_;
};

std::unique_ptr<Evaluator> ModuleNetwork::evaluator(const float* parameters, int64_t rows, const float* feature) const {
  if (rows < 0) throw InputError("[net] expected a number of samples, got {}", rows);
  if (feature_ && !feature) throw InputError("[net] expected features of size {} x {}, got none", rows, feature_);
  return std::make_unique<ModuleEvaluator>(*this, parameters, rows, feature);
}

}  // namespace htfm
