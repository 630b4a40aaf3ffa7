#include "htfm/sample/sample_together.h"

#include <ATen/ops/empty.h>

#include <chrono>

#include "htfm/base/error.h"

namespace htfm {

namespace {

// Rows of all processes, of which each brings some.
at::Tensor joined_rows(Communicator& c, const at::Tensor& own, int64_t rows, int64_t block) {
  const int64_t width = own.dim() > 1 ? own.size(1) : 1, blocks = (rows + block - 1) / block;
  std::vector<size_t> bytes;
  for (int r = 0; r < c.size(); ++r) {
    const Share share = share_of(blocks, r, c.size());
    bytes.push_back(
        static_cast<size_t>((std::min(rows, share.end * block) - std::min(rows, share.begin * block)) * width) *
        sizeof(double));
  }
  std::vector<int64_t> shape = own.sizes().vec();
  shape[0] = rows;
  at::Tensor all = at::empty(shape, at::kDouble);
  c.all_gather(own.const_data_ptr(), all.mutable_data_ptr(), bytes);
  return all;
}

}  // namespace

SampleResult sample_together(const Model& model, const SampleOptions& options, Communicator* processes) {
  if (!processes) return sample(model, options);
  const auto started = std::chrono::steady_clock::now();
  SampleOptions own_options = options;
  if (processes->rank() != 0) own_options.report = {};
  PartSampler sampler(model, own_options);
  const int64_t block = sampler.block_rows(), n = options.n, blocks = (n + block - 1) / block;
  if (blocks < processes->size()) return sample(model, own_options);
  const Share own = share_of(blocks, *processes);
  const int64_t first = own.begin * block, count = std::min(n, own.end * block) - first;
  SampleResult drawn = sampler.draw(first, count), out = drawn;
  out.samples = joined_rows(*processes, drawn.samples.contiguous(), n, block);
  out.area = joined_rows(*processes, drawn.area.contiguous(), n, block);
  if (drawn.conditions.defined()) out.conditions = joined_rows(*processes, drawn.conditions.contiguous(), n, block);
  double evaluations = 0;
  for (const double v : gather_values(*processes, drawn.evaluations * static_cast<double>(count))) evaluations += v;
  out.evaluations = evaluations / static_cast<double>(n);
  const auto total = [&](int64_t value) {
    int64_t sum = 0;
    for (const double v : gather_values(*processes, static_cast<double>(value))) sum += static_cast<int64_t>(v);
    return sum;
  };
  out.diverged = total(drawn.diverged), out.incomplete = total(drawn.incomplete);
  for (const double v : gather_values(*processes, static_cast<double>(drawn.most_evaluations)))
    out.most_evaluations = std::max(out.most_evaluations, static_cast<int64_t>(v));
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return out;
}

}  // namespace htfm
