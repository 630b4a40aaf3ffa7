// The networks by name: those of the library, and those that a program registers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/base/part_options.h"
#include "htfm/base/registry.h"
#include "htfm/net/mlp.h"
#include "htfm/net/unet.h"

namespace htfm HTFM_PUBLIC {

/// What a config says of a network.
struct NetConfig {
  std::string kind = "mlp";  ///< its name in networks()
  MlpOptions mlp;
  UNetOptions unet;
  std::string multipliers = "1,2,2,2", attention = "16";           ///< of the U-Net, as text
  bool progressive = true;                                         ///< of NCSN++
  std::string path_map = "two-layer", modulation = "scale-shift";  ///< of the MLP and the U-Net
  std::string attention_up = "each", pyramid = "filtered";         ///< of the U-Net and of NCSN++
  std::string path;                                                ///< torchscript: the file
  std::string sha256;        ///< of that file, where a checkpoint says it; empty: any
  PartOptions options = {};  ///< of registered networks
};

/// Sizes of an image.
struct NetworkImage {
  int64_t channels = 0, height = 0, width = 0;
};

/// What a network is made for.
struct NetworkContext {
  int64_t dim = 0;                         ///< values of a row: inputs and outputs
  int64_t feature = 0;                     ///< size of the path feature; 0: there is none
  std::optional<NetworkImage> image = {};  ///< where rows are images, dim = channels height width
  std::optional<NetworkImage> given = {};  ///< sizes of a field that the feature's last entries are
  NetConfig config = {};                   ///< all that the config says, with net.width, net.blocks, ... in config.mlp
  PartOptions options = {};                ///< the network's own
};

struct NetworkInfo {
  std::string name, summary;
  std::function<std::unique_ptr<Network>(const NetworkContext&)> make;
  std::vector<PartOption> options = {};  ///< keys net.<name>.<option>
  bool images = false;                   ///< takes images alone
  bool cuda = false;                     ///< a CUDA device can run it
};

/// All networks: those of the library, then those that the program registered.
EntryList<NetworkInfo> networks();
/// Makes a network known by its name wherever a config names one. InputError where the name is taken.
void register_network(NetworkInfo network);
/// The network that context.config names; its options are read from the config.
std::unique_ptr<Network> make_network(NetworkContext context);

}  // namespace htfm
