// A sweep over models of the 2D mixture: each is trained once a seed and scored under several samplers.
#pragma once

#include <string>
#include <vector>

#include "experiment/reproduce.h"
#include "htfm/report/figures.h"
#include "htfm/report/page.h"

namespace htfm::app {

/// One way to draw samples of a trained model.
struct SweepRun {
  std::string solver;
  int64_t nfe;
  std::string time_grid = "clock";
};

struct SweepModel {
  std::string name;  ///< in tables
  std::string file;  ///< of its cells: the same name and settings in two sweeps of one folder are trained once
  std::vector<std::string> settings;
  std::vector<SweepRun> runs;
  double paper = 0;  ///< its FID on CIFAR10-LT in the paper, for the order only; 0: none
};

/// Scores of one model under one sampler, over the seeds.
struct SweepScore {
  Spread f1_prd, w1_sliced, nfe;
  double diverged = 0;  ///< samples of all seeds that are not finite
};

struct Sweep {
  std::vector<SweepModel> models;
  std::vector<std::vector<SweepScore>> scores;   ///< of a model under each of its runs
  std::vector<std::vector<std::string>> curves;  ///< learned ones of the first seed (LearnedSchedule::text)
  /// The rows of a sweep's json.
  Json rows() const;
  /// A row for each model with f1_prd under each of its samplers, the same ones for all models. Prints it too.
  report::Table table() const;
};
/// Models whose file does not contain options.only are left out.
Sweep run_sweep(std::vector<SweepModel> models, const ReproduceOptions& options);

struct SweepPage {
  std::string name, title, summary, caption;
};
/// Writes NAME.html (figure and table), NAME.svg and NAME.json into the folder; returns the json's content.
Json write_sweep(const SweepPage& what, const Sweep& sweep, const report::Figure& figure, const report::Table& table,
                 const ReproduceOptions& options);

}  // namespace htfm::app
