#include "htfm/method/pair_device.h"

#include "htfm/base/cuda_library.h"

namespace htfm {

const PairDevice& pair_device() { return cuda_object<PairDevice>("htfm_cuda_pair_device"); }

}  // namespace htfm
