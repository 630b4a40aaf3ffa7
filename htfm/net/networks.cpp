#include "htfm/net/networks.h"

#include "htfm/net/torchscript.h"

namespace htfm {

namespace {

std::unique_ptr<Network> make_own_mlp(const NetworkContext& c) {
  MlpOptions options = c.config.mlp;
  options.dim = c.dim, options.feature = c.feature;
  return make_mlp(options);
}

std::unique_ptr<Network> make_own_unet(const NetworkContext& c) {
  UNetOptions options = c.config.unet;
  options.channels = c.image->channels, options.height = c.image->height, options.width = c.image->width;
  options.feature = c.feature;
  if (c.given)
    options.given_channels = c.given->channels, options.given_height = c.given->height,
    options.given_width = c.given->width;
  return make_unet(options);
}

Registry<NetworkInfo>& network_registry() {
  static Registry<NetworkInfo> registry({
      {"mlp", "residual blocks over rows", make_own_mlp},
      {"unet", "the DDPM U-Net, for images", make_own_unet, {}, true, true},
      {"ncsnpp",
       "the same with filtered changes of size inside residual blocks, rescaled sums and progressive input",
       make_own_unet,
       {},
       true,
       true},
      {"torchscript", "from a file, net.path", make_torchscript},
  });
  return registry;
}

}  // namespace

EntryList<NetworkInfo> networks() { return network_registry().list(); }

void register_network(NetworkInfo network) {
  if (!network.make)
    throw InputError("[register_network] {}: expected a function that makes the network, got none", network.name);
  check_options(network.options, "network", network.name);
  network.cuda = false;  // devices run the library's own networks
  network_registry().add(std::move(network), "network");
}

std::unique_ptr<Network> make_network(NetworkContext c) {
  const NetworkInfo& info = find_named(networks(), c.config.kind, "net.kind");
  if (info.images && !c.image)
    throw InputError("[net.kind] expected images for {}, got rows of {} values", info.name, c.dim);
  c.options = own_options(info.options, c.config.options, "net", info.name);
  std::unique_ptr<Network> out = info.make(c);
  if (!out) throw Error("[net.kind] expected {} to make a network, got none", info.name);
  if (out->dim() != c.dim || out->feature_size() != c.feature)
    throw Error("[net.kind] expected {} to make a network for rows of {} values and features of size {}, got {} and {}",
                info.name, c.dim, c.feature, out->dim(), out->feature_size());
  return out;
}

}  // namespace htfm
