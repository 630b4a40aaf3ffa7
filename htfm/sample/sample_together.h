// Samples that several processes draw, each some, and all get.
#pragma once

#include "htfm/base/api.h"
#include "htfm/comm/communicator.h"
#include "htfm/sample/sampler.h"

namespace htfm HTFM_PUBLIC {

/// sample() by several processes, which all call it alike and all get the same result: that of one. `processes` null:
/// sample().
SampleResult sample_together(const Model& model, const SampleOptions& options, Communicator* processes);

}  // namespace htfm
