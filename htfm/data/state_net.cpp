#include "htfm/data/state_net.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "htfm/base/nan.h"
#include "htfm/base/parallel.h"
#include "htfm/base/single_thread_guard.h"

namespace htfm {

namespace {

constexpr int64_t kFewestSteps = 300, kLargestBatch = 512;
constexpr double kRate = 3e-3, kDecay = 0.1, kAverage = 0.99, kValidation = 0.15;
// A table of a tenth of these rows is known by heart after some dozen steps at that rate: it gets smaller steps, and is
// looked at more often.
constexpr int64_t kManyRows = 30'000, kRowsPerValidation = 300;
constexpr double kSmallestShareOfRate = 0.1;
constexpr int64_t kPatience = 8, kPatientSteps = 400;  // validations without a gain, and steps
constexpr double kOperations = 6e11;                   // that a training may take
constexpr int64_t kFewestPieces = 4;                   // of a number's polygon
constexpr int64_t kPiecesOfAll = 1024;                 // together, where there are many numbers
constexpr int64_t kRowsPerPiece = 100;

at::Tensor rows_of(const at::Tensor& values, const std::vector<int64_t>& rows) {
  return at::index_select(
      values, 0, at::from_blob(const_cast<int64_t*>(rows.data()), {static_cast<int64_t>(rows.size())}, at::kLong));
}

StateInputs rows_of(const StateInputs& inputs, const std::vector<int64_t>& rows) {
  StateInputs out{rows_of(inputs.numbers, rows)};
  for (const at::Tensor& s : inputs.states) out.states.push_back(rows_of(s, rows));
  return out;
}

// Adam's moments and a moving average, over flat buffers.
struct Adam {
  explicit Adam(int64_t size) : first(static_cast<size_t>(size)), second(static_cast<size_t>(size)) {}
  std::vector<float> first, second;

  void step(float* w, const float* g, float* average, int64_t t, double rate, double keep) {
    const AdamStep step{static_cast<float>(rate / (1 - std::pow(0.9, t))),
                        static_cast<float>(1 / (1 - std::pow(0.999, t))), static_cast<float>(1 - rate * kDecay),
                        static_cast<float>(keep)};
    kernels<StateKernels>().adam(step, std::ssize(first), g, first.data(), second.data(), w, average);
  }
};

}  // namespace

// What a pass leaves for the way back.
struct StateNet::Pass {
  at::Tensor z1, h1, z2, h2, out;
};

at::Tensor state_knots(const at::Tensor& numbers, const std::vector<bool>& smooth) {
  const int64_t n = numbers.size(0), d = numbers.size(1);
  const int64_t pieces =
      std::clamp(std::min(n / kRowsPerPiece, kPiecesOfAll / std::max<int64_t>(1, d)), kFewestPieces, Polygons::kMost);
  at::Tensor out = at::full({d, pieces + 1}, kNan, at::kFloat);
  const float* x = numbers.const_data_ptr<float>();
  float* k = out.mutable_data_ptr<float>();
  parallel_for(n > 0 ? d : 0, [&](int64_t j) {
    if (static_cast<size_t>(j) < smooth.size() && smooth[static_cast<size_t>(j)]) return;
    std::vector<float> sorted(static_cast<size_t>(n)), own;
    for (int64_t i = 0; i < n; ++i) sorted[static_cast<size_t>(i)] = x[i * d + j];
    std::sort(sorted.begin(), sorted.end());
    for (int64_t q = 0; q <= pieces; ++q)
      if (const float v = sorted[static_cast<size_t>(q * (n - 1) / pieces)]; own.empty() || v > own.back())
        own.push_back(v);
    if (own.size() > 1) std::copy(own.begin(), own.end(), k + j * (pieces + 1));
  });
  return out;
}

StateNet::StateNet(int64_t numbers, std::vector<int64_t> counts, int64_t states, const at::Tensor& knots)
    : numbers_(numbers),
      states_(states),
      width_(Polygons::kWidth),
      pieces_(static_cast<size_t>(numbers)),
      knots_(static_cast<size_t>(numbers * (Polygons::kMost + 1)), std::numeric_limits<float>::infinity()),
      counts_(std::move(counts)) {
  if (!knots.defined()) return;
  const float* from = knots.const_data_ptr<float>();
  float* to = knots_.data();
  for (int64_t j = 0; j < numbers; ++j, from += knots.size(1), to += Polygons::kMost + 1) {
    int64_t count = 0;
    while (count < knots.size(1) && !std::isnan(from[count])) to[count] = from[count], ++count;
    pieces_[static_cast<size_t>(j)] = std::max<int64_t>(0, count - 1);
  }
}

Polygons StateNet::polygons() const { return {numbers_, pieces_.data(), knots_.data()}; }
int64_t StateNet::pieces() const { return std::accumulate(pieces_.begin(), pieces_.end(), int64_t{0}); }
int64_t StateNet::knot_count() const {
  return pieces() + std::count_if(pieces_.begin(), pieces_.end(), [](int64_t n) { return n > 0; });
}

// A piece says -1 below it, 1 above it, and goes from one to the other in it: a weight bends a polygon in one place and
// counts for all rows. A polygon is read from its values at the knots, so a row costs two of them and not all pieces.
void StateNet::add_polygons(const at::Tensor& weights, const at::Tensor& numbers, at::Tensor& out) const {
  if (pieces() == 0) return;
  const int64_t w = width_;
  const float* piece = weights.const_data_ptr<float>();
  std::vector<float> values(static_cast<size_t>(knot_count() * w));
  float* value = values.data();
  for (const int64_t count : pieces_) {
    if (count == 0) continue;
    for (int64_t b = 0; b < count; ++b)
      for (int64_t u = 0; u < w; ++u) value[u] -= piece[b * w + u];
    for (int64_t b = 0; b < count; ++b)
      for (int64_t u = 0; u < w; ++u) value[(b + 1) * w + u] = value[b * w + u] + 2 * piece[b * w + u];
    value += (count + 1) * w, piece += count * w;
  }
  kernels<StateKernels>().add_polygons(polygons(), values.data(), numbers.const_data_ptr<float>(), numbers.size(0),
                                       out.mutable_data_ptr<float>());
}

void StateNet::polygon_gradient(const at::Tensor& out, const at::Tensor& numbers, at::Tensor& weights) const {
  if (pieces() == 0) return;
  const int64_t w = width_;
  std::vector<float> values(static_cast<size_t>(knot_count() * w)), below(static_cast<size_t>(w)), all;
  kernels<StateKernels>().polygon_gradient(polygons(), numbers.const_data_ptr<float>(), out.const_data_ptr<float>(),
                                           numbers.size(0), values.data());
  const float* value = values.data();
  float* piece = weights.mutable_data_ptr<float>();
  for (const int64_t count : pieces_) {
    if (count == 0) continue;
    below.assign(static_cast<size_t>(w), 0), all.assign(static_cast<size_t>(w), 0);
    for (int64_t b = 0; b <= count; ++b)
      for (int64_t u = 0; u < w; ++u) all[static_cast<size_t>(u)] += value[b * w + u];
    for (int64_t b = 0; b < count; ++b)
      for (int64_t u = 0; u < w; ++u) {
        below[static_cast<size_t>(u)] += value[b * w + u];
        piece[b * w + u] = all[static_cast<size_t>(u)] - 2 * below[static_cast<size_t>(u)];
      }
    value += (count + 1) * w, piece += count * w;
  }
}

int64_t StateNet::size() const {
  int64_t inputs = numbers_ + 1 + pieces();
  for (const int64_t c : counts_) inputs += c;
  return inputs * width_ + (width_ + 1) * width_ + (width_ + 1) * states_;
}

// Numbers, bias, hidden layer, bias, output, bias, then a table for each discrete input, then the pieces.
std::vector<at::Tensor> StateNet::views(const at::Tensor& flat) const {
  std::vector<at::Tensor> out;
  int64_t at = 0;
  const auto take = [&](int64_t rows, int64_t columns) {
    out.push_back(flat.narrow(0, at, rows * columns).view({rows, columns}));
    at += rows * columns;
  };
  take(numbers_, width_), take(1, width_), take(width_, width_), take(1, width_), take(width_, states_),
      take(1, states_);
  for (const int64_t c : counts_) take(c, width_);
  take(pieces(), width_);
  return out;
}

StateNet::Pass StateNet::forward(const std::vector<at::Tensor>& w, const StateInputs& inputs) const {
  Pass p;
  p.z1 = at::addmm(w[1], inputs.numbers, w[0]);
  std::vector<const float*> tables;
  std::vector<const int64_t*> states;
  for (size_t j = 0; j < inputs.states.size(); ++j)
    tables.push_back(w[6 + j].const_data_ptr<float>()), states.push_back(inputs.states[j].const_data_ptr<int64_t>());
  kernels<StateKernels>().add_rows(tables.data(), states.data(), std::ssize(tables), p.z1.size(0),
                                   p.z1.mutable_data_ptr<float>());
  add_polygons(w.back(), inputs.numbers, p.z1);
  p.h1 = at::silu(p.z1);
  p.z2 = at::addmm(w[3], p.h1, w[2]);
  p.h2 = at::silu(p.z2).add_(p.h1);
  p.out = at::addmm(w[5], p.h2, w[4]);
  return p;
}

double StateNet::loss(const at::Tensor& flat, const StateInputs& inputs, const at::Tensor& target) const {
  const at::Tensor logs = at::log_softmax(forward(views(flat), inputs).out, 1);
  const float* l = logs.const_data_ptr<float>();
  const int64_t* c = target.const_data_ptr<int64_t>();
  double sum = 0;
  for (int64_t i = 0; i < target.size(0); ++i) sum -= l[i * states_ + c[i]];
  return sum / static_cast<double>(std::max<int64_t>(1, target.size(0)));
}

void StateNet::train(const StateInputs& inputs, const at::Tensor& target, Key key, int64_t most_steps) {
  const OwnThread one;
  const int64_t n = target.size(0);
  std::vector<int64_t> order(static_cast<size_t>(n));
  fill_permutation(key.child("apart"), n, order.data());
  const auto apart = static_cast<int64_t>(kValidation * static_cast<double>(n));
  const std::vector<int64_t> judges(order.begin(), order.begin() + apart), rest(order.begin() + apart, order.end());
  const StateInputs judged = rows_of(inputs, judges);
  const at::Tensor judged_target = rows_of(target, judges);

  // Small random weights; the output begins with the shares of the states and knows nothing of the inputs.
  at::Tensor flat = at::zeros({size()}, at::kFloat);
  fill_normal(key.child("weights"), 0, size(), flat.mutable_data_ptr<float>());
  std::vector<at::Tensor> w = views(flat);
  const double spread = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, numbers_)));
  w[0].mul_(spread), w[1].mul_(0.1), w[2].mul_(1 / std::sqrt(static_cast<double>(width_))), w[3].zero_(), w[4].zero_();
  for (size_t j = 0; j < counts_.size(); ++j) w[6 + j].mul_(0.5);
  w.back().zero_();
  std::vector<double> share(static_cast<size_t>(states_), 0.5);
  const int64_t* c = target.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < n; ++i) share[static_cast<size_t>(c[i])] += 1;
  for (int64_t s = 0; s < states_; ++s)
    w[5].mutable_data_ptr<float>()[s] =
        static_cast<float>(std::log(share[static_cast<size_t>(s)] / static_cast<double>(n)));

  const int64_t width_in = numbers_ + width_ + states_;
  const auto batch = std::min(kLargestBatch, std::max<int64_t>(32, static_cast<int64_t>(rest.size()) / 4));
  // A polygon costs about as much as four inputs, and moving a weight as much as 30 operations.
  const double a_step = 6.0 * static_cast<double>(batch * width_ * (width_in + (pieces() > 0 ? 4 * numbers_ : 0))) +
                        30.0 * static_cast<double>(pieces() * width_);
  const int64_t by_size = std::clamp(static_cast<int64_t>(kOperations / a_step), kFewestSteps, kMostSteps),
                steps = most_steps > 0 ? std::min(by_size, most_steps) : by_size;
  const auto trained = static_cast<int64_t>(rest.size());
  const int64_t every = std::clamp<int64_t>(trained / kRowsPerValidation, 10, kManyRows / kRowsPerValidation),
                patience = std::max(kPatience * every, kPatientSteps);
  // Where there is time for fewer steps they are larger: too few to learn the rows by heart.
  const double fewer = static_cast<double>(by_size) / static_cast<double>(steps);
  const double rate_here = kRate * std::clamp(static_cast<double>(trained) / static_cast<double>(kManyRows) * fewer,
                                              kSmallestShareOfRate, 1.0);
  at::Tensor average = flat.clone(), best = flat.clone(), gradient = at::zeros({size()}, at::kFloat);
  std::vector<at::Tensor> g = views(gradient);
  Adam adam(size());
  double least = apart > 0 ? loss(flat, judged, judged_target) : 0;
  std::vector<int64_t> rows(static_cast<size_t>(batch));
  for (int64_t t = 1, since = 0; t <= steps && since < patience; ++t) {
    const Key own = key.child("batch").child(static_cast<uint64_t>(t));
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = rest[own.below(rest.size(), i)];
    const StateInputs in = rows_of(inputs, rows);
    const at::Tensor wanted = rows_of(target, rows);
    const Pass p = forward(w, in);
    at::Tensor d = at::log_softmax(p.out, 1).exp_();
    float* dp = d.mutable_data_ptr<float>();
    const int64_t* wp = wanted.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < batch; ++i) dp[i * states_ + wp[i]] -= 1;
    d.mul_(1.0 / static_cast<double>(batch));
    g[4].copy_(at::mm(p.h2.t(), d)), g[5].copy_(d.sum(0, true));
    const at::Tensor d2 = at::mm(d, w[4].t());
    const at::Tensor e2 = at::silu_backward(d2, p.z2);
    g[2].copy_(at::mm(p.h1.t(), e2)), g[3].copy_(e2.sum(0, true));
    const at::Tensor d1 = at::mm(e2, w[2].t()).add_(d2);
    const at::Tensor e1 = at::silu_backward(d1, p.z1);
    g[0].copy_(at::mm(in.numbers.t(), e1)), g[1].copy_(e1.sum(0, true));
    for (size_t j = 0; j < in.states.size(); ++j) g[6 + j].zero_(), g[6 + j].index_add_(0, in.states[j], e1);
    polygon_gradient(e1, in.numbers, g.back());
    const double rate =
        0.5 * rate_here * (1 + std::cos(std::numbers::pi * static_cast<double>(t) / static_cast<double>(steps)));
    adam.step(flat.mutable_data_ptr<float>(), gradient.const_data_ptr<float>(), average.mutable_data_ptr<float>(), t,
              rate, std::min(kAverage, static_cast<double>(t) / static_cast<double>(t + 9)));
    if (t % every != 0 && t != steps) continue;
    const double now = apart > 0 ? loss(average, judged, judged_target) : -static_cast<double>(t);
    since += every;
    if (now < least) least = now, best.copy_(average), since = 0;
  }
  weights_ = best;
}

at::Tensor StateNet::logits(const StateInputs& inputs) const { return forward(views(weights_), inputs).out; }

bool StateNet::set_weights(const at::Tensor& weights) {
  if (weights.scalar_type() != at::kFloat || weights.dim() != 1 || weights.numel() != size()) return false;
  weights_ = weights.contiguous();
  return true;
}

}  // namespace htfm
