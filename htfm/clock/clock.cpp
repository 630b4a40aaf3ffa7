#include "htfm/clock/clock.h"

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"

#include <ATen/ops/empty.h>

namespace htfm {

std::string ClockSpec::describe() const {
  std::string inside;
  for (const auto& [name, value] : parameters) inside += fmt::format("{}{}={}", inside.empty() ? "" : ", ", name, value);
  return fmt::format("{}{}, grid {}", family, inside.empty() ? "" : "(" + inside + ")", grid);
}

ClockSample Clock::sample(Key key, const ClockRequest& request) const {
  if (request.count < 0) throw InputError("[clock] expected a count of at least 0, got {}", request.count);
  if (!request.device.is_cpu()) throw InputError("[clock] expected device cpu, got {}", request.device.str());
  const int64_t n = request.count, points = grid() + 1;
  ClockSample sample;
  sample.area = at::empty({n}, at::kDouble);
  sample.end = at::empty({n}, at::kDouble);
  if (request.paths) sample.paths = at::empty({n, points}, at::kDouble);
  double* area = sample.area.mutable_data_ptr<double>();
  double* end = sample.end.mutable_data_ptr<double>();
  double* paths = request.paths ? sample.paths.mutable_data_ptr<double>() : nullptr;
  parallel_ranges(n, 64, [&](int64_t a, int64_t b) { fill(key, request.first + a, b - a, area + a, end + a, paths ? paths + a * points : nullptr); });
  return sample;
}

at::Tensor sample_source(Key key, const at::Tensor& area, int64_t dim) {
  const int64_t n = area.size(0);
  at::Tensor x = at::empty({n, dim}, at::kDouble);
  double* out = x.mutable_data_ptr<double>();
  const double* a = area.const_data_ptr<double>();
  fill_normal(key, 0, n * dim, out);
  for (int64_t i = 0; i < n; ++i) {
    const double scale = std::sqrt(2 * a[i]);
    for (int64_t k = 0; k < dim; ++k) out[i * dim + k] *= scale;
  }
  return x;
}

}  // namespace htfm
