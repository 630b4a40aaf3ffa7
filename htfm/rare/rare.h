// Rare events of a model: their probability, quantiles far out, and samples of them alone, each with its weight.
//
//   const EventProbability p = event_probability(model, {.condition = "loss > 5e6 and region_a > 0"});
//   const RareQuantile q = rare_quantile(model, {"0.4*a + 0.6*b"}, 1e-6);
//   const RareSamples s = sample_event(model, {.condition = "loss > 5e6"}, 10000);
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "htfm/base/api.h"
#include "htfm/sample/sampler.h"

namespace htfm HTFM_PUBLIC {

/// A number of a sample, in the data's units.
struct Statistic {
  /// Of columns by name: "0.4*a + 0.6*b", "max(a, b)", "column(3)"; "size"; of fields and images "max", "min", "mean",
  /// "pixel(i, j)" (doc/rare-events.md).
  std::string expression = "size";
  /// Instead, where given: of a row's values in the data's units.
  std::function<double(std::span<const double> row)> function = {};
};

/// A statistic and how far out it is looked at.
struct StatisticLevel {
  Statistic statistic = {};
  double level = 0;
};
/// From "0.999" (of the size) or "loss:0.999", a level from 0.5 to 1. InputError for anything else.
StatisticLevel parse_statistic_level(const std::string& text);

/// What may happen to a sample.
struct Event {
  /// "loss > 5e6 and region_a > 0": comparisons of expressions, joined by and, or, not.
  std::string condition = {};
  /// Instead, where there is no condition: that the statistic is larger than a number.
  Statistic statistic = {};
  double above = 0;
};

struct RareOptions {
  /// Seed, solver, device; those of the model's configuration where not given. Its n and first do not matter.
  std::optional<SampleOptions> sample = {};
  int64_t draws = 30000;     ///< network samples of the estimate itself
  int64_t particles = 1500;  ///< of the search for the event, which takes a few of them for each factor of five
  int64_t budget = 100000;   ///< network samples of an estimate in all, search included, about
  double least = 1e-12;      ///< an event that is rarer is taken for one that never happens
  bool splitting = false;    ///< by splitting alone, as where there are too many numbers to be drawn otherwise
  /// Called from time to time with the network samples drawn; what it throws ends the work.
  std::function<void(int64_t samples)> report = {};
};

/// The estimate of a probability: unbiased, but for samples that a search did not find (doc/rare-events.md).
struct EventProbability {
  double probability = 0, standard_error = 0;
  double lower = 0, upper = 0;  ///< 95 % interval; where the event was not reached, 0 and the least that was looked for
  int64_t samples = 0;          ///< network samples spent
  double effective = 0;         ///< plain samples of the event that would say as much
  bool reached = true;          ///< false: it never happens, or is rarer than `upper`
  std::string method = {};      ///< plain, importance or splitting
};

/// A quantile far out.
struct RareQuantile {
  double value = 0;             ///< exceeded with the probability asked for
  double lower = 0, upper = 0;  ///< 95 % interval
  int64_t samples = 0;          ///< network samples spent
  double effective = 0;         ///< plain samples beyond the value that would say as much
  std::string method = {};      ///< plain, importance or splitting
};

/// Samples of an event alone.
struct RareSamples {
  at::Tensor samples;  ///< n x columns, float64, in the data's units
  /// n: the mean of weight times f(sample) is an unbiased estimate of E f(X) 1(event); the mean of the weights, of the
  /// probability.
  at::Tensor weights;
  EventProbability probability;
  std::optional<RareQuantile> threshold = {};  ///< sample_beyond: where the samples begin
};

/// The probability of an event. InputError where the condition cannot be read, with the place.
EventProbability event_probability(const Model& model, const Event& event, const RareOptions& options = {});

/// The number that a statistic exceeds with this probability, from 0.5 down to 1e-10.
RareQuantile rare_quantile(const Model& model, const Statistic& statistic, double probability,
                           const RareOptions& options = {});

/// n samples of an event, each with its weight. InputError where the event is not reached.
RareSamples sample_event(const Model& model, const Event& event, int64_t n, const RareOptions& options = {});

/// n samples whose statistic is beyond its quantile at a level, such as 0.999.
RareSamples sample_beyond(const Model& model, const Statistic& statistic, double level, int64_t n,
                          const RareOptions& options = {});

}  // namespace htfm
