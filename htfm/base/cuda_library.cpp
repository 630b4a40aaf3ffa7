#include "htfm/base/cuda_library.h"

#include "htfm/base/error.h"
#include "htfm/base/module_library.h"

namespace htfm {

const void* cuda_entry(const char* name) {
  static const ModuleLibrary library(
      "htfm_cuda", ModuleLibrary::Symbols::kShared);  // CUDA's libraries load parts of themselves later
  if (!library.loaded())
    throw InputError("[--device] expected cpu, got cuda: the CUDA parts cannot be loaded ({})", library.reason());
  const ModuleLibrary::Object found = library.object(name);
  if (!found.address) throw InputError("[--device] expected cpu, got cuda: no usable CUDA device ({})", found.reason);
  return found.address;
}

}  // namespace htfm
