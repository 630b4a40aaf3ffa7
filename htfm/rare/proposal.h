// A law of latents that goes where an event is, with its density against the standard normal one.
//
// Steered are z of the source and one level of the clock, together y; which of the levels, a lot says, and all other
// latents are standard normal. y has a mixture of normal laws. Every part has a wider twin, so that no sample near it
// has a weight far above the others, and one mirrored at the origin, since events often lie on both sides; a round law
// about 0 reaches every direction; and the standard normal law has a small share too.
#pragma once

#include "htfm/rare/latents.h"
#include "htfm/rare/mixture.h"

namespace htfm {

class Proposal {
 public:
  static constexpr int64_t kMostSteered = 257;  ///< numbers that can be steered

  /// The standard normal law.
  explicit Proposal(const LatentShape& shape) : shape_(shape) {}
  /// Fitted to latents, n x shape.size(), with weights as fit_mixture() takes them.
  static Proposal fit(const LatentShape& shape, const at::Tensor& latents, std::span<const double> weights, Key key);
  /// The shares of the parts set by latents of the event and their weights: parts that made them get more.
  void set_shares(const at::Tensor& latents, std::span<const double> weights);
  static int64_t steered(const LatentShape& shape) { return shape.dim + (shape.levels > 0 ? 1 : 0); }

  bool plain() const { return parts_.empty(); }
  int64_t parts() const { return static_cast<int64_t>(parts_.size()); }
  /// Latents first.. of a key.
  at::Tensor draw(Key key, int64_t first, int64_t n) const;
  /// The density of the standard normal law over this one, of each row.
  std::vector<double> weights(const at::Tensor& latents) const;

 private:
  void add(NormalPart part, double least);
  // log of the density over the standard normal one: of each part without its share into `own`, and of the mixture.
  double log_ratio(const double* latents, std::vector<double>& y, std::vector<double>& scratch,
                   std::vector<double>& own) const;

  LatentShape shape_;
  std::vector<NormalPart> parts_;  // of (z, level); shares do not count the normal law's
  std::vector<double> least_;      // of each share
};

}  // namespace htfm
