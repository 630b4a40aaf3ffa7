#include "htfm/sample/call_states.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/maximum.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "htfm/base/error.h"

namespace htfm {

CallStates::CallStates(const FlowMatcher& matcher, const NetworkCall& network, at::Device device, int64_t rows)
    : SampleStates(matcher.flow(), matcher.standardiser(), matcher.dim(), rows),
      matcher_(matcher),
      network_(network),
      device_(device),
      shape_(matcher.row_shape()) {
  shape_.insert(shape_.begin(), rows);
  registers_.push_back(at::empty({rows, dim_}, at::TensorOptions().dtype(at::kDouble).device(device)));
}

at::Tensor CallStates::send(std::vector<double> values) const {
  return at::from_blob(values.data(), {rows_, 1}, at::kDouble).to(device_, at::kDouble, false, true);
}

void CallStates::reset(const at::Tensor& feature, const at::Tensor&) {
  registers_.resize(1);
  feature_ = feature.defined() ? feature.to(device_, matcher_.type()) : at::Tensor();
}

void CallStates::draw_source(Key key, const at::Tensor& area, int64_t first) {
  registers_[0] = flow().draw_source(key, area.to(device_), dim_, first);
}

void CallStates::to_angular() {
  std::vector<double> factor;
  for (int64_t i = 0; i < rows_; ++i) factor.push_back(1 / scales(i).source);
  at_register(0) = at_register(0) * send(std::move(factor));
}

void CallStates::from_angular() {
  std::vector<double> factor;
  for (int64_t i = 0; i < rows_; ++i) factor.push_back(scales(i).data);
  at_register(0) = at_register(0) * send(std::move(factor));
}

void CallStates::upload(int to, const double* x) {
  at_register(to) =
      at::from_blob(const_cast<double*>(x), {rows_, dim_}, at::kDouble).to(device_, at::kDouble, false, true);
}

void CallStates::download(int from, double* x) {
  at::from_blob(x, {rows_, dim_}, at::kDouble).copy_(at_register(from));
}

int CallStates::add() {
  registers_.emplace_back();
  return static_cast<int>(registers_.size()) - 1;
}

void CallStates::evaluate(int x, const double* t, int v) {
  std::vector<double> in, time, skip, out;
  for (int64_t i = 0; i < rows_; ++i) {
    const Coefficients c = coefficients(i, t[i]);
    in.push_back(c.in), time.push_back(c.time), skip.push_back(c.skip), out.push_back(c.out);
  }
  const bool skips = std::any_of(skip.begin(), skip.end(), [](double s) { return s != 0; });
  const at::Tensor input = (at_register(x) * send(std::move(in))).to(matcher_.type()).reshape(shape_),
                   times = send(std::move(time)).reshape({rows_}).to(matcher_.type());
  const at::Tensor output = network_(times, input, feature_);
  if (!output.defined() || output.sizes() != input.sizes())
    throw InputError("[velocity] expected a tensor of the shape [{}] like its input, got {}", fmt::join(shape_, ", "),
                     output.defined() ? fmt::format("[{}]", fmt::join(output.sizes().vec(), ", ")) : "none");
  const at::Tensor moved = output.detach().to(device_, at::kDouble).reshape({rows_, dim_}) * send(std::move(out));
  at_register(v) = skips ? at_register(x) * send(std::move(skip)) + moved : moved;
}

void CallStates::combine(int out, std::span<const Term> terms) {
  at::Tensor sum;
  for (const Term& term : terms) {
    at::Tensor part = at_register(term.from) * term.constant;
    if (term.factor) part = part * send({term.factor, term.factor + rows_});
    sum = sum.defined() ? sum + part : part;
  }
  at_register(out) = sum;
}

double CallStates::worst_error(int e, int a, int b, double atol, double rtol) {
  const at::Tensor scale = at::maximum(at_register(a).abs(), at_register(b).abs()) * rtol + atol,
                   rows = (at_register(e) / scale).square().mean(1).sqrt(), kept = rows.masked_select(rows.isfinite());
  return kept.numel() > 0 ? kept.max().item<double>() : 0.0;
}

void CallStates::noise(int out, Key key, int64_t first) {
  at::Tensor drawn = at::empty({rows_, dim_}, at::kDouble);
  fill_normal(key, static_cast<uint64_t>(first * dim_), rows_ * dim_, drawn.mutable_data_ptr<double>());
  at_register(out) = drawn.to(device_);
}

void CallStates::fill(int out, std::span<const double> row) {
  at_register(out) = at::from_blob(const_cast<double*>(row.data()), {1, dim_}, at::kDouble)
                         .to(device_, at::kDouble, false, true)
                         .expand({rows_, dim_});
}

void CallStates::clamp(int x, double bound) { at_register(x) = at_register(x).clamp(-bound, bound); }

}  // namespace htfm
