#include "htfm/sample/cuda_states.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/maximum.h>

#include <cmath>

#include "htfm/base/error.h"

namespace htfm {

CudaStates::CudaStates(const Model& model, const at::Tensor& weights, int64_t rows, const std::string& precision)
    : SampleStates(model.method(), model.standardiser, model.dim(), rows), device_(image_device()) {
  const Network& network = model.network();
  const UNetLayers* layers = network.unet();
  // Networks that are no U-Net run by torch's operations, in float32.
  const DevicePrecision p = precision_by_name(layers ? precision : "float32");
  device_.configure(p.tf32, model.config().train.deterministic);
  ops_ = device_.image_ops(p.type, p.eight_bit);
  queue_ = device_.queue();
  queue_->run([&] {
    master_ = weights.to(ops_->device());
    compute_ = master_.to(p.type);
    const int64_t height = layers ? layers->options.height : 1, width = layers ? layers->options.width : 1,
                  channels = layers ? ops_->padded(layers->options.channels) : dim_;
    input_ = ops_->empty({rows, height, width, channels}).zero_();
    time_ = ops_->zeros_float({rows});
    if (network.feature_size() > 0) feature_ = ops_->zeros_float({rows, network.feature_size()});
    registers_.push_back(at::empty({rows, dim_}, at::TensorOptions().dtype(at::kDouble).device(ops_->device())));
  });
  std::function<at::Tensor()> forward;
  if (layers) {
    pass_ = std::make_unique<UNetPass>(*layers, *ops_, UNetWeights{master_, compute_}, false);
    forward = [this] { return pass_->forward(input_, time_, feature_); };
  } else {
    forward = [&] {
      const at::Tensor out = network.forward_by_torch(master_, {input_.view({rows, dim_}), time_, feature_});
      if (!out.defined())
        throw InputError("[--device] expected cpu for net.kind = {}, got cuda", model.config().net.kind);
      return out.view({rows, 1, 1, dim_});
    };
  }
  const auto evaluate_network = [&] { output_ = forward(); };
  queue_->run([&] { evaluate_network(), evaluate_network(), output_.reset(); });
  recording_ = queue_->record(evaluate_network);
}

CudaStates::~CudaStates() { queue_->wait(); }

void CudaStates::reset(const at::Tensor& feature, const at::Tensor& without) {
  used_ = 1;
  queue_->run([&] {
    if (feature.defined()) feature_.copy_(feature);
    given_ = without.defined() ? feature_.clone() : at::Tensor();
    without_ = without.defined() ? without.to(ops_->device()) : at::Tensor();
  });
}

void CudaStates::draw_source(Key key, const at::Tensor& area, int64_t first) {
  queue_->run([&] { registers_[0].copy_(flow().draw_source(key, area.to(ops_->device()), dim_, first)); });
  queue_->wait();
}

at::Tensor CudaStates::send(const std::vector<double>& values, at::IntArrayRef shape) {
  return at::from_blob(const_cast<double*>(values.data()), shape, at::kDouble).to(ops_->device());
}

void CudaStates::to_angular() {
  std::vector<double> factor;
  for (int64_t i = 0; i < rows_; ++i) factor.push_back(1 / scales(i).source);
  combine(0, std::vector<Term>{{0, 1, factor.data()}});
}

void CudaStates::from_angular() {
  std::vector<double> factor;
  for (int64_t i = 0; i < rows_; ++i) factor.push_back(scales(i).data);
  combine(0, std::vector<Term>{{0, 1, factor.data()}});
}

void CudaStates::upload(int to, const double* x) {
  queue_->run([&] {
    registers_[static_cast<size_t>(to)].copy_(at::from_blob(const_cast<double*>(x), {rows_, dim_}, at::kDouble));
  });
}

void CudaStates::download(int from, double* x) {
  queue_->run([&] { at::from_blob(x, {rows_, dim_}, at::kDouble).copy_(at_register(from)); });
}

int CudaStates::add() {
  if (used_ == registers_.size()) queue_->run([&] { registers_.push_back(at::empty_like(registers_[0])); });
  return static_cast<int>(used_++);
}

void CudaStates::evaluate(int x, const double* t, int v) {
  std::vector<double> coefficient;
  for (int64_t i = 0; i < rows_; ++i) {
    const Coefficients c = coefficients(i, t[i]);
    coefficient.insert(coefficient.end(), {c.in, c.time, c.skip, c.out});
  }
  queue_->run([&] {
    const at::Tensor sent = send(coefficient, {rows_, 4});
    device_.network_input(at_register(x), sent, input_, time_);
    if (without_.defined()) {
      // The recording reads the features from one place: first without the condition, then with it.
      feature_.copy_(without_);
      queue_->replay(recording_);
      const at::Tensor unguided = output_.clone();
      feature_.copy_(given_);
      queue_->replay(recording_);
      output_.add_(output_ - unguided, guidance());
    } else {
      queue_->replay(recording_);
    }
    device_.network_output(output_, at_register(x), sent, at_register(v));
  });
}

void CudaStates::combine(int out, std::span<const Term> terms) {
  std::vector<double> factor;
  std::vector<at::Tensor> in;
  for (const Term& t : terms) {
    in.push_back(at_register(t.from));
    for (int64_t i = 0; i < rows_; ++i) factor.push_back(t.factor ? t.constant * t.factor[i] : t.constant);
  }
  queue_->run([&] {
    device_.combine(at_register(out), in, send(factor, {static_cast<int64_t>(terms.size()), rows_}));
  });
}

double CudaStates::worst_error(int e, int a, int b, double atol, double rtol) {
  double worst = 0;
  queue_->run([&] {
    const at::Tensor scale = at::maximum(at_register(a).abs(), at_register(b).abs()) * rtol + atol;
    const at::Tensor norm = (at_register(e) / scale).square().mean(1).sqrt().cpu();
    for (int64_t i = 0; i < rows_; ++i) {
      const double own = norm.const_data_ptr<double>()[i];
      if (std::isfinite(own)) worst = std::max(worst, own);
    }
  });
  return worst;
}

void CudaStates::noise(int out, Key key, int64_t first) {
  queue_->run([&] { device_.normal(at_register(out), key, first * dim_); });
}

void CudaStates::fill(int out, std::span<const double> row) {
  queue_->run([&] {
    at_register(out).copy_(at::from_blob(const_cast<double*>(row.data()), {1, dim_}, at::kDouble).to(ops_->device()));
  });
}

void CudaStates::clamp(int x, double bound) {
  queue_->run([&] { at_register(x).clamp_(-bound, bound); });
}

}  // namespace htfm
