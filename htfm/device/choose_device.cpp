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

}  // namespace htfm
