// The device behind htfm/method/pair_device.h.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAGuard.h>

#include <cstring>

#include "htfm/base/api.h"
#include "htfm/base/check_cuda.h"
#include "htfm/method/pair_device.h"
#include "htfm/method/pair_kernels_cuda.h"

namespace htfm {
namespace {

// Memory of the host that copies to and from a device need not wait for.
at::Tensor pinned(int64_t count, at::ScalarType type) {
  return at::empty({count}, at::TensorOptions().dtype(type).pinned_memory(true));
}

// Rows, then the feature, in one piece of the host.
at::Tensor packed(const PairPlan& plan) {
  const auto n = static_cast<int64_t>(plan.rows.size());
  const int64_t row_bytes = n * static_cast<int64_t>(sizeof(cuda::MatchRow)),
                feature_bytes = plan.feature.defined() ? static_cast<int64_t>(plan.feature.nbytes()) : 0;
  at::Tensor bytes = pinned(row_bytes + feature_bytes, at::kByte);
  auto* to = bytes.mutable_data_ptr<uint8_t>();
  const double* area = plan.source.area.const_data_ptr<double>();
  const double* radius = plan.source.radius.defined() ? plan.source.radius.const_data_ptr<double>() : nullptr;
  for (int64_t i = 0; i < n; ++i) {
    const PairCoefficients& r = plan.rows[static_cast<size_t>(i)];
    const cuda::MatchRow row{r.time,        r.data_in,       r.source_in,
                             r.data_target, r.source_target, radius ? radius[i] : std::sqrt(2 * area[i])};
    std::memcpy(to + i * static_cast<int64_t>(sizeof row), &row, sizeof row);
  }
  if (feature_bytes > 0) std::memcpy(to + row_bytes, plan.feature.const_data_ptr(), plan.feature.nbytes());
  return bytes;
}

template <class T>
void launch(const PairPlan& plan, const at::Tensor& data, const at::Tensor& bytes, const at::Tensor& points,
            const PairDevice::Pairs& out) {
  cuda::MatchArgs<T> a;
  a.rows = data.size(0), a.dim = data.size(1);
  a.row = reinterpret_cast<cuda::MatchRow*>(bytes.mutable_data_ptr<uint8_t>());
  a.data = data.const_data_ptr<T>();
  if (points.defined()) a.points = points.const_data_ptr<double>();
  a.key = plan.noise.value(), a.bound = plan.bound;
  a.radial = !points.defined() && plan.source.radius.defined();
  a.time = out.t.mutable_data_ptr<T>(), a.x = out.x.mutable_data_ptr<T>(), a.target = out.target.mutable_data_ptr<T>();
  cuda::match(a, at::cuda::getCurrentCUDAStream());
}

class CudaPairDevice final : public PairDevice {
 public:
  Pairs pairs(const PairPlan& plan, const at::Tensor& data) const override {
    const c10::cuda::CUDAGuard guard(data.device());
    const auto n = static_cast<int64_t>(plan.rows.size());
    const at::Tensor bytes = packed(plan).to(data.device(), /*non_blocking=*/true);
    const at::Tensor points = plan.source.source.defined() ? plan.source.source.to(data.device()) : at::Tensor();
    Pairs out{at::empty({n}, data.options()), at::empty_like(data), at::empty_like(data), {}};
    if (data.scalar_type() == at::kFloat)
      launch<float>(plan, data, bytes, points, out);
    else
      launch<double>(plan, data, bytes, points, out);
    if (plan.feature.defined())
      out.feature =
          bytes.narrow(0, n * static_cast<int64_t>(sizeof(cuda::MatchRow)), static_cast<int64_t>(plan.feature.nbytes()))
              .view(at::kFloat)
              .view(plan.feature.sizes())
              .to(data.scalar_type());
    return out;
  }

  at::Tensor distances(const at::Tensor& data, const at::Tensor& centre) const override {
    const c10::cuda::CUDAGuard guard(data.device());
    const at::cuda::CUDAStream stream = at::cuda::getCurrentCUDAStream();
    const at::Tensor rows = data.to(at::kFloat).contiguous(),
                     found = at::empty({rows.size(0)}, rows.options().dtype(at::kDouble));
    cuda::distances(rows.const_data_ptr<float>(), centre.const_data_ptr<double>(), rows.size(0), rows.size(1),
                    found.mutable_data_ptr<double>(), stream);
    at::Tensor out = pinned(rows.size(0), at::kDouble);
    out.copy_(found, /*non_blocking=*/true);
    stream.synchronize();
    return out;
  }
};

}  // namespace
}  // namespace htfm

extern "C" HTFM_PUBLIC const htfm::PairDevice* htfm_cuda_pair_device(const char** reason) {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    *reason = status == cudaSuccess ? "none found" : cudaGetErrorString(status);
    return nullptr;
  }
  static const htfm::CudaPairDevice device;
  return &device;
}
