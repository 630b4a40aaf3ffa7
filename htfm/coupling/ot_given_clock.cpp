#include "htfm/coupling/ot_given_clock.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <numeric>

#include "htfm/coupling/assignment.h"

namespace htfm {

namespace {

// A batch is cut into groups. A group has one clock, its own sources given that clock, and the cheapest pairing inside.
// Rows of a batch come in random order, so a group's data are independent of its clock, and given the clock both
// marginals are kept.
class TransportGivenClock final : public Coupling {
 public:
  explicit TransportGivenClock(const CouplingContext& c)
      : spec_(c.spec), source_(c.source), dim_(c.dim), neighbours_(c.neighbours) {}
  SourceBatch pair(Key key, const DataBatch& data, const std::vector<double>&, bool) const override {
    const int64_t n = data.rows.size(0);
    // The rows of a group stand side by side in `place`; with conditions they are neighbours.
    std::vector<int64_t> place, clock_of(static_cast<size_t>(n));
    std::vector<Share> groups;
    for (const std::vector<int64_t>& part : exchangeable_rows(neighbours_.get(), data)) {
      const auto rows = static_cast<int64_t>(part.size()), size = std::min(rows, spec_.group);
      for (int64_t first = 0; first < rows; first += size) {
        const auto begin = static_cast<int64_t>(place.size());
        for (int64_t i = first; i < std::min(rows, first + size); ++i) {
          place.push_back(part[i]);
          clock_of[part[i]] = static_cast<int64_t>(groups.size());
        }
        groups.push_back({begin, static_cast<int64_t>(place.size())});
      }
    }
    SourceBatch batch = source_.clocks(key, static_cast<int64_t>(groups.size()));
    batch.reorder(clock_of);
    batch.source = sample_source(key.child("source"), batch.area, dim_);
    source_.place(batch.area, batch.source);
    const at::Tensor index = at::from_blob(place.data(), {n}, at::kLong), sources = batch.source.index_select(0, index),
                     rows = data.rows.index_select(0, index).to(at::kDouble);
    const double *x0 = sources.const_data_ptr<double>(), *x1 = rows.const_data_ptr<double>();
    std::vector<int64_t> order(static_cast<size_t>(n));
    for (const Share& g : groups) {
      const std::vector<int64_t> own =
          assign(g.count(), x0 + g.begin * dim_, x1 + g.begin * dim_, dim_, spec_.ot_power);
      for (int64_t i = 0; i < g.count(); ++i) order[place[g.begin + i]] = place[g.begin + own[i]];
    }
    batch.reorder(order);
    return batch;
  }

 private:
  CouplingSpec spec_;
  const SourceSampler& source_;
  int64_t dim_;
  std::shared_ptr<const ConditionNeighbours> neighbours_;
};

}  // namespace

std::unique_ptr<Coupling> make_ot_given_clock(const CouplingContext& context) {
  return std::make_unique<TransportGivenClock>(context);
}

}  // namespace htfm
