#include "htfm/coupling/ot_given_clock.h"

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
  explicit TransportGivenClock(const CouplingContext& c) : spec_(c.spec), source_(c.source), dim_(c.dim) {}
  SourceBatch pair(Key key, const DataBatch& data, const std::vector<double>&, bool) const override {
    const int64_t n = data.rows.size(0), size = std::min(n, spec_.group), groups = (n + size - 1) / size;
    SourceBatch batch = source_.clocks(key, groups);
    std::vector<int64_t> clock_of(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) clock_of[i] = i / size;
    batch.reorder(clock_of);
    batch.source = sample_source(key.child("source"), batch.area, dim_);
    source_.place(batch.area, batch.source);
    const at::Tensor rows = data.rows.to(at::kDouble);
    const double *x0 = batch.source.const_data_ptr<double>(), *x1 = rows.const_data_ptr<double>();
    std::vector<int64_t> order(static_cast<size_t>(n));
    for (int64_t first = 0; first < n; first += size) {
      const int64_t count = std::min(size, n - first);
      const std::vector<int64_t> own = assign(count, x0 + first * dim_, x1 + first * dim_, dim_, spec_.ot_power);
      for (int64_t i = 0; i < count; ++i) order[first + i] = first + own[i];
    }
    batch.reorder(order);
    return batch;
  }

 private:
  CouplingSpec spec_;
  const SourceSampler& source_;
  int64_t dim_;
};

}  // namespace

std::unique_ptr<Coupling> make_ot_given_clock(const CouplingContext& context) {
  return std::make_unique<TransportGivenClock>(context);
}

}  // namespace htfm
