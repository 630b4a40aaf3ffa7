// Arrays of numbers in files of either form: .npy, or .csv by its ending.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// The numbers of a file in float64: an array of any shape (.npy), or the rows and columns of a table.
at::Tensor read_array(const std::string& path);
void write_array(const std::string& path, const at::Tensor& values);

}  // namespace htfm
