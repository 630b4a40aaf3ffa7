// Samples as functions of standard normal numbers, their latents: the scores of the clock, then z of the source. Rare
// samples are found, and drawn, by changing the law of these.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "htfm/sample/sampler.h"

namespace htfm {

/// A row of latents is clock scores, of which the first are levels (ClockScores), and dim numbers of the source.
struct LatentShape {
  int64_t clock = 0, levels = 0, dim = 0;

  int64_t size() const { return clock + dim; }
};

/// Makes samples of latents, and counts them.
class LatentSampler {
 public:
  virtual ~LatentSampler() = default;
  virtual LatentShape shape() const = 0;
  /// Values of a sample.
  virtual int64_t columns() const = 0;
  /// Samples (n x columns, float64) of latents (n x shape().size(), float64).
  at::Tensor operator()(const at::Tensor& latents);
  /// Samples of standard normal latents, rows first.. of a key.
  at::Tensor draw(Key key, int64_t first, int64_t n);
  int64_t spent() const { return spent_; }
  /// Called with spent() after every part.
  std::function<void(int64_t spent)> report = {};

 protected:
  virtual at::Tensor make(const at::Tensor& latents) = 0;
  /// Samples that are made at a time.
  virtual int64_t part_rows() const { return 1 << 14; }

 private:
  int64_t spent_ = 0;
};

/// n x size standard normal numbers, rows first.. of a key.
at::Tensor normal_latents(Key key, int64_t first, int64_t n, int64_t size);

/// Those of a model, with a solver.
class ModelSampler final : public LatentSampler {
 public:
  /// The model must outlive it. InputError for methods with samplers of their own.
  ModelSampler(const Model& model, SampleOptions options);
  LatentShape shape() const override;
  int64_t columns() const override;

 protected:
  at::Tensor make(const at::Tensor& latents) override;
  int64_t part_rows() const override;

 private:
  const Model& model_;
  SampleOptions options_;
};

}  // namespace htfm
