// Sums over devices by NCCL.
#include <ATen/cuda/CUDAContext.h>
#include <nccl.h>

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "htfm/base/api.h"
#include "htfm/comm/device_sum.h"

namespace htfm {
namespace {

void check(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  const std::string more = ncclGetLastError(nullptr);
  throw std::runtime_error(std::string("[nccl] ") + what + ": " + ncclGetErrorString(result) +
                           (more.empty() ? "" : " (" + more + ")"));
}

class NcclSum final : public DeviceSum {
 public:
  NcclSum(const std::string& group, int rank, int size) {
    ncclUniqueId id;
    std::copy_n(group.data(), sizeof id, reinterpret_cast<char*>(&id));
    check(ncclCommInitRank(&comm_, size, id, rank), "join the processes' devices");
  }
  ~NcclSum() override {
    if (!comm_) return;
    // Where something has failed, the others may never come to the end.
    std::uncaught_exceptions() > 0 ? ncclCommAbort(comm_) : ncclCommDestroy(comm_);
  }
  NcclSum(const NcclSum&) = delete;
  NcclSum& operator=(const NcclSum&) = delete;

  void sum(const at::Tensor& values) override {
    void* data = values.mutable_data_ptr();
    check(ncclAllReduce(data, data, static_cast<size_t>(values.numel()),
                        values.scalar_type() == at::kDouble ? ncclDouble : ncclFloat, ncclSum, comm_,
                        at::cuda::getCurrentCUDAStream()),
          "sum");
  }

 private:
  ncclComm_t comm_ = nullptr;
};

class Module final : public NcclModule {
 public:
  std::string new_group() const override {
    ncclUniqueId id;
    check(ncclGetUniqueId(&id), "name a group");
    return {reinterpret_cast<const char*>(&id), sizeof id};
  }
  std::unique_ptr<DeviceSum> join(const std::string& group, int rank, int size) const override {
    return std::make_unique<NcclSum>(group, rank, size);
  }
};

}  // namespace
}  // namespace htfm

extern "C" HTFM_PUBLIC const void* htfm_nccl_module(const char**) {
  static const htfm::Module module;
  return &module;
}
