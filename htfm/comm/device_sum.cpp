#include "htfm/comm/device_sum.h"

#include "htfm/base/error.h"
#include "htfm/base/module_library.h"

namespace htfm {

std::unique_ptr<DeviceSum> make_nccl_sum(Communicator& processes) {
  static const ModuleLibrary library("htfm_nccl", ModuleLibrary::Symbols::kShared);
  if (!library.loaded())
    throw InputError("[--comm] expected mpi or store, got nccl: NCCL cannot be loaded ({})", library.reason());
  const ModuleLibrary::Object found = library.object("htfm_nccl_module");
  if (!found.address)
    throw InputError("[--comm] expected mpi or store, got nccl: NCCL does not start ({})", found.reason);
  const auto& module = *static_cast<const NcclModule*>(found.address);
  std::string group;
  on_first(&processes, [&] { group = module.new_group(); });
  return module.join(broadcast_text(processes, group), processes.rank(), processes.size());
}

}  // namespace htfm
