// Several processes that train one model.
#pragma once

#include "htfm/base/api.h"
#include "htfm/comm/communicator.h"

namespace htfm HTFM_PUBLIC {

struct TrainingProcesses {
  Communicator* communicator = nullptr;  ///< null: this one is alone
  bool nccl = false;                     ///< devices add up their gradients by NCCL; otherwise through the hosts
  bool first() const { return !communicator || communicator->rank() == 0; }
};

}  // namespace htfm
