// Scores that several processes compute together.
#pragma once

#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/comm/communicator.h"
#include "htfm/metric/metric.h"

namespace htfm HTFM_PUBLIC {

/// As compute_metrics (no names: all); of several processes each computes some of the scores, and all get all values.
std::vector<MetricValue> shared_metrics(std::vector<std::string> names, const at::Tensor& real, const at::Tensor& fake,
                                        const MetricOptions& options, Communicator* processes);

}  // namespace htfm
