// Samples appended to a .csv file as they are drawn.
#pragma once

#include "htfm/sample/sample_file.h"

namespace htfm {

/// sample_to_file() for a .csv file, by one process.
SampleResult sample_to_csv(const Model& model, const SampleOptions& options, const SampleFileOptions& file);

}  // namespace htfm
