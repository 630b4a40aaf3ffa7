#include "htfm/coupling/coupling.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "htfm/base/registry.h"
#include "htfm/coupling/assignment.h"
#include "htfm/coupling/ot_given_clock.h"
#include "htfm/coupling/pool.h"
#include "htfm/coupling/sinkhorn.h"

namespace htfm {

namespace {

std::vector<double> norms(const at::Tensor& x) {
  const int64_t n = x.size(0), dim = x.size(1);
  const double* p = x.const_data_ptr<double>();
  std::vector<double> out(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    double square = 0;
    for (int64_t k = i * dim; k < (i + 1) * dim; ++k) square += p[k] * p[k];
    out[i] = square;
  }
  return out;
}

// The k-th smallest of `ours` goes to the k-th smallest level.
void pair_by_rank(const std::vector<double>& level, std::span<const double> ours, SourceBatch& batch) {
  const std::vector<int64_t> data = ascending_order(level), source = ascending_order(ours);
  std::vector<int64_t> order(data.size());
  for (size_t k = 0; k < data.size(); ++k) order[data[k]] = source[k];
  batch.reorder(order);
}

// The paper's choice: clock and source know nothing of the data.
class Independent final : public Coupling {
 public:
  explicit Independent(const CouplingContext& c) : source_(c.source), dim_(c.dim) {}
  SourceBatch pair(Key key, const DataBatch& batch, const std::vector<double>&, bool points) const override {
    const int64_t n = batch.rows.size(0);
    return points ? source_.draw(key, n, dim_) : source_.clocks(key, n);
  }

 private:
  const SourceSampler& source_;
  int64_t dim_;
};

// Within the batch, large sources (radial) or large clocks (clock) go to large data.
class Ranked final : public Coupling {
 public:
  Ranked(const CouplingContext& c, bool by_clock) : source_(c.source), dim_(c.dim), by_clock_(by_clock) {}
  SourceBatch pair(Key key, const DataBatch& data, const std::vector<double>& level, bool points) const override {
    const int64_t n = data.rows.size(0);
    SourceBatch batch = points || !by_clock_ ? source_.draw(key, n, dim_) : source_.clocks(key, n);
    if (by_clock_)
      pair_by_rank(level, {batch.area.const_data_ptr<double>(), level.size()}, batch);
    else
      pair_by_rank(level, norms(batch.source), batch);
    return batch;
  }

 private:
  const SourceSampler& source_;
  int64_t dim_;
  bool by_clock_;
};

// The minibatch transport that moves the batch the least: exact, or entropic where that takes too long. Clock and
// source move together.
class Transport final : public Coupling {
 public:
  explicit Transport(const CouplingContext& c)
      : spec_(c.spec), source_(c.source), dim_(c.dim), neighbours_(c.neighbours) {}
  SourceBatch pair(Key key, const DataBatch& data, const std::vector<double>&, bool) const override {
    const int64_t n = data.rows.size(0);
    SourceBatch batch = source_.draw(key, n, dim_);
    const at::Tensor rows = data.rows.to(at::kDouble);
    if (!neighbours_) {
      batch.reorder(plan(key.child("plan"), batch.source, rows));
      return batch;
    }
    std::vector<int64_t> order(static_cast<size_t>(n));
    uint64_t part = 0;
    for (std::vector<int64_t>& own : exchangeable_rows(neighbours_.get(), data)) {
      const at::Tensor index = at::from_blob(own.data(), {static_cast<int64_t>(own.size())}, at::kLong);
      const std::vector<int64_t> within =
          plan(key.child("plan").child(part++), batch.source.index_select(0, index), rows.index_select(0, index));
      for (size_t i = 0; i < own.size(); ++i) order[own[i]] = own[within[i]];
    }
    batch.reorder(order);
    return batch;
  }

 private:
  std::vector<int64_t> plan(Key key, const at::Tensor& sources, const at::Tensor& rows) const {
    const double *x0 = sources.const_data_ptr<double>(), *x1 = rows.const_data_ptr<double>();
    const int64_t n = rows.size(0);
    SinkhornOptions entropic;
    entropic.epsilon = spec_.ot_entropy;
    return spec_.ot_entropy > 0 ? sinkhorn_coupling(key, n, x0, x1, dim_, spec_.ot_power, entropic)
                                : assign(n, x0, x1, dim_, spec_.ot_power);
  }

  CouplingSpec spec_;
  const SourceSampler& source_;
  int64_t dim_;
  std::shared_ptr<const ConditionNeighbours> neighbours_;
};

}  // namespace

double tail_slope(const Clock& clock, const MagnitudeLaw& sizes) {
  const double source = clock.tail_exponent();
  return sizes.tail().from < 1 && std::isfinite(source) ? source * sizes.tail().shape() : 0;
}

std::vector<std::vector<int64_t>> exchangeable_rows(const ConditionNeighbours* neighbours, const DataBatch& batch) {
  const int64_t n = batch.rows.size(0);
  std::map<int32_t, std::vector<int64_t>> parts;
  for (int64_t i = 0; i < n; ++i) parts[neighbours ? neighbours->leaf[batch.index[i]] : 0].push_back(i);
  std::vector<std::vector<int64_t>> out;
  for (auto& [leaf, rows] : parts) out.push_back(std::move(rows));
  return out;
}

std::vector<int64_t> ascending_order(std::span<const double> values) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return values[a] < values[b] || (values[a] == values[b] && a < b); });
  return order;
}

namespace {

Registry<CouplingInfo>& coupling_registry() {
  static Registry<CouplingInfo> registry({
      {"independent", "clock and source independent of the data",
       [](const CouplingContext& c) -> std::unique_ptr<Coupling> { return std::make_unique<Independent>(c); }},
      {"radial", "within the batch, the k-th smallest source with the k-th smallest data",
       [](const CouplingContext& c) -> std::unique_ptr<Coupling> { return std::make_unique<Ranked>(c, false); }},
      {"clock", "within the batch, the k-th smallest clock with the k-th smallest data",
       [](const CouplingContext& c) -> std::unique_ptr<Coupling> { return std::make_unique<Ranked>(c, true); }},
      {"pool", "the data's size ranked in the whole data set, the source's in a large pool", make_pool_coupling},
      {"ot", "within the batch, the pairing of least cost |x_0 - x_1|^ot_power",
       [](const CouplingContext& c) -> std::unique_ptr<Coupling> { return std::make_unique<Transport>(c); }},
      {"ot-given-clock", "coupling.group sources of one clock, and inside the group the pairing of least cost",
       make_ot_given_clock},
  });
  return registry;
}

}  // namespace

EntryList<CouplingInfo> couplings() { return coupling_registry().list(); }

void register_coupling(CouplingInfo coupling) {
  if (!coupling.make)
    throw InputError("[register_coupling] {}: expected a function that makes the coupling, got none", coupling.name);
  check_options(coupling.options, "coupling", coupling.name);
  coupling_registry().add(std::move(coupling), "coupling");
}

std::unique_ptr<Coupling> make_coupling(const CouplingContext& c) {
  const CouplingInfo& info = find_named(couplings(), c.spec.kind, "coupling.kind");
  CouplingContext context = c;
  context.spec.options = own_options(info.options, c.spec.options, "coupling", info.name);
  std::unique_ptr<Coupling> out = info.make(context);
  if (!out) throw Error("[coupling.kind] expected {} to make a coupling, got none", info.name);
  return out;
}

}  // namespace htfm
