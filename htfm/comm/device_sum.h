// Sums over the devices of several processes, by NCCL: a library that is loaded when it is asked for.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "htfm/comm/communicator.h"

namespace htfm {

class DeviceSum {
 public:
  virtual ~DeviceSum() = default;
  /// Each process's values (float32 or float64, dense, on its device) become the sum of all processes', on the current
  /// stream; may be recorded.
  virtual void sum(const at::Tensor& values) = 0;
};

/// What the library offers.
class NcclModule {
 public:
  virtual ~NcclModule() = default;
  /// A name for a new group, made by one process and known to all.
  virtual std::string new_group() const = 0;
  virtual std::unique_ptr<DeviceSum> join(const std::string& group, int rank, int size) const = 0;
};

/// All processes join a group, each with its current device. InputError where NCCL is not there.
std::unique_ptr<DeviceSum> make_nccl_sum(Communicator& processes);

}  // namespace htfm
