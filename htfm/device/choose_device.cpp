#include "htfm/device/choose_device.h"

#include "htfm/base/error.h"
#include "htfm/base/registry.h"
#include "htfm/device/device.h"
#include "htfm/net/networks.h"

namespace htfm {

at::Device choose_device(const std::string& asked, const std::string& network_kind) {
  if (asked != "cpu" && asked != "cuda" && asked != "auto")
    throw InputError("[device] expected cpu, cuda or auto; got '{}'", asked);
  if (asked == "cpu" || (asked == "auto" && !find_named(networks(), network_kind, "net.kind").cuda)) return at::kCPU;
  if (asked == "cuda") {
    image_device();  // says what is missing
    return {at::kCUDA, 0};
  }
  try {
    image_device();
    return {at::kCUDA, 0};
  } catch (const InputError&) {
    return at::kCPU;
  }
}

at::Device local_device(const Communicator& processes, bool shared) {
  const ImageDevice& device = image_device();
  const int count = device.count();
  if (processes.local_size() > count && !shared)
    throw InputError(
        "[--device] expected a CUDA device for each of the {} processes on {}, got {}; --share-device lets them share "
        "one, for tests",
        processes.local_size(), processes.host(), count);
  const int index = processes.local_rank() % count;
  device.select(index);
  return {at::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

}  // namespace htfm
