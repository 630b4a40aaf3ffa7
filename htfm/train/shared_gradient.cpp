#include "htfm/train/shared_gradient.h"

#include <ATen/ops/empty.h>

#include "htfm/base/parallel.h"

namespace htfm {

namespace {

Share rows_of_rank(const Network& network, int64_t rows, int rank, int size) {
  const Share parts = share_of(network.part_count(rows), rank, size);
  return {network.part_begin(rows, parts.begin), network.part_begin(rows, parts.end)};
}

}  // namespace

Share own_rows(const Network& network, int64_t rows, const Communicator& processes) {
  return rows_of_rank(network, rows, processes.rank(), processes.size());
}

double shared_gradient(Communicator& processes, const Network& network, const float* parameters,
                       const NetworkInput& input, const SampleLoss& loss, float* gradient) {
  const int64_t parts = network.part_count(input.t.numel()), size = network.layout().size();
  const Share own = share_of(parts, processes);
  const at::Tensor sums = at::empty({own.count(), size}, at::kFloat);  // aligned as the kernels want it
  std::vector<float*> part(static_cast<size_t>(own.count()));
  for (size_t k = 0; k < part.size(); ++k) part[k] = sums.mutable_data_ptr<float>() + static_cast<int64_t>(k) * size;
  std::vector<double> values(static_cast<size_t>(parts));
  parallel_for(own.count(), [&](int64_t k) {
    values[static_cast<size_t>(own.begin + k)] =
        network.part_gradient(parameters, input, loss, own.begin + k, part[static_cast<size_t>(k)]);
  });
  sum_in_order(processes, parts, std::vector<const float*>(part.begin(), part.end()), size, gradient);
  share_rows(processes, parts, 1, values.data());  // last: nobody waits for all before the sum begins
  double total = 0;
  for (const double v : values) total += v;
  return total;
}

void share_row_values(Communicator& processes, const Network& network, std::span<double> values) {
  const auto rows = static_cast<int64_t>(values.size());
  std::vector<size_t> bytes;
  for (int r = 0; r < processes.size(); ++r)
    bytes.push_back(static_cast<size_t>(rows_of_rank(network, rows, r, processes.size()).count()) * sizeof(double));
  const Share own = own_rows(network, rows, processes);
  const std::vector<double> copy(values.begin() + own.begin, values.begin() + own.end);
  processes.all_gather(copy.data(), values.data(), bytes);
}

}  // namespace htfm
