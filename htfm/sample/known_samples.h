// Samples that are known without a network: fields that are never negative and are given by means over blocks which are
// all 0.
#pragma once

#include <optional>
#include <vector>

#include "htfm/sample/sampler.h"

namespace htfm {

class KnownSamples {
 public:
  /// None where the network has to draw every sample. Only samples that are given everything can be known, and a solver
  /// must not choose its steps for many samples together, since which of them are together changes.
  static std::optional<KnownSamples> of(const Model& model, const SampleOptions& options);

  int64_t drawn() const { return options_.n; }               ///< how many are not known
  const SampleOptions& options() const { return options_; }  ///< that draw those alone, whatever part is asked for
  SampleResult completed(const SampleResult& drawn) const;   ///< all samples, in their order

 private:
  KnownSamples() = default;
  SampleOptions options_;  // of the samples to be drawn: numbered without the known ones
  std::vector<char> known_;
  at::Tensor row_;         // what a known sample is
  at::Tensor conditions_;  // of all samples
};

}  // namespace htfm
