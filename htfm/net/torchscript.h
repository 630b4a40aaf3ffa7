// A network out of a TorchScript file: forward(x, t, feature) gives the output, and its parameters are trained.
#pragma once

#include <memory>

#include "htfm/base/api.h"
#include "htfm/net/network.h"

namespace htfm HTFM_PUBLIC {

struct NetworkContext;

/// Whether TorchScript files that a config or a checkpoint names may be run as networks. They hold code of whoever made
/// them, so that this is off until somebody who knows the files says yes. For the whole program, from any thread.
void trust_torchscript(bool trusted);
bool torchscript_trusted();

/// The network of context.config.path. Parameters start as the file has them; those that ask for no gradient, and
/// buffers, stay so. The network runs as in evaluation: without dropout or statistics of the batch, which a resumed run
/// could not repeat. x is n x dim, or n x channels x height x width where rows are images. InputError where the file is
/// not trusted, is another than a checkpoint names, or does not fit.
std::unique_ptr<Network> make_torchscript(const NetworkContext& context);

}  // namespace htfm
