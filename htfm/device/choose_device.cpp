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

at::Device local_device(Communicator& processes, bool shared) {
  const ImageDevice& device = image_device();
  const int count = device.count(), index = processes.local_rank() % count;
  device.select(index);
  // A launcher may show each process a device of its own alone, or all of them to all.
  const std::vector<std::string> all = gather_texts(processes, processes.host() + " " + device.identity());
  for (size_t a = 0; !shared && a < all.size(); ++a)
    for (size_t b = a + 1; b < all.size(); ++b)
      if (all[a] == all[b])
        throw InputError(
            "[--device] expected a CUDA device for each process, got one for ranks {} and {} on {}, which sees {}; "
            "--share-device lets them share it, for tests",
            a, b, all[a].substr(0, all[a].find(' ')), count);
  return {at::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

}  // namespace htfm
