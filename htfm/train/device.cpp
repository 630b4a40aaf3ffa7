#include "htfm/train/device.h"

#include "htfm/base/cuda_library.h"

namespace htfm {

const ImageDevice& image_device() { return cuda_object<ImageDevice>("htfm_cuda_image_device"); }

}  // namespace htfm
