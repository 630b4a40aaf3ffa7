#include "htfm/comm/processes.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>

#include "htfm/base/error.h"
#include "htfm/base/module_library.h"
#include "htfm/base/parse_number.h"

namespace htfm {

namespace {

int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? parse_number<int>(text).value_or(0) : 0;
}

// Whether srun lets MPI find its processes.
bool has_pmix() { return std::getenv("PMIX_RANK") != nullptr; }

Communicator* load(const std::string& asked, const char* library_name, const char* entry, const char* install) {
  static std::string loaded_entry;
  static Communicator* loaded = nullptr;
  if (loaded && loaded_entry == entry) return loaded;
  // Parts of MPI and of NCCL load further parts of themselves.
  const ModuleLibrary library(library_name, ModuleLibrary::Symbols::kShared);
  if (!library.loaded())
    throw InputError("[--comm] expected none, got {0}: {0} cannot be loaded ({1}); {2}", asked, library.reason(),
                     install);
  const ModuleLibrary::Object found = library.object(entry);
  if (!found.address)
    throw InputError("[--comm] expected none, got {0}: {0} does not start ({1})", asked, found.reason);
  loaded_entry = entry;
  return loaded = static_cast<Communicator*>(const_cast<void*>(found.address));
}

Communicator* load_mpi() {
  return load("mpi", "htfm_mpi", "htfm_mpi_communicator",
              "install MPI (Debian: libopenmpi-dev openmpi-bin) and build again");
}
Communicator* load_store() {
  return load("store", "htfm_store", "htfm_store_communicator", "build with a torch that has c10d's TCPStore");
}

}  // namespace

Launch find_launch() {
  // Sizes that the launchers themselves set; a variable of a batch job alone (SLURM_NTASKS) says nothing of this
  // process.
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"})
    if (const int size = number_in(variable); size > 0) return {"mpirun", size};
  if (std::getenv("TORCHELASTIC_RUN_ID") || (std::getenv("MASTER_ADDR") && std::getenv("RANK")))
    if (const int size = number_in("WORLD_SIZE"); size > 0) return {"torchrun", size};
  if (const int size = number_in("SLURM_STEP_NUM_TASKS"); size > 0 && std::getenv("SLURM_PROCID"))
    return {"srun", size};
  return {};
}

CommChoice start_communicator(const std::string& asked) {
  const Launch launch = find_launch();
  if (asked == "none") return {};
  if (asked == "auto" && launch.size < 2) return {};
  // torchrun, and srun by itself, leave it to the processes to find each other.
  const bool bare = launch.launcher == "torchrun" || (launch.launcher == "srun" && !has_pmix());
  if (asked == "auto") return start_communicator(bare ? "nccl" : "mpi");
  if (asked != "mpi" && asked != "nccl" && asked != "store")
    throw InputError("[--comm] expected auto, none, mpi, nccl or store; got '{}'", asked);
  if (asked == "mpi" && launch.launcher == "srun" && bare)
    throw InputError("[--comm] expected srun --mpi=pmix, by which MPI finds its processes, or --comm store; got mpi");
  CommChoice out;
  out.nccl = asked == "nccl";
  // NCCL only adds up: its processes find each other by what started them.
  const bool by_store = asked == "store" || (out.nccl && (bare || launch.launcher.empty()));
  out.communicator = by_store ? load_store() : load_mpi();
  if (launch.size > 1 && out.communicator->size() != launch.size)
    throw InputError("[--comm] expected the {} processes that {} has started, got {} that {} knows of{}", launch.size,
                     launch.launcher, out.communicator->size(), out.communicator->engine(),
                     launch.launcher == "srun" ? "; MPI needs srun --mpi=pmix, --comm store needs nothing" : "");
  return out;
}

int threads_of_process(const Communicator& processes) {
  const int all = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  cpu_set_t usable;
  const int own = ::sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : all;
  // A launcher that binds processes to cores has cut the machine already.
  if (own < all) return std::max(1, own);
  return std::max(1, all / processes.local_size());
}

}  // namespace htfm
