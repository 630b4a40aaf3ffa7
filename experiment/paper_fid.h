// The FIDs that the paper prints for CIFAR10-LT, to stand beside ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace htfm::app {

/// The paper's value for a cell of an experiment (ImageExperiment::name): of its Table 2 (methods, clocks, NFE), 3
/// (signature order), 4 (flow type) or 5 (solvers). `model` is an ImageVariant's name. Nothing where the paper has no
/// such cell. `nfe` is the budget, as the paper counts. Where ours is sampled by another solver than the paper's Euler,
/// the value is still that of the same clock and NFE.
std::optional<double> paper_fid(const std::string& experiment, const std::string& model, const std::string& solver,
                                int64_t nfe);

}  // namespace htfm::app
