// Which processes work together: found out from what started this one (mpirun, srun, torchrun).
#pragma once

#include <string>

#include "htfm/base/api.h"
#include "htfm/comm/communicator.h"

namespace htfm HTFM_PUBLIC {

/// The processes that a launcher has started together with this one, as the environment says.
struct Launch {
  std::string launcher = {};  ///< mpirun, srun or torchrun; empty: started alone
  int size = 1;
};
Launch find_launch();

/// How processes find each other and add up gradients.
struct CommChoice {
  Communicator* communicator = nullptr;  ///< null: this process is alone
  bool nccl = false;                     ///< sums on devices by NCCL; otherwise through the hosts
};
/// Starts what `asked` names: auto (what the launcher suggests), none, mpi, nccl or store (c10d's, without NCCL).
/// InputError that says what is missing. The communicator lives as long as the process; a second call gives the same.
CommChoice start_communicator(const std::string& asked);

/// Threads of one of several processes: its share of the machine, or the cores that a launcher has bound it to.
int threads_of_process(const Communicator& processes);

}  // namespace htfm
