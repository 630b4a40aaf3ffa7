#include "htfm/rare/search.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

namespace htfm {

namespace {

constexpr int64_t kTrial = 2000;       // draws that a proposal is judged by
constexpr int kTrials = 4;             // proposals at the most, each fitted to the draws of the one before
constexpr double kGood = 0.3;          // of a trial's draws count: no better proposal is looked for
constexpr double kUsable = 30;         // draws of a trial must count, at the least
constexpr double kMissed = 3;          // times less probability than the climb found: a part of the event is missed
constexpr double kLargestPart = 0.25;  // of a trial's weight that one draw may have
constexpr double kCopies = 5;          // particles of a climb say as much as so many times fewer independent ones

// What a trial's draws say of a proposal.
struct Trial {
  at::Tensor latents;  // of those in the event
  std::vector<double> weights;
  double probability = 0, effective = 0;
};

Trial try_proposal(LatentSampler& sampler, const RowLevel& level, const Proposal& proposal, double threshold, Key key) {
  const at::Tensor latents = proposal.draw(key, 0, kTrial);
  const std::vector<double> own = levels_of(sampler(latents), level), weights = proposal.weights(latents);
  std::vector<int64_t> index;
  double sum = 0, square = 0;
  Trial out;
  for (size_t i = 0; i < own.size(); ++i) {
    if (!(own[i] >= threshold)) continue;
    index.push_back(static_cast<int64_t>(i));
    out.weights.push_back(weights[i]);
    sum += weights[i], square += weights[i] * weights[i];
  }
  at::Tensor at = at::empty({static_cast<int64_t>(index.size())}, at::kLong);
  std::copy(index.begin(), index.end(), at.mutable_data_ptr<int64_t>());
  out.latents = latents.index_select(0, at);
  out.probability = sum / kTrial, out.effective = square > 0 ? sum * sum / square : 0;
  return out;
}

// The climb's particles, which have been everywhere, and a trial's draws, which are independent: each counts by its
// effective number.
std::pair<at::Tensor, std::vector<double>> joined(const at::Tensor& particles, const Trial& trial) {
  const int64_t n = particles.size(0);
  std::vector<double> weights(static_cast<size_t>(n), 1.0 / kCopies);
  double sum = 0;
  for (const double w : trial.weights) sum += w;
  // A few draws of large weight show a place that the particles did not: they count, but not each for all.
  const double number = std::max(trial.effective, kUsable);
  for (const double w : trial.weights) weights.push_back(std::min(w / sum, kLargestPart) * number);
  return {at::cat({particles, trial.latents}), std::move(weights)};
}

}  // namespace

const char* name_of(RareMethod method) {
  return method == RareMethod::plain ? "plain" : method == RareMethod::importance ? "importance" : "splitting";
}

Search search_event(LatentSampler& sampler, const RowLevel& level, double until, const EstimateOptions& o) {
  const LatentShape shape = sampler.shape();
  Search out{{}, RareMethod::plain, Proposal(shape)};
  out.climb =
      climb(sampler, level, {.key = o.key.child("climb"), .particles = o.particles, .least = o.least, .until = until});
  if (!out.climb.reached) return out;
  out.threshold = out.climb.rungs.back().threshold;
  const double found = std::exp(out.climb.log_probability);
  if (out.climb.rungs.size() == 1) {
    out.accepted = found;
    return out;
  }
  out.method = RareMethod::splitting;
  if (o.splitting || Proposal::steered(shape) > Proposal::kMostSteered) return out;
  const at::Tensor& particles = out.climb.last.latents;
  const std::vector<double> equal(static_cast<size_t>(o.particles), 1.0 / kCopies);
  Proposal proposal = Proposal::fit(shape, particles, equal, o.key.child("fit"));
  double best = 0;
  for (uint64_t k = 0; k < kTrials; ++k) {
    const Trial trial = try_proposal(sampler, level, proposal, out.threshold, o.key.child("trial").child(k));
    if (trial.effective > best && trial.probability * kMissed > found) {
      best = trial.effective;
      out.proposal = proposal, out.accepted = static_cast<double>(trial.weights.size()) / kTrial;
      out.proposal.set_shares(trial.latents, trial.weights);
    }
    if (trial.effective >= kGood * kTrial || trial.weights.empty() || k + 1 == kTrials) break;
    const auto [latents, weights] = joined(particles, trial);
    proposal = Proposal::fit(shape, latents, weights, o.key.child("fit").child(k));
    proposal.set_shares(trial.latents, trial.weights);
  }
  if (best >= kUsable) out.method = RareMethod::importance;
  return out;
}

}  // namespace htfm
