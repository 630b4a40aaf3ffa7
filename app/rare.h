// htfm sample --beyond, --where: samples of rare events alone, and their probability.
#pragma once

#include <string>

#include "app/common.h"
#include "htfm/sample/sampler.h"

namespace htfm::app {

/// What a command says of rare events.
struct RareChoice {
  std::string beyond, where;

  void add(CLI::App& command);
  bool given() const { return !beyond.empty() || !where.empty(); }
};

/// Where the samples go; an empty file: only the probability is wanted.
struct RareOutput {
  std::string file, weights;
  int64_t n = 0;
};

/// Draws, writes and gives the figures.
Json sample_rare(const Model& model, const SampleOptions& options, const RareChoice& choice, const RareOutput& output);

}  // namespace htfm::app
