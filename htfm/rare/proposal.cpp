#include "htfm/rare/proposal.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/parallel.h"

namespace htfm {

namespace {

constexpr double kNormalShare = 0.02, kTwinShare = 0.2, kMirrorShare = 0.1, kRoundShare = 0.15;
constexpr double kLeastTwin = 0.05, kLeastMirror = 0.05, kLeastRound = 0.04;  // shares that are kept
constexpr int64_t kMostParts = 16;

double log_sum(const std::vector<double>& terms) {
  const double most = *std::max_element(terms.begin(), terms.end());
  double sum = 0;
  for (const double t : terms) sum += std::exp(t - most);
  return most + std::log(sum);
}

}  // namespace

Proposal Proposal::fit(const LatentShape& shape, const at::Tensor& latents, std::span<const double> weights, Key key) {
  const int64_t n = latents.size(0), dim = steered(shape);
  const double* x = latents.const_data_ptr<double>();
  std::vector<double> y;
  y.reserve(static_cast<size_t>(n * dim));
  double total = 0, spread = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double* row = x + i * shape.size();
    y.insert(y.end(), row + shape.clock, row + shape.size());
    if (shape.levels > 0) y.push_back(*std::max_element(row, row + shape.levels));
    total += weights[i];
    for (int64_t k = i * dim; k < (i + 1) * dim; ++k) spread += weights[i] * y[k] * y[k];
  }
  const auto most = std::clamp(static_cast<int64_t>(total) / (4 * dim), int64_t{1}, kMostParts);
  Proposal out(shape);
  for (const NormalPart& part : fit_mixture(y, weights, dim, most, key)) {
    NormalPart narrow = part, wide = at_least_unit(part), mirrored = wide;
    for (int64_t k = 0; k < shape.dim; ++k) mirrored.mean[k] = -mirrored.mean[k];
    narrow.share *= 1 - kTwinShare - kMirrorShare - kRoundShare;
    wide.share *= kTwinShare, mirrored.share *= kMirrorShare;
    out.add(std::move(narrow), 0);
    out.add(std::move(wide), kLeastTwin * part.share);
    out.add(std::move(mirrored), kLeastMirror * part.share);
  }
  NormalPart round = round_part(dim, std::max(1.0, spread / total / static_cast<double>(dim)));
  round.share = kRoundShare;
  out.add(std::move(round), kLeastRound);
  return out;
}

void Proposal::add(NormalPart part, double least) {
  parts_.push_back(std::move(part));
  least_.push_back(least);
}

void Proposal::set_shares(const at::Tensor& latents, std::span<const double> weights) {
  std::vector<double> y(static_cast<size_t>(steered(shape_))), scratch(y.size()), own, gained(parts_.size());
  const double* x = latents.const_data_ptr<double>();
  for (size_t i = 0; i < weights.size(); ++i) {
    const double all = log_ratio(x + static_cast<int64_t>(i) * shape_.size(), y, scratch, own);
    for (size_t k = 0; k < parts_.size(); ++k) gained[k] += weights[i] * parts_[k].share * std::exp(own[k] - all);
  }
  double sum = 0, total = 0;
  for (const double g : gained) sum += g;
  for (size_t k = 0; k < parts_.size(); ++k) total += parts_[k].share = std::max(gained[k] / sum, least_[k]);
  for (NormalPart& part : parts_) part.share /= total;
}

at::Tensor Proposal::draw(Key key, int64_t first, int64_t n) const {
  at::Tensor out = normal_latents(key.child("normal"), first, n, shape_.size());
  if (plain()) return out;
  const Key lots = key.child("lot");
  double* x = out.mutable_data_ptr<double>();
  const int64_t dim = steered(shape_);
  parallel_ranges(n, 256, [&](int64_t begin, int64_t end) {
    std::vector<double> xi(static_cast<size_t>(dim)), y(xi.size());
    for (int64_t i = begin; i < end; ++i) {
      const auto number = static_cast<uint64_t>(first + i);
      double lot = lots.uniform(2 * number);
      if (lot < kNormalShare) continue;
      lot = (lot - kNormalShare) / (1 - kNormalShare);
      size_t k = 0;
      for (; k + 1 < parts_.size() && lot >= parts_[k].share; ++k) lot -= parts_[k].share;
      const NormalPart& part = parts_[k];
      double* row = x + i * shape_.size();
      double* level =
          shape_.levels > 0 ? row + lots.below(static_cast<uint64_t>(shape_.levels), 2 * number + 1) : nullptr;
      std::copy_n(row + shape_.clock, shape_.dim, xi.begin());
      if (level) xi.back() = *level;
      for (int64_t a = 0; a < dim; ++a) {
        y[a] = part.mean[a];
        for (int64_t b = 0; b <= a; ++b) y[a] += part.root[a * dim + b] * xi[b];
      }
      std::copy_n(y.begin(), shape_.dim, row + shape_.clock);
      if (level) *level = y.back();
    }
  });
  return out;
}

// q / p = kNormalShare + (1 - kNormalShare) sum over parts of share times the mean over levels of density ratios.
double Proposal::log_ratio(const double* latents, std::vector<double>& y, std::vector<double>& u,
                           std::vector<double>& own) const {
  double square = 0;
  std::copy_n(latents + shape_.clock, shape_.dim, y.begin());
  for (int64_t k = 0; k < shape_.dim; ++k) square += y[k] * y[k];
  own.clear();
  std::vector<double> terms{std::log(kNormalShare)}, levels(static_cast<size_t>(shape_.levels));
  for (const NormalPart& part : parts_) {
    // Only the last whitened number depends on the level: with 0 in its place the rest of it follows.
    if (shape_.levels > 0) y.back() = 0;
    part.whiten(y.data(), u.data());
    double whitened = 0;
    for (int64_t k = 0; k < shape_.dim; ++k) whitened += u[k] * u[k];
    double log_part = (square - whitened) / 2 - part.log_root;
    if (shape_.levels > 0) {
      for (size_t j = 0; j < levels.size(); ++j) {
        const double last = u.back() + latents[j] / part.root.back();
        levels[j] = (latents[j] * latents[j] - last * last) / 2;
      }
      log_part += log_sum(levels) - std::log(static_cast<double>(shape_.levels));
    }
    own.push_back(log_part);
    terms.push_back(std::log((1 - kNormalShare) * part.share) + log_part);
  }
  return log_sum(terms);
}

std::vector<double> Proposal::weights(const at::Tensor& latents) const {
  const int64_t n = latents.size(0);
  std::vector<double> out(static_cast<size_t>(n), 1.0);
  if (plain()) return out;
  const double* x = latents.const_data_ptr<double>();
  parallel_ranges(n, 64, [&](int64_t begin, int64_t end) {
    std::vector<double> y(static_cast<size_t>(steered(shape_))), scratch(y.size()), own;
    for (int64_t i = begin; i < end; ++i) out[i] = std::exp(-log_ratio(x + i * shape_.size(), y, scratch, own));
  });
  return out;
}

}  // namespace htfm
