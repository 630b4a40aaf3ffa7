// A vector of float64 that a method fitted to the data and stores in checkpoints.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

namespace htfm {

/// A float64 tensor with one dimension as numbers.
std::vector<double> row_values(const at::Tensor& row);
void save_row(const std::string& name, const std::vector<double>& row, std::map<std::string, at::Tensor>& out);
/// InputError names the checkpoint and the tensor that it lacks.
std::vector<double> load_row(const std::string& name, const std::map<std::string, at::Tensor>& in,
                             const std::string& path);

}  // namespace htfm
