// Samples that are written into one file as they are drawn, by one process or several, and go on after a kill.
#pragma once

#include <string>

#include "htfm/base/api.h"
#include "htfm/comm/communicator.h"
#include "htfm/sample/sampler.h"

namespace htfm HTFM_PUBLIC {

struct SampleFileOptions {
  std::string path;  ///< .npy (float64, n x dim; of fields float32, n x c x h x w) or .csv; conditions of a table are
                     ///< further columns, those of images a file <path>.conditions.csv
  std::string area = {};                  ///< .npy for the areas of the clocks; empty: none
  bool resume = false;                    ///< go on where a process that was stopped left the same file
  Communicator* processes = nullptr;      ///< that draw together (.npy); null: this one alone. All call it alike
  int64_t part_bytes = int64_t{8} << 20;  ///< of the rows that are in memory at a time, about; whole blocks at least
};

/// Draws samples into a file: the same ones as sample() draws, and the same bytes for any number of processes. The file
/// is there wholly or not at all. What a process that was stopped (killed, or by an exception Interrupted out of
/// options.report) had drawn stays beside it, in <path>.part, to go on from. Memory is that of some thousand rows. The
/// result has everything but samples and areas. InputError where `resume` finds a file of another job.
SampleResult sample_to_file(const Model& model, const SampleOptions& options, const SampleFileOptions& file);

}  // namespace htfm
