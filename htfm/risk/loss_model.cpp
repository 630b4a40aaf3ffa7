#include "htfm/risk/loss_model.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/nonzero.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/sample/sampler.h"

namespace htfm {

LossModel::LossModel(const Model& model, const std::vector<int64_t>& columns, std::vector<double> weights, int64_t n,
                     uint64_t seed, const std::function<void(int64_t, int64_t)>& report)
    : model_(model), weights_(std::move(weights)), key_(Key(seed).child("risk")) {
  const TableTransform& transform = model.transform();
  SampleOptions options = sample_options(model.config());
  options.n = n, options.seed = seed, options.as_drawn = true, options.report = report;
  const SampleResult result = sample(model, options);
  at::Tensor drawn = result.samples;
  at::Tensor rows = model.to_data(drawn, discrete_key(options), 0, result.conditions).contiguous();
  at::Tensor whole = at::isfinite(drawn).all(1);
  for (const int64_t column : columns) whole = whole.logical_and(at::isfinite(rows.select(1, column)));
  const at::Tensor kept = at::nonzero(whole).flatten();
  n_ = kept.size(0), left_out_ = n - n_;
  if (n_ < 1000) throw InputError("[risk] expected 1000 samples that are finite, got {}", n_);
  if (left_out_ > 0) drawn = drawn.index_select(0, kept), rows = rows.index_select(0, kept);
  const int64_t all = transform.columns(), dim = transform.dim();
  const double* x = rows.const_data_ptr<double>();
  // Laws given a condition are those of a part of the rows each: of all rows only samples tell.
  const bool scored = transform.scored() && !transform.conditional();
  const std::vector<TailPlace> places = scored ? transform.places(drawn) : std::vector<TailPlace>();
  const bool related = !model.config().data.constraints.empty();
  std::vector<int64_t> seen(static_cast<size_t>(all), -1);
  for (int64_t k = 0, next = 0; k < all; ++k)
    if (!transform.list()[static_cast<size_t>(k)].constant) seen[static_cast<size_t>(k)] = next++;
  for (const int64_t k : columns) {
    Column& c = columns_.emplace_back();
    c.column = k, c.kind = &transform.list()[static_cast<size_t>(k)];
    c.values.resize(static_cast<size_t>(n_));
    for (int64_t i = 0; i < n_; ++i) c.values[static_cast<size_t>(i)] = x[i * all + k];
    const int64_t place = seen[static_cast<size_t>(k)];
    // States that are drawn beside a flow, and constraints between columns, make another law of what the flow draws.
    c.own = scored && place >= 0 && !related && !transform.discrete().of(k);
    if (!c.own) continue;
    c.law = transform.margin(place);
    c.exact = transform.calibrated() && c.kind->values.empty();
    c.places.resize(static_cast<size_t>(n_));
    for (int64_t i = 0; i < n_; ++i) c.places[static_cast<size_t>(i)] = places[static_cast<size_t>(i * dim + place)];
  }
}

// As the model's own laws were fitted: lattices spread over their cells by the same numbers.
std::vector<double> LossModel::spread_rows(const at::Tensor& rows, size_t k) const {
  const Key own = Key(static_cast<uint64_t>(model_.config().seed)).child("spread").child(static_cast<uint64_t>(k));
  const at::Tensor values = rows.select(1, static_cast<int64_t>(k)).to(at::kDouble).contiguous();
  const double* x = values.const_data_ptr<double>();
  std::vector<double> out(static_cast<size_t>(values.numel()));
  for (size_t i = 0; i < out.size(); ++i) out[i] = columns_[k].kind->spread(x[i], own.uniform(i));
  return out;
}

// As many rows of the model as its laws were fitted to, each column at the laws' own quantiles in the order of the
// samples: what a table of such a model looks like.
at::Tensor LossModel::rows_like_the_model() const {
  int64_t n = 0;
  for (const Column& c : columns_)
    for (const MarginTail* t : {&c.law.below(), &c.law.above()})
      if (c.own && t->there())
        n = std::max<int64_t>(
            n, std::llround((static_cast<double>(t->exceedances) + 0.5) / t->share / c.law.share_of_others()));
  n = std::min(n, n_);
  if (n < 2) return {};
  const int64_t all = model_.transform().columns();
  at::Tensor out = at::empty({n, all}, at::kDouble);
  double* x = out.mutable_data_ptr<double>();
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (const Column& c : columns_) {
    std::iota(order.begin(), order.end(), int64_t{0});
    if (c.own)
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return c.places[static_cast<size_t>(a)].level() < c.places[static_cast<size_t>(b)].level();
      });
    for (int64_t r = 0; r < n; ++r) {
      const int64_t i = order[static_cast<size_t>(r)];
      const double p = (static_cast<double>(r) + 0.5) / static_cast<double>(n);
      x[i * all + c.column] =
          c.own ? c.kind->settle(c.law.value(TailPlace::of_level(p))) : c.values[static_cast<size_t>(i)];
    }
  }
  return out;
}

RiskUncertainty LossModel::prepare_rounds(const at::Tensor& given, int64_t rounds, Key key) {
  const bool own = std::any_of(columns_.begin(), columns_.end(), [](const Column& c) { return c.own; });
  const at::Tensor rows = given.defined() ? given : own ? rows_like_the_model() : at::Tensor();
  rows_ = {rows.defined() ? rows.size(0) : 0, rounds, key.child("rows")};
  if (!rows.defined()) return RiskUncertainty::samples;
  for (size_t k = 0; k < columns_.size(); ++k) {
    Column& c = columns_[k];
    if (c.kind->constant) continue;  // or a few values, drawn by their shares
    std::vector<double> values = spread_rows(rows, k);
    if (!c.own && !fit_law(c, values, k)) continue;
    c.rounds.emplace_back(c.law, std::move(values), rows_, key.child("tails").child(static_cast<uint64_t>(c.column)));
  }
  return RiskUncertainty::tail_fit;
}

// The law of a column's training rows, where it is not the model's own, and the samples' places in it.
bool LossModel::fit_law(Column& c, const std::vector<double>& values, size_t k) const {
  std::vector<double> sorted;
  for (const double v : values)
    if (std::isfinite(v)) sorted.push_back(v);
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() < 2 || sorted.front() == sorted.back()) return false;
  c.law = Margin::fit(sorted, margin_options(*c.kind, sorted));
  c.places.resize(c.values.size()), c.spread.resize(c.values.size());
  const Key own = key_.child(static_cast<uint64_t>(k));
  for (size_t i = 0; i < c.values.size(); ++i) {
    const double u = own.uniform(i);
    c.spread[i] = c.kind->spread(c.values[i], u);
    c.places[i] = c.law.place(c.spread[i], u);
  }
  return true;
}

LossSamples LossModel::pushed(const std::vector<Margin>& laws, const std::function<int64_t(int64_t)>& row,
                              int64_t n) const {
  LossSamples out;
  out.fewest = kFewestBeyond * static_cast<double>(n) / static_cast<double>(n_);  // a round sees half of them
  std::vector<size_t> rows(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) rows[static_cast<size_t>(i)] = static_cast<size_t>(row(i));
  for (size_t k = 0; k < columns_.size(); ++k) {
    const Column& c = columns_[k];
    std::vector<double> values(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const size_t r = rows[i];
      if (laws.empty() || c.rounds.empty())
        values[i] = c.values[r];
      else if (c.own)
        values[i] = c.kind->settle(laws[k].value(c.places[r]));
      else  // the model's own value, moved as far as the law of the rows moves
        values[i] = c.kind->settle(c.spread[r] + laws[k].value(c.places[r]) - c.law.value(c.places[r]));
    }
    out.values.push_back(std::move(values));
    out.laws.push_back(laws.empty() ? c.law : laws[k]);
    out.exact.push_back(c.exact ? c.kind : nullptr);
    out.endless_above.push_back(!out.laws[k].above().has_mean());
    out.endless_below.push_back(!out.laws[k].below().has_mean());
  }
  if (!weights_.empty()) add_portfolio(out);
  return out;
}

void LossModel::add_portfolio(LossSamples& s) const {
  std::vector<double> sum(s.values[0].size(), 0.0);
  bool above = false, below = false;
  for (size_t k = 0; k < weights_.size(); ++k) {
    const double w = weights_[k];
    if (w == 0) continue;
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += w * s.values[k][i];
    above = above || (w > 0 ? s.endless_above[k] : s.endless_below[k]);
    below = below || (w > 0 ? s.endless_below[k] : s.endless_above[k]);
  }
  s.values.push_back(std::move(sum));
  s.exact.push_back(nullptr);
  s.endless_above.push_back(above), s.endless_below.push_back(below);
}

LossSamples LossModel::point() const {
  return pushed(
      {}, [](int64_t i) { return i; }, n_);
}

bool LossModel::portfolio_of_laws() const {
  for (size_t k = 0; k < weights_.size(); ++k)
    if (weights_[k] != 0 && !columns_[k].exact &&
        (!columns_[k].kind->constant || model_.transform().discrete().of(columns_[k].column)))
      return false;
  return !weights_.empty();
}

std::vector<Margin> LossModel::laws(int64_t b) const {
  std::vector<Margin> out;
  if (rows_.rows == 0) return out;
  const std::vector<int32_t> counts = rows_.counts(b);
  for (const Column& c : columns_) out.push_back(c.rounds.empty() ? c.law : c.rounds[0].law(b, counts));
  return out;
}

LossSamples LossModel::round(int64_t b) const {
  const Key own = key_.child("half").child(static_cast<uint64_t>(b));
  return pushed(
      laws(b),
      [&](int64_t i) {
        const uint64_t word = own.bits(static_cast<uint64_t>(i) / 64);
        return 2 * i + static_cast<int64_t>((word >> (i % 64)) & 1);
      },
      n_ / 2);
}

}  // namespace htfm
