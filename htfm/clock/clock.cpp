#include "htfm/clock/clock.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/signature/input.h"

namespace htfm {

std::string ClockSpec::describe() const {
  std::string inside;
  for (const auto& [name, value] : parameters)
    inside += fmt::format("{}{}={}", inside.empty() ? "" : ", ", name, value);
  if (!table.empty()) inside = table[0] > 0 ? fmt::format("index {:.3g}", 2 * table[0]) : "light";
  return fmt::format("{}{}, grid {}{}", family, inside.empty() ? "" : "(" + inside + ")", grid,
                     scale == 1 ? "" : fmt::format(", scale {}", scale));
}

DeviceClockLaw Clock::device_law() const {
  throw InputError("[clock] expected a family with a CUDA backend, got {}", spec_.family);
}

ClockSample Clock::sample(Key key, const ClockRequest& request) const {
  if (request.count < 0) throw InputError("[clock] expected a count of at least 0, got {}", request.count);
  if (request.first < 0) throw InputError("[clock] expected a first index of at least 0, got {}", request.first);
  if (!request.device.is_cpu() && !request.device.is_cuda())
    throw InputError("[clock] expected device cpu or cuda, got {}", request.device.str());
  // Loading the backend is what makes tensors on the device possible.
  const ClockBackend* backend = request.device.is_cuda() ? &cuda_clock_backend() : nullptr;
  const int64_t n = request.count, points = grid() + 1;
  ClockSample sample = empty_sample(n, request.paths, request.device);
  double* area = sample.area.mutable_data_ptr<double>();
  double* end = sample.end.mutable_data_ptr<double>();
  double* paths = request.paths ? sample.paths.mutable_data_ptr<double>() : nullptr;
  if (backend) {
    backend->sample(key.value(), device_law(), request.first, n, area, end, paths);
  } else {
    const int64_t grain = std::max<int64_t>(64, 8192 / points);
    parallel_ranges(n, grain, [&](int64_t a, int64_t b) {
      fill(key, request.first + a, b - a, area + a, end + a, paths ? paths + a * points : nullptr);
    });
  }
  apply_scale(sample);
  return sample;
}

ClockSample Clock::empty_sample(int64_t n, bool paths, at::Device device) const {
  const at::TensorOptions options = at::TensorOptions().dtype(at::kDouble).device(device);
  ClockSample sample;
  sample.area = at::empty({n}, options);
  sample.end = at::empty({n}, options);
  if (paths) sample.paths = at::empty({n, grid() + 1}, options);
  return sample;
}

void Clock::apply_scale(ClockSample& sample) const {
  const double square = spec_.scale * spec_.scale;
  if (square == 1) return;
  sample.area.mul_(square);
  sample.end.mul_(square);
  if (sample.paths.defined()) sample.paths.mul_(square);
}

ClockSample Clock::of_scores(const at::Tensor& scores, bool paths) const {
  const int64_t count = this->scores().count;
  if (!scores.defined() || scores.dim() != 2 || scores.size(1) != count || scores.scalar_type() != at::kDouble)
    throw InputError("[clock] expected scores as float64 of shape n x {}, got {}", count, describe(scores));
  const int64_t n = scores.size(0), points = grid() + 1;
  ClockSample sample = empty_sample(n, paths, at::kCPU);
  const at::Tensor whole = scores.contiguous();
  const double* from = whole.const_data_ptr<double>();
  double* area = sample.area.mutable_data_ptr<double>();
  double* end = sample.end.mutable_data_ptr<double>();
  double* path = paths ? sample.paths.mutable_data_ptr<double>() : nullptr;
  parallel_ranges(n, std::max<int64_t>(8, 8192 / points), [&](int64_t a, int64_t b) {
    fill_of_scores(b - a, from + a * count, area + a, end + a, path ? path + a * points : nullptr);
  });
  apply_scale(sample);
  return sample;
}

// The bits of a score name a stream of their own: every score gives a clock, and another one a clock independent of it.
void Clock::fill_of_scores(int64_t n, const double* scores, double* area, double* end, double* paths) const {
  for (int64_t i = 0; i < n; ++i)
    fill(Key(std::bit_cast<uint64_t>(scores[i])).child("score"), 0, 1, area + i, end + i,
         paths ? paths + i * (grid() + 1) : nullptr);
}

std::vector<double> Clock::grid_times() const {
  std::vector<double> times(static_cast<size_t>(grid()) + 1);
  for (size_t j = 0; j < times.size(); ++j) times[j] = static_cast<double>(j) / grid();
  return times;
}

at::Tensor sample_source(Key key, const at::Tensor& area, int64_t dim, int64_t first) {
  if (!area.defined() || area.dim() != 1 || area.scalar_type() != at::kDouble)
    throw InputError("[source] expected areas as a float64 vector, got {}", describe(area));
  if (dim < 1) throw InputError("[source] expected a dimension of at least 1, got {}", dim);
  if (first < 0) throw InputError("[source] expected a first index of at least 0, got {}", first);
  const int64_t n = area.size(0);
  const at::Tensor areas = area.contiguous();
  at::Tensor x = at::empty({n, dim}, areas.options());
  double* out = x.mutable_data_ptr<double>();
  const double* a = areas.const_data_ptr<double>();
  if (areas.is_cuda()) {
    cuda_clock_backend().source(key.value(), a, first, n, dim, out);
    return x;
  }
  parallel_ranges(n, std::max<int64_t>(1, 8192 / dim), [&](int64_t begin, int64_t end) {
    fill_normal(key, static_cast<uint64_t>((first + begin) * dim), (end - begin) * dim, out + begin * dim);
    for (int64_t i = begin; i < end; ++i) {
      const double scale = std::sqrt(2 * a[i]);
      for (int64_t k = 0; k < dim; ++k) out[i * dim + k] *= scale;
    }
  });
  return x;
}

}  // namespace htfm
