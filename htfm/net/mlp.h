// The residual MLP of the 2D experiments: blocks [norm, SiLU, linear, norm, scale/shift from (time, path), SiLU,
// linear], with the path embedding joined to the time embedding at every block, and a zero-initialised FiLM at the
// middle block as an option.
#pragma once

#include "htfm/base/api.h"
#include "htfm/net/network.h"

namespace htfm HTFM_PUBLIC {

struct MlpOptions {
  int64_t dim = 2;      ///< data dimension
  int64_t feature = 0;  ///< size of the path feature; 0 leaves the path module out
  int64_t width = 64;
  int64_t blocks = 4;
  int64_t groups = 8;  ///< of the group norms
  int64_t time_embedding = 32;
  int64_t path_embedding = 128;
  bool film = false;         ///< also modulate the middle block by the path embedding
  bool linear_path = false;  ///< the path feature's embedding is linear in it; otherwise two layers with a SiLU between
  bool shift_only = false;   ///< blocks are shifted by (time, path), not scaled
};

/// Builds the network; InputError where the sizes do not fit.
std::unique_ptr<Network> make_mlp(const MlpOptions& options);

}  // namespace htfm
