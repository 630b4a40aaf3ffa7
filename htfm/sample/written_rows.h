// Samples as a file holds them: the modelled columns, then what was given.
#pragma once

#include <string>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/sample/sampler.h"

namespace htfm HTFM_PUBLIC {

/// Rows of a table with the conditions that they were drawn under as further columns: the code of a category, or the
/// number, as the data had them. Of images, and without conditions, the samples alone.
at::Tensor written_rows(const Model& model, const SampleResult& drawn);
/// The names of these columns; "column 3" where the data have none.
std::vector<std::string> written_names(const Model& model);
/// What these columns hold; empty: numbers.
std::vector<TableColumn> written_columns(const Model& model);
/// Writes the conditions of images beside their file, as <path>.conditions.csv; those of tables are in it already.
void write_conditions_beside(const std::string& path, const Model& model, const SampleOptions& options);
/// What is given, for the hash of a job; empty where nothing is.
std::string given_text(const SampleOptions& options);

}  // namespace htfm
