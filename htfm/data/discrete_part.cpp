#include "htfm/data/discrete_part.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "htfm/base/error.h"
#include "htfm/base/nan.h"
#include "htfm/base/parallel.h"
#include "htfm/base/single_thread_guard.h"
#include "htfm/data/date_cells.h"
#include "htfm/data/state_net.h"
#include "htfm/io/dtype.h"

namespace htfm {

namespace {

constexpr int64_t kDrawn = 512;  // rows at a time, always so many: a row's bits then do not depend on the others
constexpr int kBalanceRounds = 4;
constexpr int64_t kKept = 20'000'000;  // logarithms of shares; more are computed anew in every round
constexpr const char *kState = "transform.state.", *kStateKnots = "transform.state.knots";

bool same_value(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Numbers as a network likes them: far values drawn in.
at::Tensor as_input(const at::Tensor& seen) { return seen.to(at::kDouble).asinh().to(at::kFloat).contiguous(); }

// Knots of a checkpoint: of each number none, or at least two that ascend, and nothing after them.
at::Tensor checked_knots(const at::Tensor& knots, int64_t dim, const std::string& path) {
  bool good = knots.dim() == 2 && knots.size(0) == dim && knots.size(1) <= Polygons::kMost + 1 &&
              knots.scalar_type() == at::kFloat;
  const at::Tensor out = knots.contiguous();
  const float* k = good ? out.const_data_ptr<float>() : nullptr;
  for (int64_t j = 0; good && j < dim; ++j, k += out.size(1)) {
    int64_t count = 0;
    while (count < out.size(1) && std::isfinite(k[count]) && (count == 0 || k[count] > k[count - 1])) ++count;
    good = count != 1 && std::all_of(k + count, k + out.size(1), [](float v) { return std::isnan(v); });
  }
  if (!good)
    throw InputError("[checkpoint] {}: expected '{}' in float32 as ascending knots of {} numbers, got {}", path,
                     kStateKnots, dim, tensor_text(knots));
  return out;
}

}  // namespace

struct DiscretePart::Laws {
  int64_t dim = 0;
  std::vector<StateNet> nets;      // one a column; empty until learned
  std::vector<at::Tensor> shifts;  // of the logits, float32, one a state
  at::Tensor knots;                // of the numbers (state_knots); undefined in old checkpoints

  bool learned() const { return !nets.empty(); }
  void make(const std::vector<DiscreteColumn>& list, int64_t numbers, at::Tensor of_numbers) {
    dim = numbers;
    knots = std::move(of_numbers);
    std::vector<int64_t> counts;
    nets.clear(), shifts.clear();
    for (const DiscreteColumn& c : list) {
      nets.emplace_back(numbers, counts, c.states(), knots);
      shifts.push_back(at::zeros({c.states()}, at::kFloat));
      counts.push_back(c.states());
    }
  }
};

std::string DiscreteColumn::describe() const {
  std::string text;
  double missing = 0;
  int64_t count = 0;
  for (size_t k = flows ? 1 : 0; k < values.size(); ++k) {
    if (std::isnan(values[k]))
      missing = shares[k];
    else if (flows)
      text += fmt::format(", {:.6g} in {:.3g} % of the rows", values[k], 100 * shares[k]);
    else
      ++count;
  }
  if (!flows) text = fmt::format("one of {} values", count);
  if (missing > 0) text += fmt::format(", {:.3g} % missing", 100 * missing);
  return text;
}

DiscretePart::DiscretePart() : laws_(std::make_unique<Laws>()) {}
DiscretePart::~DiscretePart() = default;
DiscretePart::DiscretePart(const DiscretePart& other)
    : list_(other.list_), laws_(std::make_unique<Laws>(*other.laws_)) {}
DiscretePart& DiscretePart::operator=(const DiscretePart& other) {
  list_ = other.list_, laws_ = std::make_unique<Laws>(*other.laws_);
  return *this;
}
DiscretePart::DiscretePart(DiscretePart&&) noexcept = default;
DiscretePart& DiscretePart::operator=(DiscretePart&&) noexcept = default;

bool DiscreteColumn::draws_as_state(double value) const {
  return flows && std::find(values.begin() + 1, values.end(), value) != values.end();
}

const DiscreteColumn* DiscretePart::of(int64_t column) const {
  for (const DiscreteColumn& c : list_)
    if (c.column == column && c.part == DatePart::none) return &c;
  return nullptr;
}

bool DiscretePart::has_holes() const {
  return std::any_of(list_.begin(), list_.end(),
                     [](const DiscreteColumn& c) { return c.flows && c.part == DatePart::none; });
}

// A number that no state stands for is the flow's; else the nearest state.
at::Tensor DiscretePart::states_of(const at::Tensor& rows) const {
  const int64_t n = rows.size(0), width = rows.size(1), heads = static_cast<int64_t>(list_.size());
  const double* x = rows.const_data_ptr<double>();
  at::Tensor out = at::empty({n, heads}, at::kLong);
  int64_t* s = out.mutable_data_ptr<int64_t>();
  parallel_for(heads, [&](int64_t h) {
    const DiscreteColumn& c = list_[static_cast<size_t>(h)];
    if (c.part != DatePart::none) {
      const DateCells cells(c);
      int64_t state = 0;  // where a date is missing: that of the row before
      for (int64_t i = 0; i < n; ++i) {
        if (const double v = x[i * width + c.column]; !std::isnan(v)) state = cells.of(v);
        s[i * heads + h] = state;
      }
      return;
    }
    const int64_t first = c.flows ? 1 : 0;
    std::map<double, int64_t> places;
    int64_t gap = 0;
    for (int64_t k = first; k < c.states(); ++k)
      std::isnan(c.values[static_cast<size_t>(k)]) ? gap = k : places[c.values[static_cast<size_t>(k)]] = k;
    for (int64_t i = 0; i < n; ++i) {
      const double v = x[i * width + c.column];
      int64_t state = gap;
      if (!std::isnan(v)) {
        auto at = places.find(v);
        state = at != places.end() ? at->second : 0;
        if (at == places.end() && !c.flows && !places.empty()) {
          at = places.lower_bound(v);
          state = at == places.end() ? std::prev(at)->second : at->second;
        }
      }
      s[i * heads + h] = state;
    }
  });
  return out;
}

at::Tensor DiscretePart::flowing(const at::Tensor& rows) const {
  at::Tensor out = rows.to(at::kDouble).clone();
  const int64_t n = out.size(0), width = out.size(1);
  double* x = out.mutable_data_ptr<double>();
  for (const DiscreteColumn& c : list_) {
    if (!c.flows || c.part != DatePart::none) continue;
    for (int64_t i = 0; i < n; ++i)
      for (size_t k = 1; k < c.values.size(); ++k)
        if (same_value(x[i * width + c.column], c.values[k])) x[i * width + c.column] = kNan;
  }
  return out;
}

bool DiscretePart::learned() const { return laws_->learned(); }
bool DiscretePart::told_as_seen() const { return learned() && !laws_->knots.defined(); }

void DiscretePart::learn(const at::Tensor& rows, const at::Tensor& seen, Key key, const std::vector<bool>& smooth,
                         int64_t most_steps) {
  if (empty()) return;
  const at::Tensor states = states_of(rows.to(at::kDouble).contiguous()), numbers = as_input(seen);
  Laws laws;
  laws.make(list_, numbers.size(1), state_knots(numbers, smooth));
  std::vector<at::Tensor> columns;
  for (int64_t h = 0; h < states.size(1); ++h) columns.push_back(states.select(1, h).contiguous());
  // The largest networks first: they would keep one thread busy at the end.
  std::vector<int64_t> order(list_.size());
  for (size_t h = 0; h < order.size(); ++h) order[h] = static_cast<int64_t>(h);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return list_[static_cast<size_t>(a)].states() > list_[static_cast<size_t>(b)].states();
  });
  parallel_for(static_cast<int64_t>(order.size()), [&](int64_t k) {
    const int64_t h = order[static_cast<size_t>(k)];
    StateInputs inputs{numbers};
    inputs.states.assign(columns.begin(), columns.begin() + h);
    laws.nets[static_cast<size_t>(h)].train(inputs, columns[static_cast<size_t>(h)],
                                            key.child("state").child(static_cast<uint64_t>(h)), most_steps);
  });
  *laws_ = std::move(laws);
}

at::Tensor DiscretePart::draw(const at::Tensor& seen, Key key, int64_t first) const {
  std::vector<at::Tensor> shifts = laws_->shifts;
  return draw_with(seen, key, first, false, shifts);
}

at::Tensor DiscretePart::draw_balanced(const at::Tensor& seen, Key key) {
  return draw_with(seen, key, 0, true, laws_->shifts);
}

at::Tensor DiscretePart::draw_with(const at::Tensor& seen, Key key, int64_t first, bool balance,
                                   std::vector<at::Tensor>& shifts) const {
  const int64_t n = seen.size(0), heads = static_cast<int64_t>(list_.size());
  std::vector<at::Tensor> states;
  for (int64_t h = 0; h < heads; ++h) states.push_back(at::zeros({n}, at::kLong));
  const at::Tensor numbers = learned() ? as_input(seen) : at::Tensor();
  const int64_t parts = (n + kDrawn - 1) / kDrawn;
  for (int64_t h = 0; h < heads; ++h) {
    const DiscreteColumn& c = list_[static_cast<size_t>(h)];
    const Key own = key.child("states").child(static_cast<uint64_t>(h));
    const int64_t count = c.states();
    // Mean shares of the states by the law, shifted as it stands; with `choose` states are drawn by it.
    std::vector<at::Tensor> kept(static_cast<size_t>(balance && n * count <= kKept ? parts : 0));
    const auto pass = [&](bool choose) {
      std::vector<std::vector<double>> sums(static_cast<size_t>(parts),
                                            std::vector<double>(static_cast<size_t>(count)));
      parallel_for(parts, [&](int64_t part) {
        const OwnThread one;
        const int64_t begin = part * kDrawn, rows = std::min(kDrawn, n - begin);
        at::Tensor p = at::zeros({rows, count}, at::kFloat);
        at::Tensor* known = kept.empty() ? nullptr : &kept[static_cast<size_t>(part)];
        if (learned() && known && known->defined()) {
          p = known->add(shifts[static_cast<size_t>(h)]);
        } else if (learned()) {
          StateInputs inputs{at::zeros({kDrawn, seen.size(1)}, at::kFloat)};
          inputs.numbers.narrow(0, 0, rows).copy_(numbers.narrow(0, begin, rows));
          for (int64_t j = 0; j < h; ++j) {
            inputs.states.push_back(at::zeros({kDrawn}, at::kLong));
            inputs.states.back().narrow(0, 0, rows).copy_(states[static_cast<size_t>(j)].narrow(0, begin, rows));
          }
          p = laws_->nets[static_cast<size_t>(h)].logits(inputs);
          if (known) *known = p;
          p = p.add(shifts[static_cast<size_t>(h)]);
        } else {
          for (int64_t k = 0; k < count; ++k)
            p.select(1, k).fill_(std::log(std::max(c.shares[static_cast<size_t>(k)], 1e-30)));
        }
        p = at::log_softmax(p, 1).exp_();
        const float* q = p.const_data_ptr<float>();
        int64_t* s = states[static_cast<size_t>(h)].mutable_data_ptr<int64_t>() + begin;
        for (int64_t i = 0; i < rows; ++i) {
          double sum = 0;
          const double u = choose ? own.uniform(static_cast<uint64_t>(first + begin + i)) : 2;
          int64_t state = -1;
          for (int64_t k = 0; k < count; ++k) {
            const double share = q[i * count + k];
            if (!choose && std::isfinite(share)) sums[static_cast<size_t>(part)][static_cast<size_t>(k)] += share;
            sum += share;
            if (state < 0 && sum > u) state = k;
          }
          if (choose) s[i] = state < 0 ? count - 1 : state;
        }
      });
      std::vector<double> mean(static_cast<size_t>(count));
      for (const auto& part : sums)
        for (size_t k = 0; k < mean.size(); ++k) mean[k] += part[k] / static_cast<double>(n);
      return mean;
    };
    if (balance && learned()) {
      float* shift = shifts[static_cast<size_t>(h)].mutable_data_ptr<float>();
      for (int round = 0; round < kBalanceRounds; ++round) {
        const std::vector<double> mean = pass(false);
        for (size_t k = 0; k < mean.size(); ++k)
          if (c.shares[k] > 0 && mean[k] > 0)
            shift[k] += static_cast<float>(std::clamp(std::log(c.shares[k] / mean[k]), -1.0, 1.0));
      }
    }
    pass(true);
  }
  at::Tensor out = at::empty({n, heads}, at::kLong);
  for (int64_t h = 0; h < heads; ++h) out.select(1, h).copy_(states[static_cast<size_t>(h)]);
  return out;
}

void DiscretePart::put(const at::Tensor& states, at::Tensor& rows) const {
  const int64_t n = rows.size(0), width = rows.size(1), heads = states.size(1);
  const int64_t* s = states.const_data_ptr<int64_t>();
  double* x = rows.mutable_data_ptr<double>();
  for (int64_t h = 0; h < heads; ++h) {
    const DiscreteColumn& c = list_[static_cast<size_t>(h)];
    if (c.part != DatePart::none) {
      const DateCells cells(c);
      const DiscreteColumn* own = of(c.column);
      for (int64_t i = 0; i < n; ++i) {
        double& v = x[i * width + c.column];
        if (!std::isfinite(v) || (own && own->draws_as_state(v))) continue;
        v = cells.moved(v, s[i * heads + h]);
      }
      continue;
    }
    for (int64_t i = 0; i < n; ++i)
      if (const int64_t state = s[i * heads + h]; !c.flows || state > 0)
        x[i * width + c.column] = c.values[static_cast<size_t>(state)];
  }
}

void DiscretePart::save_state(std::map<std::string, at::Tensor>& out) const {
  for (size_t h = 0; h < list_.size(); ++h) {
    const DiscreteColumn& c = list_[h];
    const std::string name = kState + std::to_string(h);
    at::Tensor info = at::empty({2, c.states() + 1}, at::kDouble);
    double* p = info.mutable_data_ptr<double>();
    p[0] = static_cast<double>(c.column),
    p[c.states() + 1] = static_cast<double>(c.flows) + 2 * static_cast<double>(c.part);
    std::copy(c.values.begin(), c.values.end(), p + 1);
    std::copy(c.shares.begin(), c.shares.end(), p + c.states() + 2);
    out[name] = info;
    if (learned()) out[name + ".net"] = laws_->nets[h].weights(), out[name + ".shift"] = laws_->shifts[h];
  }
  if (learned() && laws_->knots.defined()) out[kStateKnots] = laws_->knots;
}

DiscretePart DiscretePart::load_state(const std::map<std::string, at::Tensor>& in, const std::string& path,
                                      int64_t columns, int64_t dim) {
  DiscretePart out;
  for (int64_t h = 0;; ++h) {
    const std::string name = kState + std::to_string(h);
    const auto found = in.find(name);
    if (found == in.end()) break;
    const at::Tensor& t = found->second;
    const bool sized = t.dim() == 2 && t.size(0) == 2 && t.size(1) >= 2 && t.scalar_type() == at::kDouble;
    const double* p = sized ? t.const_data_ptr<double>() : nullptr;
    if (!sized || !(p[0] >= 0 && p[0] < static_cast<double>(columns)))
      throw InputError("[checkpoint] {}: expected '{}' as a number of a column and its states, got {}", path, name,
                       tensor_text(t));
    const int64_t states = t.size(1) - 1;
    const double code = p[states + 1];
    if (!(code >= 0 && code < 8))
      throw InputError("[checkpoint] {}: expected '{}' with a kind of states from 0 to 7, got {}", path, name, code);
    const auto part = static_cast<DatePart>(static_cast<int>(code) / 2);
    if (part != DatePart::none && states != DateCells(part, false, {}, 0, 0).count())
      throw InputError("[checkpoint] {}: expected '{}' with the states of a part of a date, got {}", path, name,
                       states);
    out.list_.push_back({.column = static_cast<int64_t>(p[0]),
                         .part = part,
                         .flows = static_cast<int>(code) % 2 != 0,
                         .values = {p + 1, p + 1 + states},
                         .shares = {p + states + 2, p + 2 * states + 2}});
  }
  if (out.empty() || !in.contains(std::string(kState) + "0.net")) return out;
  at::Tensor knots;
  if (const auto found = in.find(kStateKnots); found != in.end()) knots = checked_knots(found->second, dim, path);
  out.laws_->make(out.list_, dim, knots);
  for (size_t h = 0; h < out.list_.size(); ++h) {
    const std::string name = kState + std::to_string(h);
    const auto net = in.find(name + ".net"), shift = in.find(name + ".shift");
    if (net == in.end() || shift == in.end() || !out.laws_->nets[h].set_weights(net->second) ||
        shift->second.sizes() != out.laws_->shifts[h].sizes() || shift->second.scalar_type() != at::kFloat)
      throw InputError("[checkpoint] {}: expected '{}.net' and '.shift' of the size of their states, got {} and {}",
                       path, name, net == in.end() ? "none" : tensor_text(net->second),
                       shift == in.end() ? "none" : tensor_text(shift->second));
    out.laws_->shifts[h] = shift->second.clone();
  }
  return out;
}

}  // namespace htfm
