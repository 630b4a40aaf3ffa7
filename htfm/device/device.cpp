#include "htfm/device/device.h"

#include "htfm/base/cuda_library.h"
#include "htfm/base/error.h"

namespace htfm {

DevicePrecision precision_by_name(const std::string& name) {
  if (name == "fp8") return {at::kBFloat16, true, true};
  if (name == "bf16") return {at::kBFloat16, true};
  if (name == "tf32") return {at::kFloat, true};
  if (name == "float32") return {at::kFloat, false};
  throw InputError("[precision] expected fp8, bf16, tf32 or float32; got '{}'", name);
}

const ImageDevice& image_device() { return cuda_object<ImageDevice>("htfm_cuda_image_device"); }

}  // namespace htfm
