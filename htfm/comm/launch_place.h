// Which of the processes of a job this one is, by the variables of torchrun or of srun.
#pragma once

#include <string>

namespace htfm {

/// This process among those that were started together, and where they meet.
struct LaunchPlace {
  int rank = 0, size = 1, local_rank = 0, local_size = 1;
  bool one_machine = true;   ///< all of them are known to be on this machine
  std::string address = {};  ///< of the machine of rank 0; empty: started alone
  int port = 0;
};

/// torchrun's variables (RANK, WORLD_SIZE, MASTER_ADDR ...) where they are set, otherwise those that srun sets for each
/// task. With srun the processes meet at the first node of the step; MASTER_ADDR and MASTER_PORT name another place.
LaunchPlace find_place();

}  // namespace htfm
