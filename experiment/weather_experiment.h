// What the experiments on weather fields share.
#pragma once

#include <string>
#include <vector>

#include "experiment/reproduce.h"
#include "htfm/report/figures.h"
#include "htfm/sample/sampler.h"

namespace htfm::app {

/// How the values of a set are seen: as they are; with dry ones spread, deep below the threshold; by scores of their
/// law.
enum class SetValues { plain, spread, scores };
/// The set for cells that see its values so: the one that is given, or one of the same physical values, which is
/// written into the folder.
std::string weather_set(const ReproduceOptions& options, SetValues values);

/// The paper's network and training for fields, 4,200 steps: 70 epochs of the twelve frames, fewer where windows
/// overlap.
std::vector<std::string> weather_settings(const std::string& data, uint64_t seed);
/// As many epochs of the training part of a set as come nearest to so many steps of batches of 128.
std::string epochs_of(const std::string& data, int64_t steps);

constexpr const char* kHeun = "-heun";  ///< the end of a cell's name; others are sampled by AB2

/// Drawn to set the laws of scores right, at the most; in a small run as many as are scored.
constexpr int64_t kCalibrationFields = 2000;

/// Where values are scores: sets their laws right by samples of the model, other ones than `options` would draw. Gives
/// how many: 0 where values are none.
int64_t set_laws_right(Model& model, SampleOptions options, int64_t fields);

/// Prints the scores of cells (field_figures) with their intervals, then the held-out part's own and those that the
/// paper prints, and gives them as a table of a page.
report::Table weather_table(const std::vector<Json>& results, const std::string& caption,
                            const std::vector<Json>& paper = {});

/// How often values of the held-out part, and of each cell, are at least x.
report::Figure weather_exceedance(const std::vector<Json>& results);

}  // namespace htfm::app
