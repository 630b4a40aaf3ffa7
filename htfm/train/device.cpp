#include "htfm/train/device.h"

#include "htfm/base/cuda_library.h"

namespace htfm {

const TrainingDevice& training_device() { return cuda_object<TrainingDevice>("htfm_cuda_training_device"); }

}  // namespace htfm
