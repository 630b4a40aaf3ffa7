// Samples of fields, written as they are drawn: many of 128 x 128 do not fit in memory.
#pragma once

#include <filesystem>

#include "app/common.h"
#include "htfm/sample/sampler.h"

namespace htfm::app {

/// A file that goes when this goes.
struct PassingFile {
  ~PassingFile() { std::filesystem::remove(path); }
  std::string path;
};

/// Writes n x c x h x w in float32 and, where `area` is not empty, the areas of the clocks; returns the figures of `htfm sample`.
Json sample_fields(const Model& model, const SampleOptions& options, const std::string& output, const std::string& area);

}  // namespace htfm::app
