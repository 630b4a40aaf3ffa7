// htfm sample --beyond, --where: samples of rare events alone, and their probability.
#pragma once

#include "app/common.h"
#include "htfm/rare/rare_request.h"

namespace htfm::app {

/// The options that ask for a rare event.
void add_rare(CLI::App& command, RareRequest& request);

/// Draws, writes and gives the figures.
Json sample_rare(const Model& model, const SampleOptions& options, const RareRequest& request);

}  // namespace htfm::app
