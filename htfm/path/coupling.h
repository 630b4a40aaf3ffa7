// Couplings: how the (clock, source) pairs of a batch meet its data. Any coupling that keeps both marginals is a valid
// training pair: the network then learns p_data(. | T), and the mixture over T is p_data again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "htfm/clock/clock.h"

namespace htfm {

/// One batch before the path is formed. A coupling may reorder or redraw clocks and sources.
struct SourceBatch {
  ClockSample clocks;
  at::Tensor source;  ///< n x dim float64: x_0 = sqrt(2A) z
};

class Coupling {
 public:
  virtual ~Coupling() = default;
  /// Pairs row i of the batch with row i of the data (n x dim, float32).
  virtual void pair(Key key, const at::Tensor& data, SourceBatch& batch) const = 0;
};

struct CouplingInfo {
  std::string name, summary;
  std::function<std::unique_ptr<Coupling>()> make;
};
std::span<const CouplingInfo> couplings();
std::unique_ptr<Coupling> make_coupling(const std::string& kind);

}  // namespace htfm
