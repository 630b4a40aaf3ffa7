// Fields given their means over blocks of 8 x 8 points: what the experiments on such models share.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "experiment/weather_experiment.h"
#include "htfm/report/page.h"

namespace htfm::app {

/// Held-out fields, evenly over the part, and what is given of them.
struct GivenCases {
  at::Tensor truth;  ///< cases x c x h x w
  at::Tensor means;  ///< cases x c x h/8 x w/8
  at::Tensor all;    ///< the means of all held-out fields

  std::string grid() const;  ///< "16x16"
};
/// Up to 64 of them. InputError where a set has none, or sizes that 8 does not divide.
GivenCases held_out_cases(const std::string& path);

/// The cell of the model that is given means, and of the one that is given nothing.
Cell given_cell(const ReproduceOptions& options, const std::string& data, uint64_t seed, const std::string& grid);
Cell plain_cell(const ReproduceOptions& options, const std::string& data, uint64_t seed);

/// The conditions of samples, one after the other: n x c x h x w as rows.
at::Tensor condition_rows(const at::Tensor& fields);

/// Trains the model of a cell in FOLDER/runs/NAME, or goes on with it.
Model train_cell(const Cell& cell, const ReproduceOptions& options, at::Device device);

/// A file of samples that goes when this goes.
struct SamplesFile {
  ~SamplesFile();
  std::string path;
};

/// Samples of a model of fields in memory: n x c x h x w.
at::Tensor drawn_fields(const Model& model, const SampleOptions& options);

/// Members of the model for each case, and the scores of their ensembles: as drawn, with exact means, and bilinear
/// interpolation beside them.
Json given_ensembles(const Model& model, const SampleOptions& options, const GivenCases& cases);

/// The members of each case are the fields of a file (.npy) whose means lie nearest to it.
Json nearest_ensembles(const std::string& samples, const GivenCases& cases);

/// How far the means of samples in a file lie from those that were given (row by row, from the first again after the
/// last), and how often a block has rain where none was given, and none where some was.
Json block_figures(const std::string& samples, const at::Tensor& given, double threshold);

/// The fields of a file moved to the means that were given (match_block_means), into another file.
void write_exact_means(const std::string& samples, const at::Tensor& given, const Model& model,
                       const std::string& output);

/// Scores of samples in a file against the held-out part of the set, with maps in FOLDER/NAME.png.
Json scored_samples(const std::string& data, const std::string& samples, const std::string& name,
                    const ReproduceOptions& options);

/// Scores of a model that is given means: its ensembles, and one sample for each held-out field; of another one the
/// nearest samples as ensembles, and all of them.
Json score_given_cell(const Cell& cell, const Model& model, const GivenCases& cases, const ReproduceOptions& options,
                      at::Device device);

/// The maps of cells as a section of a page.
void add_maps(report::Page& page, const std::vector<Cell>& cells, const ReproduceOptions& options);

/// Prints the ensembles' scores ("rows" of cells) and gives them as a table.
report::Table ensemble_table(const std::vector<Json>& results);

}  // namespace htfm::app
